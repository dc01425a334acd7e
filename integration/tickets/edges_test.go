package tickets

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
)

// One caller after another, each long after the one before, has numbers without gaps: nothing
// is leased ahead for a row that is drawn from now and then.
func TestQuiet(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "1000", 1)
		for want := int64(1); want <= 3; want++ {
			if n, err := o.draw(t.Context(), o.processes[0], 1); err != nil || n != want {
				t.Errorf("drew %d, %v; want %d", n, err, want)
			}
			if base := o.base(); base != want {
				t.Errorf("the base row has %d after %d", base, want)
			}
			time.Sleep(450 * time.Millisecond)
		}
	})
}

// A row that is not there gives no number, and is drawn from as soon as it is there.
func TestMissing(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "100", 1)
		db := o.processes[0]
		for _, inTx := range []bool{false, true} {
			if _, err := o.drawIn(db, 2, inTx); !errors.Is(err, sql.ErrNoRows) {
				t.Errorf("in a transaction %v: %v, want no rows", inTx, err)
			}
		}
		o.exec(db, "INSERT INTO queues (id, next) VALUES (2, 40)")
		for _, inTx := range []bool{false, true, true} {
			if n, err := o.drawIn(db, 2, inTx); err != nil || n <= 40 {
				t.Errorf("in a transaction %v: %d, %v", inTx, n, err)
			}
		}
		if n, err := o.upsert(t.Context(), db, 3); err != nil || n != 1 {
			t.Errorf("a new row gives %d, %v", n, err)
		}
	})
}

// drawIn draws in a transaction that commits, or outside of one.
func (o *office) drawIn(db *sql.DB, id int, inTx bool) (int64, error) {
	if !inTx {
		return o.draw(o.t.Context(), db, id)
	}
	tx, err := db.BeginTx(o.t.Context(), nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	n, err := o.draw(o.t.Context(), tx, id)
	if err != nil {
		return 0, err
	}
	return n, tx.Commit()
}

// A transaction that has the row itself draws from it as plain: what it has set counts, and it
// waits for nobody.
func TestOwnRow(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		lock := "SELECT next FROM queues WHERE id = 1 FOR UPDATE"
		if dialect == "sqlite" {
			lock = "UPDATE queues SET name = 'c' WHERE id = 1"
		}
		for name, first := range map[string]string{
			"locked": lock, "named": "UPDATE queues SET name = 'b' WHERE id = 1", "set": "UPDATE queues SET next = 70 WHERE id = 1",
		} {
			o := open(t, dialect, "BIGINT NOT NULL", "100", 1)
			o.exec(o.p.Under, "UPDATE queues SET next = 70")
			db := o.processes[0]
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if rows, err := tx.QueryContext(t.Context(), first); err != nil {
				t.Fatal(err)
			} else if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			for want := int64(71); want <= 73; want++ {
				if n, err := o.draw(t.Context(), tx, 1); err != nil || n != want {
					t.Errorf("%s: drew %d, %v; want %d", name, n, err, want)
				}
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("%s: three numbers took %v", name, took)
			}
			var n int64
			if err := tx.QueryRowContext(t.Context(), "SELECT next FROM queues WHERE id = 1").Scan(&n); err != nil || n != 73 {
				t.Errorf("%s: the transaction reads %d, %v", name, n, err)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
			if base := o.base(); base != 70 {
				t.Errorf("%s: the base row has %d after the rollback", name, base)
			}
		}
	})
}

// The row may be locked in a way that slotsql does not see, by a foreign key's check: the
// transaction that has it does not wait for a lease that waits for it.
func TestReferenced(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "100", 2,
			"CREATE TABLE children (queue INT NOT NULL, FOREIGN KEY (queue) REFERENCES queues (id))")
		var wg sync.WaitGroup
		for _, db := range o.processes {
			for range 4 {
				wg.Go(func() {
					for done := 0; done < 6; {
						from := time.Now()
						n, err := o.child(db)
						switch {
						case err == nil:
							o.note("child", from, n)
							done++
						case dialect == "mysql" && strings.Contains(err.Error(), "1213"):
							// two that share the row and then update it, as plain
						default:
							t.Error(err)
							return
						}
					}
				})
			}
		}
		start := time.Now()
		wg.Wait()
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("that took %v", took)
		}
		o.check()
	})
}

func (o *office) child(db *sql.DB) (int64, error) {
	ctx := o.t.Context()
	if o.dialect == "sqlite" {
		return o.drawIn(db, 1, true)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO children VALUES (1)"); err != nil {
		return 0, err
	}
	n, err := o.draw(ctx, tx, 1)
	if err != nil {
		return 0, err
	}
	return n, tx.Commit()
}

// At the end of the column's range, and of a CHECK, the last numbers are given one by one, and
// then the plain error comes.
func TestEnd(t *testing.T) {
	for name, column := range map[string]string{
		"narrow": "SMALLINT NOT NULL", "check": "INT NOT NULL CHECK (next <= 32767)", "unsigned": "BIGINT UNSIGNED NOT NULL",
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, dialect string) {
				if name == "unsigned" && dialect != "mysql" || name == "narrow" && dialect == "sqlite" {
					return // types that the engine does not have
				}
				o := open(t, dialect, column, "1000", 1)
				last, first := int64(32767), int64(32767-30)
				set := fmt.Sprint(first)
				if name == "unsigned" {
					last, first, set = -1, -31, "18446744073709551585"
				}
				o.exec(o.p.Under, "UPDATE queues SET next = "+set)
				seen := map[int64]bool{}
				var failed error
				for range 60 {
					n, err := o.draw(t.Context(), o.processes[0], 1)
					if err != nil {
						failed = err
						break
					}
					if seen[n] || n <= first || n > last {
						t.Fatalf("%d was given, after %d", n, len(seen))
					}
					seen[n] = true
				}
				if failed == nil {
					t.Fatal("no error at the end")
				}
				if _, plain := o.draw(t.Context(), o.p.Under, 1); plain == nil || plain.Error() != failed.Error() {
					t.Errorf("the error is %v; plain it is %v", failed, plain)
				}
				if len(seen) < 3 {
					t.Errorf("%d numbers before the end", len(seen))
				}
			})
		})
	}
}

// LAST_INSERT_ID() tells the number on the session that has drawn it, also in a transaction.
func TestInsertID(t *testing.T) {
	o := open(t, "mysql", "BIGINT NOT NULL", "100", 1)
	db := o.processes[0]
	for i := range 30 {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var q interface {
			queryer
		} = c
		var tx *sql.Tx
		if i%2 == 0 {
			if tx, err = c.BeginTx(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			q = tx
		}
		n, err := o.draw(t.Context(), q, 1)
		if err != nil {
			t.Fatal(err)
		}
		var told int64
		if err := q.QueryRowContext(t.Context(), "SELECT LAST_INSERT_ID()").Scan(&told); err != nil || told != n {
			t.Errorf("the session tells %d, %v; it has drawn %d", told, err, n)
		}
		if tx != nil {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Close()
	}
}

// Transactions that may not write, that a lease would fail, or that have failed, draw as plain.
func TestLevels(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "100", 1)
		db := o.processes[0]
		for range 20 { // so that there are blocks
			if _, err := o.draw(t.Context(), db, 1); err != nil {
				t.Fatal(err)
			}
		}
		if dialect != "sqlite" {
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := o.draw(t.Context(), tx, 1); err == nil {
				t.Errorf("a transaction that may not write has drawn %d", n)
			}
			_ = tx.Rollback()
		}
		if dialect != "postgres" {
			return
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "SELECT 1 / 0"); err == nil {
			t.Fatal("no error")
		}
		if n, err := o.draw(t.Context(), tx, 1); err == nil {
			t.Errorf("a transaction that has failed has drawn %d", n)
		}
		_ = tx.Rollback()
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
			before := o.base()
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := o.draw(t.Context(), tx, 1); err != nil || n != before+1 {
				t.Errorf("%v: drew %d, %v; the base row had %d", level, n, err, before)
			}
			if _, err := tx.ExecContext(t.Context(), "UPDATE queues SET name = 'x' WHERE id = 1"); err != nil {
				t.Errorf("%v: %v", level, err)
			}
			_ = tx.Rollback()
		}
	})
}

// Sessions are killed in mid-run, slotsql's own among them: no number comes twice.
func TestKills(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			o := open(t, dialect, "BIGINT NOT NULL", "20", 2)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			var wg sync.WaitGroup
			for _, db := range o.processes {
				for client := range 5 {
					wg.Go(func() {
						for i := client; ctx.Err() == nil; i++ {
							_ = o.work(db, i)
						}
					})
				}
			}
			for ctx.Err() == nil {
				o.kill()
				time.Sleep(300 * time.Millisecond)
			}
			wg.Wait()
			if len(o.drawn) < 30 {
				t.Errorf("only %d numbers", len(o.drawn))
			}
			o.check()
			if base := o.base(); base < int64(len(o.drawn)) {
				t.Errorf("%d numbers, and the base row has %d", len(o.drawn), base)
			}
		})
	}
}

// kill ends all other sessions of the database.
func (o *office) kill() {
	if o.dialect == "postgres" {
		_, _ = o.p.Under.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		return
	}
	c, err := o.p.Under.Conn(context.Background())
	if err != nil {
		return
	}
	defer c.Close()
	rows, err := c.QueryContext(context.Background(), "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
	if err != nil {
		return
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if rows.Scan(&id) == nil {
			ids = append(ids, id)
		}
	}
	_ = rows.Close()
	for _, id := range ids {
		_, _ = c.ExecContext(context.Background(), fmt.Sprintf("KILL %d", id))
	}
}

// A plain client sets the counter lower: numbers that were leased before end with their blocks,
// well within half a second.
func TestSetLowerByPlain(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "100", 1)
		for range 200 {
			if _, err := o.drawIn(o.processes[0], 1, dialect != "sqlite"); err != nil {
				t.Fatal(err)
			}
		}
		o.exec(o.p.Under, "UPDATE queues SET next = 5")
		time.Sleep(450 * time.Millisecond)
		if n, err := o.draw(t.Context(), o.processes[0], 1); err != nil || n != 6 {
			t.Errorf("drew %d, %v", n, err)
		}
	})
}

// Statements of all kinds that set the counter lower wait: with rows to return, prepared, several in one
// call, without the plan that slotsql would have (slotsql: off). One that does not set it lower does not.
func TestRecalls(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		least := 450 * time.Millisecond
		if dialect == "sqlite" {
			least = 45 * time.Millisecond
		}
		o := open(t, dialect, "BIGINT NOT NULL", "100", 1)
		o.exec(o.p.Under, "UPDATE queues SET next = 1000")
		db := o.processes[0]
		run := func(query string, args ...any) time.Duration {
			start := time.Now()
			var err error
			if dialect != "mysql" && strings.Contains(query, "RETURNING") {
				var n int64
				err = db.QueryRowContext(t.Context(), query, args...).Scan(&n)
			} else {
				_, err = db.ExecContext(t.Context(), query, args...)
			}
			if err != nil {
				t.Errorf("%s: %v", query, err)
			}
			return time.Since(start)
		}
		lowers := []string{
			"UPDATE queues SET next = 900 WHERE id = 1",
			"UPDATE queues SET next = next - 1 WHERE id = 1",
			"UPDATE queues SET next = next - 1",
			"/* slotsql: off */ UPDATE queues SET next = 800 WHERE id = 1",
			"DELETE FROM queues WHERE id = 7",
		}
		if dialect != "mysql" {
			lowers = append(lowers, "UPDATE queues SET next = 700 WHERE id = 1 RETURNING next")
		}
		if dialect != "sqlite" {
			lowers = append(lowers, "TRUNCATE TABLE queues", "INSERT INTO queues (id, next) VALUES (1, 50)")
		}
		for _, query := range lowers {
			if took := run(query); (took < least) != strings.HasPrefix(query, "INSERT") {
				t.Errorf("%s took %v", query, took)
			}
		}
		for query, lowers := range map[string]bool{
			"UPDATE queues SET next = next + ? WHERE id = 1": false, "UPDATE queues SET next = next - ? WHERE id = 1": true,
		} {
			if took := run(o.sql(query), 3); (took >= least) != lowers {
				t.Errorf("%s took %v", query, took)
			}
		}
		st, err := db.PrepareContext(t.Context(), o.sql("UPDATE queues SET next = ? WHERE id = 1"))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		start := time.Now()
		if _, err := st.ExecContext(t.Context(), 40); err != nil || time.Since(start) < least {
			t.Errorf("prepared: %v after %v", err, time.Since(start))
		}
		if base := o.base(); base != 40 {
			t.Errorf("the base row has %d", base)
		}
		for _, query := range []string{
			"UPDATE queues SET next = next + 5", "UPDATE queues SET name = 'z' WHERE id = 1", "INSERT INTO queues (id, next) VALUES (9, 1)",
			"SELECT next FROM queues",
		} {
			if took := run(query); took >= 400*time.Millisecond {
				t.Errorf("%s took %v", query, took)
			}
		}
	})
}

// Check, Migrate, Drain and Verify have nothing to do with a table of tickets.
func TestUpkeep(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "100", 1)
		for range 20 {
			if _, err := o.draw(t.Context(), o.processes[0], 1); err != nil {
				t.Fatal(err)
			}
		}
		before := o.base()
		config, err := slotsql.Load(o.p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		driver := map[string]string{"mysql": "mysql-slotsql", "postgres": "postgres-slotsql", "sqlite": "sqlite3-slotsql"}[dialect]
		c, err := slotsql.OpenConnector(driver, o.p.WrappedDSN, slotsql.WithConfig(config))
		if err != nil {
			t.Fatal(err)
		}
		if tables, err := slotsql.Check(t.Context(), c); err != nil || len(tables) > 0 && tables[0].Missing {
			t.Errorf("check: %+v, %v", tables, err)
		}
		if made, err := slotsql.Migrate(t.Context(), c); err != nil || len(made) > 0 {
			t.Errorf("migrate: %v, %v", made, err)
		}
		if _, err := slotsql.Drain(t.Context(), c, slotsql.DrainOptions{}); err != nil {
			t.Errorf("drain: %v", err)
		}
		if _, err := slotsql.Verify(t.Context(), c, slotsql.VerifyOptions{}); err != nil {
			t.Errorf("verify: %v", err)
		}
		if after := o.base(); after != before {
			t.Errorf("the base row had %d, and has %d", before, after)
		}
	})
}

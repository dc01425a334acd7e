package tickets

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
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
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
			for kills := 0; ctx.Err() == nil && (kills < 7 || !o.has(30)); kills++ {
				o.kill()
				time.Sleep(300 * time.Millisecond * time.Duration(1+kills/7)) // more where the machine is too slow to draw one in between
			}
			if !o.has(30) {
				t.Error("hardly any number was given")
			}
			cancel()
			wg.Wait()
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

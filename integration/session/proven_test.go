package session

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// onStock runs a test on each engine, and on servers at both levels that applications use,
// with that many further rows that begin at 0: 100, 101, ...
func onStock(t *testing.T, rows int, test func(t *testing.T, p *twin.Pair, slotted *sql.DB)) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		levels := []string{""}
		if dialect != "sqlite" {
			levels = []string{"READ-COMMITTED", "REPEATABLE-READ"}
		}
		for _, level := range levels {
			t.Run(dialect+"/"+level, func(t *testing.T) {
				t.Parallel()
				p, slotted := provable(t, dialect, level)
				for i := range rows {
					if _, err := p.Wrapped.Exec("INSERT INTO stock VALUES (" + strconv.Itoa(100+i) + ", 0, '')"); err != nil {
						t.Fatal(err)
					}
				}
				test(t, p, slotted)
			})
		}
	}
}

// provable makes a table with cold rows, which drains find without slots, and a second
// program that counts in slots from the first increment on.
func provable(t *testing.T, dialect, level string) (p *twin.Pair, slotted *sql.DB) {
	t.Helper()
	o := twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
			"INSERT INTO stock VALUES (1, 0, ''), (2, 500, ''), (3, 0, '')",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {stock: {counters: {n: {}}, slots: 8, placement: adaptive}}\n",
	}
	if dialect == "mysql" && level != "" {
		o.Params = server.Isolated(t, level)
	}
	p = twin.New(t, o)
	if dialect == "postgres" && level != "" {
		var name string
		if err := p.Under.QueryRow("SELECT quote_ident(current_database())").Scan(&name); err != nil {
			t.Fatal(err)
		}
		to := strings.ToLower(strings.ReplaceAll(level, "-", " "))
		if _, err := p.Under.Exec("ALTER DATABASE " + name + " SET default_transaction_isolation = '" + to + "'"); err != nil {
			t.Fatal(err)
		}
	}
	slotted = anotherProgram(t, p, strings.Replace(o.Config, "adaptive", "connection", 1))
	for _, db := range []*sql.DB{p.Wrapped, slotted} {
		db.SetMaxOpenConns(8)
		db.SetMaxIdleConns(8)
	}
	return p, slotted
}

// A number that is drawn beside increments that others make in slots is drawn once, and
// none is left out: each increment is before or after each drain. The slots come and go
// between any two steps of either.
func TestProvenBesideSlots(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		levels := []string{""}
		if dialect != "sqlite" {
			levels = []string{"READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"}
		}
		for _, level := range levels {
			t.Run(dialect+"/"+level, func(t *testing.T) {
				t.Parallel()
				p, slotted := provable(t, dialect, level)
				at := map[bool]sql.IsolationLevel{true: sql.LevelSerializable}[level == "SERIALIZABLE"]
				draw := newDraws(dialect)
				var wg sync.WaitGroup
				var mu sync.Mutex
				drawn := map[int64]int{}
				var counted int64
				for i := range 6 {
					wg.Go(func() {
						for range 40 {
							var n int64
							err := againAt(at, func() (err error) {
								if i < 3 {
									n, err = draw(t.Context(), p.Wrapped, i == 0)
									return err
								}
								_, err = slotted.ExecContext(t.Context(), "UPDATE stock SET n = n + 1 WHERE id = 1")
								return err
							})
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							counted++
							if n > 0 {
								drawn[n]++
							}
							mu.Unlock()
						}
					})
				}
				wg.Wait()
				var total int64
				if err := slotted.QueryRow("SELECT n FROM stock WHERE id = 1").Scan(&total); err != nil {
					t.Fatal(err)
				}
				if total != counted || len(drawn) != 120 {
					t.Errorf("the total is %d of %d, %d numbers drawn", total, counted, len(drawn))
				}
				for n, times := range drawn {
					if times != 1 || n > total {
						t.Errorf("number %d has been drawn %d times", n, times)
					}
				}
			})
		}
	}
}

// newDraws draws the next number by a statement that drains, also in a transaction.
func newDraws(dialect string) func(ctx context.Context, db *sql.DB, inTx bool) (int64, error) {
	draw := func(ctx context.Context, db executor) (n int64, err error) {
		if dialect != "mysql" {
			return n, db.QueryRowContext(ctx, "UPDATE stock SET n = n + 1 WHERE id = 1 RETURNING n").Scan(&n)
		}
		res, err := db.ExecContext(ctx, "UPDATE stock SET n = LAST_INSERT_ID(n + 1) WHERE id = 1")
		if err != nil {
			return 0, err
		}
		return res.LastInsertId()
	}
	return func(ctx context.Context, db *sql.DB, inTx bool) (n int64, err error) {
		err = maybeInTx(ctx, db, inTx, func(e executor) (err error) {
			n, err = draw(ctx, e)
			return err
		})
		return n, err
	}
}

// executor is a *sql.DB or a *sql.Tx.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// maybeInTx calls f with db, or with a transaction of it, which is committed if f succeeds.
func maybeInTx(ctx context.Context, db *sql.DB, inTx bool, f func(executor) error) error {
	if !inTx {
		return f(db)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

var inTheWay = regexp.MustCompile("40001|40P01|1213|1205|database is locked")

// again runs f until no conflict with others is in its way, for minutes if need be: each
// conflict is with another one that goes on.
func again(f func() error) error { return againAt(sql.LevelDefault, f) }

// againAt is again for an isolation level. At SERIALIZABLE MariaDB with innodb_snapshot_isolation has one
// more error, outside transactions too: the snapshot is as old as the statement, which may have waited.
func againAt(level sql.IsolationLevel, f func() error) error {
	for limit := time.Now().Add(5 * time.Minute); ; {
		err := f()
		newer := level == sql.LevelSerializable && twin.Class(err) == twin.Newer
		if err == nil || !newer && !inTheWay.MatchString(err.Error()) {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("conflicts without end: %w", err)
		}
	}
}

// A statement whose row has slots is refuted, and drains; one whose row has none runs
// once, in whatever form it is sent, alone or in a transaction.
func TestProvenOrDrained(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		for name, inTx := range map[string]bool{"alone": false, "transaction": true} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				p, slotted := provable(t, dialect, "")
				proveOrDrain(t, p.Wrapped, slotted, inTx)
			})
		}
	}
}

func proveOrDrain(t *testing.T, db, slotted *sql.DB, inTx bool) {
	want := int64(500)
	check := func(what string, delta, affected int64, query string, args ...any) {
		t.Helper()
		want += delta
		err := maybeInTx(t.Context(), db, inTx, func(e executor) error {
			res, err := e.ExecContext(t.Context(), query, args...)
			if err != nil {
				return err
			}
			var got int64
			if err := e.QueryRowContext(t.Context(), "SELECT n FROM stock WHERE id = 2").Scan(&got); err != nil {
				return err
			}
			if n, _ := res.RowsAffected(); got != want || n != affected {
				t.Errorf("%s: %d rows, n = %d, want %d rows and %d", what, n, got, affected, want)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	count := func(n int64) {
		t.Helper()
		if _, err := slotted.Exec(fmt.Sprintf("UPDATE stock SET n = n + %d WHERE id = 2", n)); err != nil {
			t.Fatal(err)
		}
		want += n
	}
	for round := range 6 {
		if round%2 == 1 {
			count(7)
		}
		check("guard that only the total meets", -want, 1, fmt.Sprintf("UPDATE stock SET n = n - %d WHERE id = 2 AND n >= %d", want, want))
		check("guard in vain", 0, 0, "UPDATE stock SET n = n - 1 WHERE id = 2 AND n >= 1000")
		check("set", 40-want, 1, "UPDATE stock SET n = 40 WHERE id = 2")
		count(5)
		check("full-row save", 9-want, 1, "UPDATE stock SET note = 'x', n = 9 WHERE id = 2")
		check("no row", 0, 0, "UPDATE stock SET n = 9 WHERE id = 77")
		check("by the counter", 0, 0, "DELETE FROM stock WHERE id = 2 AND n > 100")
		count(100)
		check("by the total", 0, 0, "DELETE FROM stock WHERE id = 2 AND n < 100")
	}
}

// A predicate of the application's own that raises the error by which a proof fails is
// the application's error.
func TestProvenOwnError(t *testing.T) {
	for dialect, query := range map[string]string{
		"mysql":  "UPDATE stock SET n = 1 WHERE id = 1 AND 18446744073709551615 + id > 0",
		"sqlite": "UPDATE stock SET n = 1 WHERE id = 1 AND abs(-9223372036854775808) > 0",
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p, _ := provable(t, dialect, "")
			_, plain := p.Plain.Exec(query)
			_, wrapped := p.Wrapped.Exec(query)
			if plain == nil || wrapped == nil || twin.Class(plain) != twin.Class(wrapped) {
				t.Errorf("plain: %v; wrapped: %v", plain, wrapped)
			}
		})
	}
}

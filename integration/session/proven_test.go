package session

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

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
		o.Params = "tx_isolation=%27" + level + "%27"
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
	config := filepath.Join(t.TempDir(), "slotsql.yaml")
	if err := os.WriteFile(config, []byte(strings.Replace(o.Config, "adaptive", "connection", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	slotted, err := twin.OpenWrapped(map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}[dialect], p.WrappedDSN, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slotted.Close() })
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
				draw := newDraws(dialect, p.Wrapped)
				var wg sync.WaitGroup
				var mu sync.Mutex
				drawn := map[int64]int{}
				var counted int64
				for i := range 6 {
					wg.Go(func() {
						for range 40 {
							var n int64
							err := again(func() (err error) {
								if i < 3 {
									n, err = draw(t.Context())
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

// newDraws draws the next number by a statement that drains.
func newDraws(dialect string, db *sql.DB) func(context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		if dialect != "mysql" {
			return n, db.QueryRowContext(ctx, "UPDATE stock SET n = n + 1 WHERE id = 1 RETURNING n").Scan(&n)
		}
		res, err := db.ExecContext(ctx, "UPDATE stock SET n = LAST_INSERT_ID(n + 1) WHERE id = 1")
		if err != nil {
			return 0, err
		}
		return res.LastInsertId()
	}
}

var inTheWay = regexp.MustCompile("40001|40P01|1213|1205|database is locked")

// again runs f until no conflict with others is in its way, for minutes if need be: each
// conflict is with another one that goes on.
func again(f func() error) error {
	for limit := time.Now().Add(5 * time.Minute); ; {
		err := f()
		if err == nil || !inTheWay.MatchString(err.Error()) {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("conflicts without end: %w", err)
		}
	}
}

// A statement whose row has slots is refuted, and drains; one whose row has none runs
// once, in whatever form it is sent.
func TestProvenOrDrained(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p, slotted := provable(t, dialect, "")
			want := int64(500)
			check := func(what string, delta, affected int64, query string, args ...any) {
				t.Helper()
				res, err := p.Wrapped.Exec(query, args...)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				want += delta
				var got int64
				if err := p.Wrapped.QueryRow("SELECT n FROM stock WHERE id = 2").Scan(&got); err != nil {
					t.Fatal(err)
				}
				if n, _ := res.RowsAffected(); got != want || n != affected {
					t.Errorf("%s: %d rows, n = %d, want %d rows and %d", what, n, got, affected, want)
				}
			}
			for round := range 6 {
				if round%2 == 1 {
					if _, err := slotted.Exec("UPDATE stock SET n = n + 7 WHERE id = 2"); err != nil {
						t.Fatal(err)
					}
					want += 7
				}
				check("guard that only the total meets", -want, 1, fmt.Sprintf("UPDATE stock SET n = n - %d WHERE id = 2 AND n >= %d", want, want))
				check("guard in vain", 0, 0, "UPDATE stock SET n = n - 1 WHERE id = 2 AND n >= 1000")
				check("set", 40-want, 1, fmt.Sprintf("UPDATE stock SET n = %d WHERE id = 2", 40))
				if _, err := slotted.Exec("UPDATE stock SET n = n + 5 WHERE id = 2"); err != nil {
					t.Fatal(err)
				}
				want += 5
				check("full-row save", 9-want, 1, "UPDATE stock SET note = 'x', n = 9 WHERE id = 2")
				check("no row", 0, 0, "UPDATE stock SET n = 9 WHERE id = 77")
				check("by the counter", 0, 0, "DELETE FROM stock WHERE id = 2 AND n > 100")
				if _, err := slotted.Exec("UPDATE stock SET n = n + 100 WHERE id = 2"); err != nil {
					t.Fatal(err)
				}
				want += 100
				check("by the total", 0, 0, "DELETE FROM stock WHERE id = 2 AND n < 100")
			}
		})
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

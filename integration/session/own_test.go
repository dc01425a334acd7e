package session

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Transactions that count a row and then read it draw numbers: no two the same,
// and none left out.
func TestNumbers(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for _, upsert := range []bool{false, true} {
			params := ""
			if dialect == "postgres" {
				params = "deadlock_timeout=20ms"
			}
			p := twin.New(t, twin.Options{Dialect: dialect, Params: params, Schema: []string{
				"CREATE TABLE tickets (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE, n INT NOT NULL)",
				"INSERT INTO tickets VALUES (1, 'a', 0)",
			}, Config: "version: 1\nauto_migrate: true\ntables: {tickets: {counters: {n: {}}}}\n"})
			query := "UPDATE tickets SET n = n + 1 WHERE id = ?"
			if upsert {
				query = "INSERT INTO tickets (id, name, n) VALUES (?, 'a', 1) ON CONFLICT (id) DO UPDATE SET n = tickets.n + 1"
				if dialect == "mysql" {
					continue // any of its keys may be the one that is met, so it runs on the row
				}
			}
			if dialect == "postgres" {
				query = dollars(query)
			}
			draw := func(ctx context.Context) (n int, err error) {
				tx, err := p.Wrapped.BeginTx(ctx, nil)
				if err != nil {
					return 0, err
				}
				defer tx.Rollback()
				if _, err := tx.ExecContext(ctx, query, 1); err != nil {
					return 0, err
				}
				if err := tx.QueryRowContext(ctx, "SELECT n FROM tickets WHERE name = 'a'").Scan(&n); err != nil {
					return 0, err
				}
				return n, tx.Commit()
			}
			const clients, each = 8, 12
			var mu sync.Mutex
			var drawn []int
			conflicts := 0
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for done := 0; done < each; {
						n, err := draw(t.Context())
						mu.Lock()
						switch {
						case err == nil:
							drawn = append(drawn, n)
							done++
						case conflict(err):
							conflicts++
						default:
							t.Errorf("%v (%s)", err, twin.Class(err))
							done = each
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			slices.Sort(drawn)
			for i, n := range drawn {
				if n != i+1 {
					t.Errorf("drawn %v", drawn)
					break
				}
			}
			// Only those that have begun before the first has read may meet, and
			// those of their second tries.
			if dialect != "sqlite" && conflicts > 3*clients {
				t.Errorf("%d conflicts", conflicts)
			}
		}
	})
}

// What a transaction has counted it keeps to itself once it has read it, also
// behind savepoints.
func TestNumbersAfterSavepoint(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, map[string]string{"mysql": "innodb_lock_wait_timeout=0", "postgres": "lock_timeout=300ms"}[dialect])
		execAll(t, p.Wrapped, work[0])
		tx, err := p.Wrapped.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		read := func() (n int) {
			t.Helper()
			if err := tx.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, query := range []string{work[0], "SAVEPOINT a"} {
			if _, err := tx.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		before := read()
		if _, err := tx.Exec("ROLLBACK TO SAVEPOINT a"); err != nil {
			t.Fatal(err)
		}
		if n := read(); n != before {
			t.Errorf("%d, then %d", before, n)
		}
		if _, err := p.Wrapped.Exec("UPDATE posts SET views = views + 1 WHERE id = 1"); !conflictOrTimeout(err) {
			t.Errorf("an increment beside it: %v", err)
		}
		if n := read(); n != before {
			t.Errorf("%d, then %d", before, n)
		}
	})
}

func conflictOrTimeout(err error) bool {
	return conflict(err) || twin.Class(err) == "PostgreSQL 55P03"
}

package session

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// many is a table of rows that have not been counted in yet. Params are those of the DSN.
func many(t *testing.T, dialect string, rows int, params string) *twin.Pair {
	t.Helper()
	schema := []string{"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, title VARCHAR(20))"}
	for i := range rows {
		schema = append(schema, fmt.Sprintf("INSERT INTO posts VALUES (%d, 100, 'x')", 10*(i+1)))
	}
	return twin.New(t, twin.Options{Dialect: dialect, Params: params, Schema: schema,
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
}

// firsts are statements that have a row, %d, for themselves with the plain driver.
var firsts = map[string]string{
	"lock":    "SELECT views FROM posts WHERE id = %d FOR UPDATE",
	"set":     "UPDATE posts SET views = 7 WHERE id = %d",
	"guarded": "UPDATE posts SET views = views - 1 WHERE id = %d AND views >= 1",
	"save":    "UPDATE posts SET views = 9, title = 'y' WHERE id = %d",
	"upsert":  "INSERT INTO posts (id, views) VALUES (%d, 3) %s",
	"delete":  "DELETE FROM posts WHERE id = %d + 1",
}

func firstOf(dialect, kind string, id int) string {
	if kind == "upsert" {
		clause := "ON CONFLICT (id) DO UPDATE SET views = 3"
		if dialect == "mysql" {
			clause = "ON DUPLICATE KEY UPDATE views = 3"
		}
		return fmt.Sprintf(firsts[kind], id, clause)
	}
	return fmt.Sprintf(firsts[kind], id)
}

// Two transactions each take a row of their own, and then increment it: a row that
// has no slots costs no lock that another row can feel. Nor does it keep out an
// increment of a third row.
func TestDifferentRows(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for kind := range firsts {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				p := many(t, dialect, 4, map[string]string{"mysql": "innodb_lock_wait_timeout=5", "postgres": "deadlock_timeout=50ms"}[dialect])
				if kind == "delete" {
					for _, id := range []int{11, 21} {
						if _, err := p.Wrapped.Exec(fmt.Sprintf("INSERT INTO posts VALUES (%d, 1, 'x')", id)); err != nil {
							t.Fatal(err)
						}
					}
				}
				ctx := t.Context()
				var txs [2]*sql.Tx
				for i := range txs {
					tx, err := p.Wrapped.BeginTx(ctx, nil)
					if err != nil {
						t.Fatal(err)
					}
					defer tx.Rollback()
					txs[i] = tx
					first := firstOf(dialect, kind, 10*(i+1))
					if kind == "lock" {
						var n int
						err = tx.QueryRow(first).Scan(&n)
					} else {
						_, err = tx.Exec(first)
					}
					if err != nil {
						t.Fatalf("%s: %v", first, err)
					}
				}
				if kind != "delete" { // whose foreign key locks the gap
					if _, err := p.Wrapped.Exec("UPDATE posts SET views = views + 1 WHERE id = 30"); err != nil {
						t.Errorf("an increment of a third row: %v", err)
					}
				}
				for i, tx := range txs {
					if _, err := tx.Exec(fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", 10*(i+1))); err != nil {
						t.Fatalf("transaction %d: %v", i, err)
					}
				}
				for _, tx := range txs {
					if err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	})
}

// failures runs transactions on many connections, without a second try, and counts
// those that fail.
func failures(
	t *testing.T,
	db *sql.DB,
	clients, each int,
	f func(ctx context.Context, tx *sql.Tx, r *rand.Rand) error,
) (failed map[string]int) {
	t.Helper()
	failed = map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for c := range clients {
		r := rand.New(rand.NewPCG(uint64(c), 7))
		wg.Go(func() {
			for range each {
				tx, err := db.BeginTx(t.Context(), nil)
				if err == nil {
					if err = f(t.Context(), tx, r); err == nil {
						err = tx.Commit()
					} else {
						_ = tx.Rollback()
					}
				}
				if err != nil {
					mu.Lock()
					failed[twin.Class(err)]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failed
}

// Transactions that do not fail with the plain driver do not fail: each kind runs on
// both sides, without second tries.
func TestSharingFailsNoOtherStatement(t *testing.T) {
	exec := func(ctx context.Context, tx *sql.Tx, statements ...string) error {
		for _, q := range statements {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				return err
			}
		}
		return nil
	}
	row := func(r *rand.Rand, n int) int { return 10 * (1 + r.IntN(n)) }
	add := func(id, n int) string { return fmt.Sprintf("UPDATE posts SET views = views + %d WHERE id = %d", n, id) }
	take := func(id, n int) string {
		return fmt.Sprintf("UPDATE posts SET views = views - %d WHERE id = %d AND views >= %d", n, id, n)
	}
	lock := func(ctx context.Context, tx *sql.Tx, id int) error {
		var n int
		return tx.QueryRowContext(ctx, fmt.Sprintf("SELECT views FROM posts WHERE id = %d FOR UPDATE", id)).Scan(&n)
	}
	for name, f := range map[string]func(ctx context.Context, dialect string, tx *sql.Tx, r *rand.Rand) error{
		"lock then increment": func(ctx context.Context, _ string, tx *sql.Tx, r *rand.Rand) error {
			id := row(r, 100)
			if err := lock(ctx, tx, id); err != nil {
				return err
			}
			return exec(ctx, tx, add(id, 1))
		},
		"set then increment": func(ctx context.Context, _ string, tx *sql.Tx, r *rand.Rand) error {
			id := row(r, 100)
			return exec(ctx, tx, fmt.Sprintf("UPDATE posts SET views = 5 WHERE id = %d", id), add(id, 1))
		},
		"transfer": func(ctx context.Context, _ string, tx *sql.Tx, r *rand.Rand) error {
			a, b := row(r, 100), row(r, 100)
			if a < b {
				return exec(ctx, tx, take(a, 1), add(b, 1))
			}
			return exec(ctx, tx, add(b, 1), take(a, 1))
		},
		"transfer by locks": func(ctx context.Context, _ string, tx *sql.Tx, r *rand.Rand) error {
			a, b := row(r, 100), row(r, 100)
			for _, id := range []int{min(a, b), max(a, b)} {
				if err := lock(ctx, tx, id); err != nil {
					return err
				}
			}
			return exec(ctx, tx, add(a, -1), add(b, 1))
		},
		"new keys": func(ctx context.Context, dialect string, tx *sql.Tx, r *rand.Rand) error {
			clause := "ON CONFLICT (id) DO UPDATE SET views = posts.views + 1"
			if dialect == "mysql" {
				clause = "ON DUPLICATE KEY UPDATE views = views + 1"
			}
			return exec(ctx, tx, fmt.Sprintf("INSERT INTO posts (id, views) VALUES (%d, 1) %s", 10000+r.IntN(1<<28), clause))
		},
		"increment then set": func(ctx context.Context, _ string, tx *sql.Tx, r *rand.Rand) error {
			id := row(r, 3)
			return exec(ctx, tx, add(id, 1), fmt.Sprintf("UPDATE posts SET views = 0, title = 'z' WHERE id = %d", id))
		},
		"increment then guard": func(ctx context.Context, _ string, tx *sql.Tx, r *rand.Rand) error {
			id := row(r, 3)
			return exec(ctx, tx, add(id, 2), take(id, 1))
		},
		"increment then lock": func(ctx context.Context, _ string, tx *sql.Tx, r *rand.Rand) error {
			id := row(r, 3)
			if err := exec(ctx, tx, add(id, 1)); err != nil {
				return err
			}
			return lock(ctx, tx, id)
		},
		"increment then read": func(ctx context.Context, _ string, tx *sql.Tx, r *rand.Rand) error {
			id, n := row(r, 3), 0
			if err := exec(ctx, tx, add(id, 1)); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, fmt.Sprintf("SELECT views FROM posts WHERE id = %d", id)).Scan(&n)
		},
	} {
		for _, dialect := range []string{"mysql", "postgres"} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				// Who waits has others before it, however slow the machine is.
				p := many(t, dialect, 100, map[string]string{"mysql": "innodb_lock_wait_timeout=600", "postgres": "deadlock_timeout=50ms"}[dialect])
				run := func(db *sql.DB) map[string]int {
					return failures(
						t,
						db,
						12,
						20,
						func(ctx context.Context, tx *sql.Tx, r *rand.Rand) error { return f(ctx, dialect, tx, r) },
					)
				}
				plain, wrapped := run(p.Plain), run(p.Wrapped)
				t.Log(plain, wrapped)
				if len(plain) == 0 && len(wrapped) > 0 {
					t.Errorf("plain none, wrapped %v", wrapped)
				}
				var a, b int
				if err := p.Plain.QueryRow("SELECT COUNT(*) FROM posts WHERE views < 0").Scan(&a); err != nil {
					t.Fatal(err)
				}
				if err := p.Wrapped.QueryRow("SELECT COUNT(*) FROM posts WHERE views < 0").Scan(&b); err != nil || a != b {
					t.Errorf("%d and %d rows below zero, %v", a, b, err)
				}
			})
		}
	}
}

// checkBeside runs increments beside statements that set their rows, none of which
// fails with the plain driver.
func checkBeside(t *testing.T, p *twin.Pair) {
	t.Helper()
	for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
		failed := failures(t, db, 12, 15, func(ctx context.Context, tx *sql.Tx, r *rand.Rand) error {
			q := "UPDATE posts SET views = views + 1 WHERE id = %d"
			if r.IntN(3) == 0 {
				q = "UPDATE posts SET views = 0 WHERE id = %d"
			}
			_, err := tx.ExecContext(ctx, fmt.Sprintf(q, 1+r.IntN(3)))
			return err
		})
		if len(failed) > 0 {
			t.Errorf("failed: %v", failed)
		}
	}
}

package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// conflict reports whether a statement was refused because of what others do; the
// plain driver has the same, and nothing of the statement is applied.
func conflict(err error) bool {
	switch c := twin.Class(err); c {
	case "MySQL 1213 (40001)", "MySQL 1205 (HY000)", "MySQL 1020 (HY000)", "PostgreSQL 40P01", "PostgreSQL 40001":
		return true
	default:
		return strings.HasPrefix(c, "SQLite ") &&
			(strings.HasSuffix(c, " 5") || strings.HasSuffix(c, " 517") || strings.HasSuffix(c, " 6") || strings.HasSuffix(c, " 262"))
	}
}

// worker counts what it has added to each row.
type worker struct {
	db      *sql.DB
	dialect string
	added   *[4]atomic.Int64
	rnd     *rand.Rand
}

func (w *worker) arg(q string) string {
	if w.dialect == "postgres" {
		return dollars(q)
	}
	return q
}

func affected(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows affected", n)
	}
	return err
}

// step does one thing, and says what it adds when it is not refused.
func (w *worker) step(ctx context.Context, id int) (added int64, err error) {
	inc := w.arg("UPDATE posts SET views = views + ? WHERE id = ?")
	n := int64(1 + w.rnd.IntN(3))
	switch w.rnd.IntN(9) {
	case 0, 1:
		return n, affected(w.db.ExecContext(ctx, inc, n, id))
	case 2:
		return 1, affected(w.db.ExecContext(ctx, fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", id)))
	case 3: // the engine may say that this changes nothing
		_, err := w.db.ExecContext(ctx, w.arg("UPDATE posts SET views = views * 1 WHERE id = ?"), id)
		return 0, err
	case 4:
		var views int64
		return 0, w.db.QueryRowContext(ctx, w.arg("SELECT views FROM posts WHERE id = ?"), id).Scan(&views)
	case 5:
		st, err := w.db.PrepareContext(ctx, inc)
		if err != nil {
			return 0, err
		}
		defer st.Close()
		return n, affected(st.ExecContext(ctx, n, id))
	case 6:
		_, err := w.db.ExecContext(ctx, "UPDATE posts SET views = views + 0 * id")
		return 0, err
	}
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if w.rnd.IntN(2) == 0 && w.dialect != "sqlite" {
		// Read under lock, write what was read and one more.
		var views int64
		if err := tx.QueryRowContext(ctx, w.arg("SELECT views FROM posts WHERE id = ? FOR UPDATE"), id).Scan(&views); err != nil {
			return 0, err
		}
		if err := affected(tx.ExecContext(ctx, w.arg("UPDATE posts SET views = ? WHERE id = ?"), views+1, id)); err != nil {
			return 0, err
		}
		return 1, tx.Commit()
	}
	if err := affected(tx.ExecContext(ctx, inc, n, id)); err != nil {
		return 0, err
	}
	if w.rnd.IntN(3) == 0 {
		return 0, tx.Rollback()
	}
	if w.rnd.IntN(2) == 0 {
		if _, err := tx.ExecContext(ctx, w.arg("UPDATE posts SET views = views * 1 WHERE id = ?"), id); err != nil {
			return 0, err
		}
	}
	return n, tx.Commit()
}

// Whatever 32 clients do at once, the totals are exact at the end.
func TestConcurrentTotals(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		clients, steps := 32, 30
		if dialect == "sqlite" {
			clients, steps = 8, 30
		}
		params := ""
		if dialect == "postgres" {
			params = "deadlock_timeout=20ms" // to lock a row after having counted it up is a conflict
		}
		p := newPair(t, dialect, params)
		p.Wrapped.SetMaxIdleConns(clients)
		var added [4]atomic.Int64
		var wg sync.WaitGroup
		var conflicts atomic.Int64
		for i := range clients {
			wg.Add(1)
			go func() {
				defer wg.Done()
				w := &worker{db: p.Wrapped, dialect: dialect, added: &added, rnd: rand.New(rand.NewPCG(1, uint64(i)))}
				for range steps {
					id := 1 + w.rnd.IntN(3)
					n, err := w.step(t.Context(), id)
					switch {
					case err == nil:
						added[id].Add(n)
					case conflict(err):
						conflicts.Add(1)
					default:
						t.Errorf("%v (%s)", err, twin.Class(err))
						return
					}
				}
			}()
		}
		wg.Wait()
		t.Logf("%d conflicts", conflicts.Load())
		for id := 1; id <= 3; id++ {
			var views int64
			if err := p.Wrapped.QueryRow(fmt.Sprintf("SELECT views FROM posts WHERE id = %d", id)).Scan(&views); err != nil {
				t.Fatal(err)
			}
			if want := int64(id)*10 + added[id].Load(); views != want {
				t.Errorf("row %d: %d, want %d", id, views, want)
			}
		}
	})
}

// A row that is deleted while it is counted takes no more increments, and
// leaves no slots for the row that gets its key next.
func TestDeleteRacesIncrements(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		for cycle := range 6 {
			execAll(t, p.Wrapped, "INSERT INTO posts (id, views) VALUES (10, 0)")
			var wg sync.WaitGroup
			var counted atomic.Int64
			for range 8 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for {
						res, err := p.Wrapped.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 10")
						if err != nil {
							if conflict(err) {
								continue
							}
							t.Error(err)
							return
						}
						n, _ := res.RowsAffected()
						if n == 0 {
							return
						}
						counted.Add(n)
					}
				}()
			}
			deadline := time.Now().Add(20 * time.Second)
			for counted.Load() < 20 && time.Now().Before(deadline) && !t.Failed() {
				if _, err := p.Wrapped.Exec("UPDATE posts SET views = views * 1 WHERE id = 10"); err != nil && !conflict(err) {
					t.Fatal(err)
				}
			}
			db, query := p.Wrapped, "DELETE FROM posts WHERE id = 10"
			if cycle%2 == 1 && dialect != "sqlite" {
				db = p.Under // by another program
			}
			for {
				_, err := db.Exec(query)
				if err == nil {
					break
				}
				if !conflict(err) {
					t.Fatal(err)
				}
			}
			wg.Wait()
			var n int
			if err := p.Under.QueryRow("SELECT COUNT(*) FROM posts_slots WHERE id = 10").Scan(&n); err != nil || n != 0 {
				t.Fatalf("cycle %d: %d slots of a row that is gone, %v", cycle, n, err)
			}
		}
		execAll(t, p.Wrapped, "INSERT INTO posts (id, views) VALUES (10, 0)")
		var n int
		if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 10").Scan(&n); err != nil || n != 0 {
			t.Errorf("a new row starts at %d, %v", n, err)
		}
	})
}

// While a row is locked by FOR UPDATE its increments wait.
func TestLockHoldsIncrements(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, lock := range []string{"SELECT views FROM posts WHERE id = 1 FOR UPDATE", "SELECT * FROM posts WHERE id = 1 OR title = 'one' FOR UPDATE"} {
			t.Run(lock, func(t *testing.T) {
				t.Parallel()
				p := newPair(t, dialect, "")
				execAll(t, p.Wrapped, work[0])
				tx, err := p.Wrapped.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if err := readAll(tx.Query(lock)); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() {
					_, err := p.Wrapped.Exec(work[0])
					done <- err
				}()
				untilBlocked(t, p, done)
				if _, err := tx.Exec("UPDATE posts SET views = 100 WHERE id = 1"); err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				var n int
				if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil || n != 101 {
					t.Errorf("%d, %v", n, err)
				}
			})
		}
	})
}

func readAll(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// A statement that is cancelled in the middle leaves no transaction, and its
// drain all or nothing.
func TestCancelled(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		want, unsure := int64(10), int64(0)
		for i := range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*30)*time.Microsecond)
			q := []string{work[0], "UPDATE posts SET views = views * 1 WHERE id = 1", "UPDATE posts SET views = views * 1"}[i%3]
			_, err := p.Wrapped.ExecContext(ctx, q)
			done := err == nil && ctx.Err() == nil // glebarez/go-sqlite may report success and have run nothing
			cancel()
			if i%3 == 0 {
				if done {
					want++
				} else {
					unsure++ // it may have been applied, as with the plain driver
				}
			}
			if err := p.Wrapped.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		execAll(t, p.Wrapped, "UPDATE posts SET title = 'done' WHERE id = 1")
		var views int64
		var title string
		if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&views); err != nil || views < want ||
			views > want+unsure {
			t.Errorf("%d, want %d to %d, %v", views, want, want+unsure, err)
		}
		if err := p.Under.QueryRow("SELECT title FROM posts WHERE id = 1").Scan(&title); err != nil || title != "done" {
			t.Errorf("a transaction is left open: %q, %v", title, err)
		}
	})
}

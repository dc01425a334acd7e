package session

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// added is what has come of increments of one counter.
type added struct {
	mu           sync.Mutex
	acknowledged int64
	fewest, most int64 // what those of unknown end may have added
}

func (a *added) note(n int64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.acknowledged += n
	case n > 0:
		a.most += n
	default:
		a.fewest += n
	}
}

func (a *added) check(t *testing.T, what string, start, total int64) {
	t.Helper()
	if low, high := start+a.acknowledged+a.fewest, start+a.acknowledged+a.most; total < low || total > high {
		t.Errorf("%s: %d, want %d to %d", what, total, low, high)
	}
}

const coalesceConfig = `version: 1
auto_migrate: true
tables:
  posts: {counters: {views: {}, score: {}}, companions: {seen: latest}}
`

// Increments of every shape that overlap, of two rows, with callers that give
// up, beside drains, transactions and sessions that have been changed: what is
// acknowledged is counted, once.
func TestCoalesce(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		score := map[string]string{"mysql": "DECIMAL(14,2)", "postgres": "NUMERIC(14,2)", "sqlite": "INTEGER"}[dialect]
		unit := map[bool]string{true: "1", false: "0.25"}[dialect == "sqlite"]
		p := twin.New(t, twin.Options{Dialect: dialect, Config: coalesceConfig, Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, views INT NOT NULL DEFAULT 0, score " + score + " NOT NULL DEFAULT 0, seen INT)",
			"INSERT INTO posts (id, slug, views, score) VALUES (1, 'one', 10, 0), (2, 'two', 20, 0)",
		}})
		clients, steps := 24, 80
		db := p.Wrapped
		db.SetMaxIdleConns(clients)
		coalescedBefore := coalesced(dialect)
		var views, scores [3]added
		arg := func(q string) string {
			if dialect == "postgres" {
				return dollars(q)
			}
			return q
		}
		step := func(ctx context.Context, rnd *rand.Rand) error {
			id := 1 + rnd.IntN(2)
			n := 1 + rnd.Int64N(4)
			var err error
			switch rnd.IntN(12) {
			case 0, 1, 2:
				err = affected(db.ExecContext(ctx, arg("UPDATE posts SET views = views + ? WHERE id = ?"), n, id))
				views[id].note(n, err)
			case 3, 4:
				err = affected(db.ExecContext(ctx, fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", id)))
				views[id].note(1, err)
			case 5:
				err = affected(
					db.ExecContext(ctx, arg("UPDATE posts SET views = views - ? WHERE slug = ?"), n, [3]string{"", "one", "two"}[id]),
				)
				views[id].note(-n, err)
			case 6, 7:
				err = affected(
					db.ExecContext(
						ctx,
						arg("UPDATE posts SET views = views + ?, score = score + "+unit+", seen = ? WHERE id = ?"),
						n,
						rnd.IntN(99),
						id,
					),
				)
				views[id].note(n, err)
				scores[id].note(1, err)
			case 8:
				var st *sql.Stmt
				if st, err = db.PrepareContext(ctx, arg("UPDATE posts SET views = views + ? WHERE id = ?")); err == nil {
					err = affected(st.ExecContext(ctx, n, id))
					views[id].note(n, err)
					_ = st.Close()
				}
			case 9:
				var tx *sql.Tx
				if tx, err = db.BeginTx(ctx, nil); err == nil {
					if err = affected(tx.ExecContext(ctx, arg("UPDATE posts SET views = views + ? WHERE id = ?"), n, id)); err == nil {
						err = tx.Commit()
					}
					views[id].note(n, err)
					_ = tx.Rollback()
				}
			case 10:
				if rnd.IntN(4) == 0 { // a drain
					_, err = db.ExecContext(ctx, arg("UPDATE posts SET views = views * 1 WHERE id = ?"), id)
				} else {
					var n int64
					err = db.QueryRowContext(ctx, arg("SELECT views FROM posts WHERE id = ?"), id).Scan(&n)
				}
			case 11:
				res, e := db.ExecContext(ctx, arg("UPDATE posts SET views = views + ? WHERE id = ?"), n, 7) // no such row
				if err = e; err == nil {
					if k, _ := res.RowsAffected(); k != 0 {
						return fmt.Errorf("%d rows affected where there is none", k)
					}
				}
			}
			return err
		}
		var wg sync.WaitGroup
		for client := range clients {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(7, uint64(client)))
				for range steps {
					ctx, cancel := context.WithCancel(t.Context())
					if rnd.IntN(12) == 0 {
						time.AfterFunc(time.Duration(rnd.IntN(1500))*time.Microsecond, cancel)
					}
					err := step(ctx, rnd)
					given := ctx.Err() != nil
					cancel()
					if err != nil && !given && !conflict(err) {
						t.Errorf("%v (%s)", err, twin.Class(err))
						return
					}
				}
			})
		}
		wg.Wait()
		for id := 1; id <= 2; id++ {
			var v int64
			var s float64
			if err := db.QueryRow(fmt.Sprintf("SELECT views, score FROM posts WHERE id = %d", id)).Scan(&v, &s); err != nil {
				t.Fatal(err)
			}
			views[id].check(t, fmt.Sprintf("views of %d", id), int64(id)*10, v)
			if dialect != "sqlite" {
				s *= 4
			}
			scores[id].check(t, fmt.Sprintf("score of %d", id), 0, int64(s))
		}
		if coalesced(dialect) == coalescedBefore {
			t.Error("nothing has been coalesced")
		}
	})
}

// coalesced is how many increments of the process have shared a statement.
func coalesced(dialect string) (n uint64) {
	for _, s := range slotsql.Stats() {
		if s.Dialect == dialect {
			n += s.Coalesced
		}
	}
	return n
}

// Each member gets the error that it would have had: here the row is locked for
// longer than the server lets a statement wait.
func TestCoalesceTimeout(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		params := map[string]string{"mysql": "innodb_lock_wait_timeout=1", "postgres": "lock_timeout=300ms", "sqlite": "_pragma=busy_timeout(300)&_txlock=immediate"}[dialect]
		p := newPair(t, dialect, params)
		p.Wrapped.SetMaxIdleConns(8)
		tx, err := p.Wrapped.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("UPDATE posts SET views = 5 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"mysql": "MySQL 1205 (HY000)", "postgres": "PostgreSQL 55P03", "sqlite": "SQLite 5"}[dialect]
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, err := p.Wrapped.Exec(work[0])
				if got := twin.Class(err); !strings.HasPrefix(got, want) {
					t.Errorf("error %s (%v), want %s", got, err, want)
				}
			})
		}
		wg.Wait()
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil || n != 5 {
			t.Errorf("total %d, %v", n, err)
		}
	})
}

// However slots are chosen, totals are exact.
func TestPlacement(t *testing.T) {
	for _, placement := range []string{"connection", "random", "skip_locked"} {
		t.Run(placement, func(t *testing.T) {
			each(t, func(t *testing.T, dialect string) {
				p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{
					"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 10)",
				}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 8, coalesce: false, placement: " + placement + "}}\n"})
				var counted atomic.Int64
				var wg sync.WaitGroup
				for client := range 8 {
					wg.Go(func() {
						for i := range 12 {
							err := func() error {
								if (i+client)%2 == 0 {
									_, err := p.Wrapped.Exec("UPDATE posts SET views = views + 1 WHERE id = 1")
									return err
								}
								tx, err := p.Wrapped.Begin()
								if err != nil {
									return err
								}
								defer tx.Rollback()
								if _, err := tx.Exec("UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
									return err
								}
								return tx.Commit()
							}()
							switch {
							case err == nil:
								counted.Add(1)
							case !conflict(err):
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				var views, slots int64
				if err := p.Wrapped.QueryRow("SELECT views FROM posts").Scan(&views); err != nil || views != 10+counted.Load() {
					t.Errorf("total %d after %d increments, %v", views, counted.Load(), err)
				}
				if err := p.Under.QueryRow("SELECT COUNT(*) FROM posts_slots").Scan(&slots); err != nil || slots > 8 {
					t.Errorf("%d slots, %v", slots, err)
				}
			})
		})
	}
}

// A row that one connection counts has one slot row, as one that many count at
// the same time outside transactions has few.
func TestSlotsFollowConcurrency(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		p.Wrapped.SetMaxIdleConns(16)
		for range 20 {
			execAll(t, p.Wrapped, work[0])
			conns := make([]*sql.Conn, 3) // so that the pool hands out others
			for i := range conns {
				c, err := p.Wrapped.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conns[i] = c
			}
			for _, c := range conns {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var slots int
		if err := p.Under.QueryRow("SELECT COUNT(*) FROM posts_slots WHERE id = 1").Scan(&slots); err != nil || slots != 1 {
			t.Errorf("%d slots, %v", slots, err)
		}
	})
}

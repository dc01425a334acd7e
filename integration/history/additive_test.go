package history_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

var (
	historySeed = flag.Uint64("history.seed", 1, "seed of the concurrent histories")
	historyTime = flag.Duration("history.time", 700*time.Millisecond, "how long each concurrent history runs")
)

const (
	historyClients = 8
	historyKeys    = 3
)

var historyLevels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelDefault}

var historySchema = []string{
	"CREATE TABLE posts (id INTEGER PRIMARY KEY, views BIGINT NOT NULL, likes BIGINT, title VARCHAR(20))",
	"INSERT INTO posts VALUES (1, 0, 0, 'a'), (2, 0, 0, 'b'), (3, 0, 0, 'c')",
}

const historyConfig = "version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, counters: {views: {}, likes: {}}}}\n"

// additions are one run of clients against one pair's wrapped side.
type additions struct {
	*testing.T
	pair    *twin.Pair
	dialect string
	level   sql.IsolationLevel
	end     time.Time
	retried atomic.Int64
}

// histories runs f on every engine and isolation level.
func histories(t *testing.T, f func(h *additions)) {
	for _, dialect := range []string{"sqlite", "mysql", "postgres"} {
		for _, level := range historyLevels {
			if dialect == "sqlite" && level != sql.LevelDefault {
				continue
			}
			t.Run(dialect+"-"+strings.ReplaceAll(level.String(), " ", ""), func(t *testing.T) {
				p := twin.New(t, twin.Options{Dialect: dialect, Schema: historySchema, Config: historyConfig})
				p.Wrapped.SetMaxOpenConns(2 * historyClients)
				if err := p.Wrapped.PingContext(t.Context()); err != nil {
					t.Fatal(err)
				}
				f(&additions{T: t, pair: p, dialect: dialect, level: level, end: time.Now().Add(*historyTime)})
				if !t.Failed() {
					orphans(t, p)
				}
			})
		}
	}
}

// orphans looks for slots without a row.
func orphans(t *testing.T, p *twin.Pair) {
	t.Helper()
	var n int
	if err := p.Under.QueryRowContext(
		t.Context(),
		"SELECT COUNT(*) FROM posts_slots WHERE id NOT IN (SELECT id FROM posts)",
	).Scan(&n); err != nil ||
		n > 0 {
		t.Errorf("%d slots without a row, %v", n, err)
	}
}

// transaction runs f in a transaction and reports whether it was committed:
// false when the engine made it a victim. f returns an error of its own to roll
// back.
func (h *additions) transaction(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) bool {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: h.level})
	if err != nil {
		if !twin.Retryable(err) {
			h.Errorf("begin: %v", err)
		}
		return false
	}
	err = f(tx)
	if err == nil {
		err = tx.Commit()
	}
	if err == nil {
		return true
	}
	_ = tx.Rollback()
	switch {
	case err == errUndo:
	case twin.Retryable(err):
		h.retried.Add(1)
	default:
		h.Errorf("%v", err)
	}
	return false
}

var errUndo = fmt.Errorf("roll back on purpose")

// clients runs f in several goroutines until the time is over.
func (h *additions) clients(n int, f func(ctx context.Context, client int, r *rand.Rand)) {
	ctx, cancel := context.WithTimeout(h.Context(), *historyTime+5*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range n {
		r := rand.New(rand.NewPCG(*historySeed, uint64(i)))
		wg.Go(func() {
			for time.Now().Before(h.end) && !h.Failed() {
				f(ctx, i, r)
			}
		})
	}
	wg.Wait()
}

// exec runs a statement and returns the rows affected.
func (h *additions) exec(ctx context.Context, s interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) (int64, error) {
	res, err := s.ExecContext(ctx, twin.Placeholders(h.dialect, query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// TestHistoryAdditive: increments in every spelling and place, rolled back or
// not, beside drains that change nothing and plain clients: what was committed
// is counted, once.
func TestHistoryAdditive(t *testing.T) {
	histories(t, func(h *additions) {
		var sums [historyKeys + 1]atomic.Int64
		increments := []string{
			"UPDATE posts SET views = views + ? WHERE id = ?",
			"UPDATE posts SET views = ? + views WHERE id = ?",
			"UPDATE posts SET views = COALESCE(views, 0) + ? WHERE id IN (?)",
			"UPDATE posts SET views = views + ?, title = 'x' WHERE id = ?",
		}
		drains := []string{
			"UPDATE posts SET views = views * 1 WHERE id = ?",
			"UPDATE posts SET views = CASE WHEN views > -1000000 THEN views ELSE 0 END WHERE id = ?",
			"UPDATE posts SET views = views * 1 WHERE id < 4 AND id <> 100 + ?",
		}
		h.clients(historyClients, func(ctx context.Context, client int, r *rand.Rand) {
			db := h.pair.Wrapped
			if client == 0 {
				db = h.pair.Under // a program that does not know of slotsql
			}
			n, key := int64(1+r.IntN(5)), 1+r.IntN(historyKeys)
			if r.IntN(3) == 0 {
				n = -n
			}
			one := func(s interface {
				ExecContext(context.Context, string, ...any) (sql.Result, error)
			}) error {
				affected, err := h.exec(ctx, s, increments[r.IntN(len(increments))], n, key)
				if err == nil && affected != 1 {
					h.Errorf("an increment affects %d rows", affected)
				}
				return err
			}
			switch r.IntN(8) {
			case 0, 1, 2:
				err := one(db)
				if err == nil {
					sums[key].Add(n)
				} else if !twin.Retryable(err) {
					h.Errorf("%v", err)
				}
			case 3:
				if _, err := h.exec(ctx, db, drains[r.IntN(len(drains))], key); err != nil && !twin.Retryable(err) {
					h.Errorf("%v", err)
				}
			case 4:
				h.transaction(ctx, db, func(tx *sql.Tx) error {
					if err := one(tx); err != nil {
						return err
					}
					return errUndo
				})
			case 5:
				if h.transaction(ctx, db, func(tx *sql.Tx) error {
					if _, err := tx.ExecContext(ctx, "SAVEPOINT a"); err != nil {
						return err
					}
					if err := one(tx); err != nil {
						return err
					}
					if _, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT a"); err != nil {
						return err
					}
					return one(tx)
				}) {
					sums[key].Add(n)
				}
			default:
				times := int64(0)
				if h.transaction(ctx, db, func(tx *sql.Tx) error {
					times = 0
					for range 1 + r.IntN(3) {
						if err := one(tx); err != nil {
							return err
						}
						times++
						if r.IntN(3) == 0 {
							if _, err := h.exec(ctx, tx, drains[r.IntN(len(drains))], key); err != nil {
								return err
							}
						}
					}
					return nil
				}) {
					sums[key].Add(n * times)
				}
			}
		})
		for key := 1; key <= historyKeys; key++ {
			var views int64
			if err := h.pair.Wrapped.QueryRowContext(
				h.Context(),
				twin.Placeholders(h.dialect, "SELECT views FROM posts WHERE id = ?"),
				key,
			).Scan(&views); err != nil {
				h.Fatal(err)
			}
			if want := sums[key].Load(); views != want {
				h.Errorf("key %d: total %d, committed increments sum to %d", key, views, want)
			}
		}
		h.Logf("%d transactions were victims", h.retried.Load())
	})
}

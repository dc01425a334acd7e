package rollup

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

// workers keep rolling up, without a pause, until the function they return is
// called. They share one lease. Moved is how many slot rows they have moved.
func workers(t testing.TB, p *twin.Pair, n int) (moved *atomic.Int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	moved = new(atomic.Int64)
	for range n {
		c := twin.Connector(t, p)
		wg.Go(func() {
			if err := slotsql.RunRollUp(
				ctx,
				c,
				slotsql.RollUpOptions{
					Interval: time.Millisecond,
					Idle:     5 * time.Millisecond,
					Lease:    time.Second,
					Pass: func(r slotsql.RollUpReport, err error) {
						moved.Add(int64(r.Moved()))
						for _, tr := range r.Tables {
							if tr.Err != nil {
								t.Errorf("%s: %v", tr.Table, tr.Err)
							}
						}
						if err != nil && !conflict(err) {
							t.Errorf("a pass: %v", err)
						}
					},
				},
			); err != nil {
				t.Error(err)
			}
		})
	}
	return moved, func() {
		cancel()
		wg.Wait()
	}
}

// conflict reports whether a transaction may be tried again.
func conflict(err error) bool {
	for _, class := range []string{"MySQL 1213", "MySQL 1205", "PostgreSQL 40001", "PostgreSQL 40P01", "PostgreSQL 55P03", "SQLite 5"} {
		if strings.HasPrefix(twin.Class(err), class) {
			return true
		}
	}
	return false
}

const loadKeys = 4

// While slots are rolled up no increment is lost or counted twice, none outside
// transactions fails, and no reader, at either level, sees a total go down.
func TestUnderLoad(t *testing.T) {
	eachLayout(t, func(t *testing.T, dialect, layout string) {
		ddl := []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, title VARCHAR(20))",
			"CREATE TABLE duos (id INT PRIMARY KEY, n INT NOT NULL, m BIGINT NOT NULL)",
		}
		for i := range loadKeys {
			ddl = append(ddl, fmt.Sprintf("INSERT INTO posts VALUES (%d, 0, 't')", i), fmt.Sprintf("INSERT INTO duos VALUES (%d, 0, 0)", i))
		}
		params := map[string]string{"mysql": "", "postgres": "deadlock_timeout=20ms", "sqlite": ""}[dialect]
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  ddl,
			Params:  params,
			Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 8, layout: " + layout + "}, duos: {counters: {n: {}, m: {}}, layout: " + layout + "}}\n",
		})
		p.Wrapped.SetMaxOpenConns(20)
		moved, stop := workers(t, p, 2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { // ends when there has been a roll-up in it, however slow the machine
			defer cancel()
			for begun := time.Now(); time.Since(begun) < loadTime || moved.Load() == 0 && !t.Failed(); time.Sleep(10 * time.Millisecond) {
				if time.Since(begun) > 5*time.Minute {
					t.Error("nothing has been rolled up")
				}
			}
		})
		var views, n, m [loadKeys]atomic.Int64
		until := func(f func()) {
			wg.Go(func() {
				for ctx.Err() == nil && !t.Failed() {
					f()
				}
			})
		}
		addView, addDuo := twin.Placeholders(
			dialect,
			"UPDATE posts SET views = views + 1 WHERE id = ?",
		), twin.Placeholders(dialect, "UPDATE duos SET n = n + 1, m = m + 2 WHERE id = ?")
		for range 3 {
			until(func() {
				k := rand.IntN(loadKeys)
				if _, err := p.Wrapped.ExecContext(t.Context(), addView, k); err != nil {
					t.Errorf("an increment: %v", err)
					return
				}
				views[k].Add(1)
				if _, err := p.Wrapped.ExecContext(t.Context(), addDuo, k); err != nil {
					t.Errorf("an increment of two: %v", err)
					return
				}
				n[k].Add(1)
				m[k].Add(2)
			})
		}
		until(func() { // a client that knows nothing of slots
			k := rand.IntN(loadKeys)
			if _, err := p.Under.ExecContext(t.Context(), addView, k); err != nil {
				t.Errorf("a plain increment: %v", err)
				return
			}
			views[k].Add(1)
			time.Sleep(time.Millisecond)
		})
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
			if dialect == "sqlite" {
				level = sql.LevelDefault
			}
			until(func() {
				tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				if err != nil {
					t.Error(err)
					return
				}
				defer tx.Rollback()
				a, b := rand.IntN(loadKeys), rand.IntN(loadKeys)
				for _, k := range []int{min(a, b), max(a, b)} {
					if _, err := tx.ExecContext(t.Context(), addView, k); err != nil {
						if !conflict(err) {
							t.Errorf("in a transaction: %v", err)
						}
						return
					}
				}
				if rand.IntN(2) == 0 {
					time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
				}
				if rand.IntN(4) == 0 {
					return
				}
				if err := tx.Commit(); err != nil {
					if !conflict(err) {
						t.Errorf("commit: %v", err)
					}
					return
				}
				views[a].Add(1)
				views[b].Add(1)
			})
		}
		until(func() { // drains
			k := rand.IntN(loadKeys)
			if _, err := p.Wrapped.ExecContext(
				t.Context(),
				twin.Placeholders(dialect, "UPDATE posts SET views = views * 1 WHERE id = ?"),
				k,
			); err != nil &&
				!conflict(err) {
				t.Errorf("a drain: %v", err)
			}
			time.Sleep(5 * time.Millisecond)
		})
		readers(t, p, until)
		wg.Wait()
		stop()
		for k := range loadKeys {
			want := fmt.Sprintf("%d %d %d", views[k].Load(), n[k].Load(), m[k].Load())
			q := fmt.Sprintf(
				"SELECT views, (SELECT n FROM duos WHERE id = %d), (SELECT m FROM duos WHERE id = %d) FROM posts WHERE id = %d",
				k,
				k,
				k,
			)
			if got := rows(t, p.Wrapped, q); got != want {
				t.Errorf("key %d: %s, want %s", k, got, want)
			}
			rollUp(t, p)
			if got := rows(t, p.Under, q); got != want {
				t.Errorf("key %d: base values %s, want %s", k, got, want)
			}
		}
		t.Logf("%d increments", views[0].Load()*loadKeys+n[0].Load()*loadKeys)
	})
}

const loadTime = 3 * time.Second

// readers read totals, of one row and of all, at both levels, and compare each
// with the one before.
func readers(t *testing.T, p *twin.Pair, until func(func())) {
	queries := []string{
		"SELECT views FROM posts WHERE id = 1",
		"SELECT SUM(views) FROM posts",
		"SELECT n FROM duos WHERE id = 2",
		"SELECT p.views + d.n + d.m FROM posts p JOIN duos d ON d.id = p.id WHERE p.id = 3",
		"SELECT views FROM posts ORDER BY views DESC LIMIT 1",
	}
	read := func(q interface {
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}, query string) (n int64) {
		if err := q.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		return n
	}
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		if p.Dialect == "sqlite" {
			level = sql.LevelDefault
		}
		last := make([]int64, len(queries))
		until(func() {
			tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: level, ReadOnly: p.Dialect != "sqlite"})
			if err != nil {
				t.Error(err)
				return
			}
			defer tx.Rollback()
			for i, q := range queries {
				n := read(tx, q)
				if n < last[i] {
					t.Errorf("level %v: %s: %d after %d", level, q, n, last[i])
				}
				last[i] = n
			}
			time.Sleep(time.Millisecond)
			for i, q := range queries {
				n := read(tx, q)
				if n < last[i] || level == sql.LevelRepeatableRead && n != last[i] {
					t.Errorf("level %v: %s: %d after %d in one transaction", level, q, n, last[i])
				}
				last[i] = n
			}
		})
		last2 := make([]int64, len(queries))
		until(func() {
			for i, q := range queries {
				n := read(p.Wrapped, q)
				if n < last2[i] {
					t.Errorf("%s: %d after %d", q, n, last2[i])
				}
				last2[i] = n
			}
		})
	}
}

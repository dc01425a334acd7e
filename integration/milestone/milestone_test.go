// Package milestone tests what milestones promise: of all calls in all processes one returns true,
// and the caller's increment is within the stated bound.
package milestone

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

func each(t *testing.T, f func(t *testing.T, dialect string)) {
	for _, d := range []string{"sqlite", "mysql", "postgres"} {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			f(t, d)
		})
	}
}

// posts opens a table of a counter that is in slots, by several processes.
func posts(t *testing.T, dialect string, processes int) (p *twin.Pair, dbs []*sql.DB) {
	t.Helper()
	params := map[string]string{"sqlite": "_pragma=busy_timeout(20000)"}[dialect]
	p = twin.New(t, twin.Options{Dialect: dialect, Params: params,
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)",
			"INSERT INTO posts VALUES (1, 0)",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 16, placement: connection}}\n",
	})
	for range processes {
		db := sql.OpenDB(twin.Connector(t, p))
		t.Cleanup(func() { _ = db.Close() })
		dbs = append(dbs, db)
	}
	return p, dbs
}

const total = "SELECT views FROM posts WHERE id = 1"

// asked is one increment and its question. Its number is one of first to last, and others are the
// increments that may have been committed between it and the answer.
type asked struct {
	first, last, others int64
	told                bool
}

// Processes create the milestone at the same time, increment and ask: one call returns true, within the bound.
func TestBound(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		_, dbs := posts(t, dialect, 3)
		const clients, rounds, at = 4, 25, 150
		var started, finished atomic.Int64
		var mu sync.Mutex
		var all []asked
		var wg sync.WaitGroup
		for _, db := range dbs {
			m := slotsql.NewMilestone("one", at, total)
			for range clients {
				wg.Go(func() {
					if err := m.Create(t.Context(), db); err != nil {
						t.Error(err)
						return
					}
					for range rounds {
						var a asked
						before := finished.Load()
						a.first = before + 1
						started.Add(1)
						if _, err := db.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
							t.Error(err)
							return
						}
						a.last = started.Load()
						finished.Add(1)
						var err error
						if a.told, err = m.Reached(t.Context(), db); err != nil {
							t.Error(err)
							return
						}
						a.others = started.Load() - before - 1
						mu.Lock()
						all = append(all, a)
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		told, most := 0, int64(0)
		for _, a := range all {
			most = max(most, a.others)
		}
		for _, a := range all {
			if !a.told {
				continue
			}
			if told++; a.last < at-most || a.first > at+most {
				t.Errorf("told is one of the increments %d to %d; the bound is %d", a.first, a.last, most)
			}
		}
		if told != 1 || len(all) != 3*clients*rounds {
			t.Errorf("%d of %d were told", told, len(all))
		}
	})
}

// A single caller gets true for exactly the increment that has reached the number, also when it was
// passed by more than one, and each milestone by itself.
func TestExact(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		_, dbs := posts(t, dialect, 1)
		db := dbs[0]
		var told []string
		marks := map[int64]*slotsql.Milestone{}
		for _, at := range []int64{1, 6, 7, 20} {
			marks[at] = slotsql.NewMilestone(fmt.Sprintf("it's %d", at), at, total)
			if err := marks[at].Create(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		}
		views := 0
		for _, by := range []int{1, 4, 1, 3, 5, 5, 5} {
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf("UPDATE posts SET views = views + %d WHERE id = 1", by)); err != nil {
				t.Fatal(err)
			}
			views += by
			for _, at := range []int64{1, 6, 7, 20} {
				if yes, err := marks[at].Reached(t.Context(), db); err != nil {
					t.Fatal(err)
				} else if yes {
					told = append(told, fmt.Sprintf("%d at %d", at, views))
				}
			}
		}
		if got := strings.Join(told, ", "); got != "1 at 1, 6 at 6, 7 at 9, 20 at 24" {
			t.Error(got)
		}
	})
}

// After true in a transaction that rolls back, the next call gets true, in this process or another.
// And a milestone without its row is an error, not false.
func TestRollback(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, dbs := posts(t, dialect, 2)
		if _, err := p.Under.ExecContext(t.Context(), "UPDATE posts SET views = 10"); err != nil {
			t.Fatal(err)
		}
		none := slotsql.NewMilestone("none", 5, total)
		first, second := slotsql.NewMilestone("one", 5, total), slotsql.NewMilestone("one", 5, total)
		if err := first.Create(t.Context(), dbs[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := none.Reached(t.Context(), dbs[0]); err == nil || !strings.Contains(err.Error(), "Create") {
			t.Errorf("without a row: %v", err)
		}
		tx, err := dbs[0].BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{true, false} {
			if yes, err := first.Reached(t.Context(), tx); err != nil || yes != want {
				t.Errorf("in the transaction: %v, %v", yes, err)
			}
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if yes, err := second.Reached(t.Context(), dbs[1]); err != nil || !yes {
			t.Errorf("another process, after the rollback: %v, %v", yes, err)
		}
		for range 2 {
			if yes, err := first.Reached(t.Context(), dbs[0]); err != nil || yes {
				t.Errorf("again: %v, %v", yes, err)
			}
		}
		missing := slotsql.NewMilestone("one", 5, "SELECT views FROM posts WHERE id = 9")
		if _, err := missing.Reached(t.Context(), dbs[0]); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("without a post: %v", err)
		}
	})
}

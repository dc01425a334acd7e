package session

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// An increment whose WHERE looks at an ordinary column keeps others from changing
// the row until its transaction ends, and waits for whichever session has changed it: a row
// that is closed is not counted any more.
func TestPredicateHoldsRow(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, map[string]string{"mysql": "innodb_lock_wait_timeout=0", "postgres": "lock_timeout=100ms"}[dialect])
		one, two := pinned(t, p), pinned(t, p)
		for _, increment := range []string{
			"UPDATE posts SET views = views + 1 WHERE id = 1 AND title = 'one'",
			"UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1 AND (title = 'one' OR title IS NULL)",
			"UPDATE posts SET views = views + 1 WHERE id = 1 AND likes IS NOT NULL AND EXISTS (SELECT 1 FROM log WHERE note = title) OR id = 1 AND title = 'one'",
		} {
			const change = "UPDATE posts SET title = 'two' WHERE id = 1"
			for range 2 { // the second time its slot row is known
				for _, statements := range [][2]string{{increment, change}, {change, increment}} {
					one.same(t, twin.Statement{SQL: "BEGIN"})
					one.same(t, twin.Statement{SQL: statements[0]})
					two.same(t, twin.Statement{SQL: statements[1]}) // lock timeout
					one.same(t, twin.Statement{SQL: "ROLLBACK"})
					two.same(t, twin.Statement{SQL: totals})
					one.same(t, twin.Statement{SQL: "BEGIN"})
					one.same(t, twin.Statement{SQL: statements[0]})
					one.same(t, twin.Statement{SQL: "COMMIT"})
					two.same(t, twin.Statement{SQL: statements[1]})
					two.same(t, twin.Statement{SQL: totals})
					one.same(t, twin.Statement{SQL: "UPDATE posts SET title = 'one' WHERE id = 1"})
				}
				one.same(t, twin.Statement{SQL: increment})
			}
		}
	})
}

// Transactions that count a row with a predicate and then change another column of it
// meet as often as they like: the statement learns to lock first.
func TestPredicateThenChange(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, map[string]string{"postgres": "deadlock_timeout=20ms"}[dialect])
		var conflicts atomic.Int64
		const clients, each = 8, 12
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for done := 0; done < each; {
					err := countAndChange(t.Context(), p.Wrapped)
					switch {
					case err == nil:
						done++
					case conflict(err):
						conflicts.Add(1)
					default:
						t.Errorf("%v (%s)", err, twin.Class(err))
						return
					}
				}
			})
		}
		wg.Wait()
		if n := conflicts.Load(); n > clients {
			t.Errorf("%d conflicts", n)
		}
		if got, want := twin.Rows(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"), fmt.Sprint(10+clients*each); got != want {
			t.Errorf("%s counted, want %s", got, want)
		}
	})
}

func countAndChange(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, query := range []string{"UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> 'closed'", "UPDATE posts SET title = 'two' WHERE id = 1"} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return tx.Commit()
}

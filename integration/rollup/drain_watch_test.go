package rollup

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A drain beside applications that count in slots always says so, and only of
// the table that they count in.
func TestDrainTellsWhoCounts(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, _ := drainPair(t, dialect)
		execAll(t, p.Wrapped, "UPDATE pages SET hits = hits + 1 WHERE site = 1 AND path = '/a'")
		var stop atomic.Bool
		var wg sync.WaitGroup
		for client := range 8 {
			wg.Go(func() {
				q := []string{"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 3"}[client%2]
				for !stop.Load() {
					if _, err := p.Wrapped.ExecContext(t.Context(), q); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 10 {
			reports, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{})
			if err != nil || len(reports) != 2 {
				t.Errorf("%+v, %v", reports, err)
				break
			}
			for _, r := range reports {
				if (r.Refilled > 0) != (r.Table == "posts") {
					t.Errorf("table %s: %d slot rows have come", r.Table, r.Refilled)
				}
				if r.Empty.IsZero() {
					t.Errorf("table %s is drained, and was never empty", r.Table)
				}
			}
		}
		stop.Store(true)
		wg.Wait()
		reports, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{})
		if err != nil || reports[0].Refilled+reports[1].Refilled > 0 {
			t.Errorf("no session counts any more: %+v, %v", reports, err)
		}
	})
}

// An increment that is not committed yet when the tables are looked at is waited
// for: it is reported, or it came before the drain and is in the base row.
func TestDrainWaitsForIncrementsInFlight(t *testing.T) {
	// SQLite's one writer would keep the drain itself out
	twin.Servers(t, func(t *testing.T, dialect string) {
		p, plain := drainPair(t, dialect)
		execAll(t, p.Wrapped, "UPDATE pages SET hits = hits + 1 WHERE site = 1 AND path = '/a'")
		var reports []slotsql.DrainReport
		var failed error
		done := make(chan struct{})
		go func() {
			defer close(done)
			reports, failed = slotsql.Drain(
				t.Context(),
				twin.Connector(t, p),
				slotsql.DrainOptions{Tables: []string{"pages"}, Watch: 3 * time.Second},
				// It ends when it sees the increment, unless the roll-up before it has moved that as well.
			)
		}()
		for deadline := time.Now().Add(time.Minute); rows(t, plain, "SELECT COUNT(*) FROM pages_slots") != "0"; {
			if time.Now().After(deadline) {
				t.Fatal("it is not drained")
			}
		}
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		execAll(t, tx, "UPDATE pages SET hits = hits + 1 WHERE site = 1 AND path = '/a'")
		over := false
		select {
		case <-done:
			over = true // before the increment, on a machine that slow
		default:
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		<-done
		if over {
			return
		}
		if failed != nil {
			t.Fatal(failed)
		}
		if got, want := rows(t, plain, "SELECT COUNT(*) FROM pages_slots"), fmt.Sprint(reports[0].Refilled); got != want {
			t.Errorf("%s slot rows, and reported are %s", got, want)
		}
	})
}

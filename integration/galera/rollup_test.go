package galera

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
)

// A roll-up on one node, and then on another one, which takes over while all nodes
// count: what has been acknowledged is counted, once, and no client gets anything
// but conflicts. SKIP LOCKED steps over what is locked on the worker's own node
// only; what others have written is a conflict, of which one side gets an error, and the
// worker's batch is undone and tried again.
//
// Every increment goes to a slot, so that there is something to move whenever a
// worker looks: with the default placement that would be for chance to decide.
func TestRollUp(t *testing.T) {
	d := newDatabase(t, true)
	d.config += "defaults: {placement: connection}\n"
	ways["a connector per node"](t, d, "")
	before := conflicts()
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	var moved [2]atomic.Int64
	worker := func(node int) (end func()) {
		ctx, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		c := d.connector(t, nodes(t, d, "")[node]).(*slotsql.Connector)
		wg.Go(func() {
			// An error of a pass does not end the worker: it tries again.
			if err := slotsql.RunRollUp(
				ctx,
				c,
				slotsql.RollUpOptions{Interval: time.Millisecond, Pass: func(r slotsql.RollUpReport, err error) {
					moved[node].Add(int64(r.Moved()))
					if err != nil {
						t.Logf("a pass on node %d: %v", node+1, err)
					}
				}},
			); err != nil {
				t.Errorf("the worker on node %d: %v", node+1, err)
			}
		})
		return func() { stop(); wg.Wait() }
	}
	end := worker(0)
	working.Go(func() {
		time.Sleep(3 * time.Second) // about half way; nothing depends on it
		end()
		end = worker(1)
	})
	var c counted
	var alone failures
	f := together(t, d, 150, func(db *sql.DB, _, time int) error {
		page := 1 + rand.IntN(rows)
		if time%5 == 4 {
			err := visit(t.Context(), db, page)
			if err == nil {
				c[page].Add(1)
			}
			return err
		}
		err := affectsOne(db.ExecContext(t.Context(), inc, page))
		if err == nil {
			c[page].Add(1)
		} else {
			alone.add(err)
		}
		return err
	})
	working.Wait()
	for limit := time.Now().Add(5 * time.Minute); moved[1].Load() == 0 && time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		if err := affectsOne(d.dbs[2].ExecContext(t.Context(), inc, 1)); err == nil {
			c[1].Add(1)
		}
	}
	end()
	stop()
	t.Logf(
		"%d of %d have failed: %v; outside transactions: %v; slot rows moved on two nodes: %v; conflicts of batches: %d",
		f.total(),
		clients*150,
		f,
		&alone,
		[]int64{moved[0].Load(), moved[1].Load()},
		conflicts()-before,
	)
	if f.other != nil {
		t.Errorf("failed: %v", f)
	}
	if moved[1].Load() == 0 {
		t.Error("the second worker has moved nothing")
	}
	d.check(t, &c)
}

// conflicts are the batches that another session was in the way of.
func conflicts() (n uint64) {
	for _, s := range slotsql.RollUps() {
		n += s.Conflicts
	}
	return n
}

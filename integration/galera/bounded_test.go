package galera

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const boundedConfig = "version: 1\nauto_migrate: true\ntables: {budgets: {counters: {budget: {min: 0}}}}\n"

// spend is a guarded decrement.
const spend = "UPDATE budgets SET budget = budget - 1 WHERE id = 1 AND budget > 0"

const budgetTotal = "budget + COALESCE((SELECT SUM(budget) FROM budgets_slots s WHERE s.id = budgets.id), 0)"

// newBudget makes a database with one budget.
func newBudget(t testing.TB, wrapped bool, budget int64) *database {
	t.Helper()
	d := newDatabase(t, wrapped)
	d.config = boundedConfig
	db := d.plain(t, 0)
	for _, q := range []string{
		"CREATE TABLE budgets (id BIGINT PRIMARY KEY, name VARCHAR(50), budget BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO budgets VALUES (1, 'one', %d)", budget),
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	for node := range d.dsns {
		d.budgetLeft(t, node)
	}
	return d
}

// budgetLeft is what a node holds, in the base row and in slots, once it has
// applied what other nodes have committed.
func (d *database) budgetLeft(t testing.TB, node int) (n int64) {
	t.Helper()
	total := "budget"
	if d.wrapped && d.dbs != nil {
		total = budgetTotal
	}
	if err := d.plain(t, node).QueryRowContext(t.Context(), "SELECT "+total+" FROM budgets WHERE id = 1").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A process per client is the worst case: none shares a statement with another.
func aProcessPerClient(t testing.TB, d *database, params string) {
	all := nodes(t, d, params)
	for i := range clients {
		d.dbs = append(d.dbs, d.open(t, all[i%len(all)]))
	}
}

// Guarded decrements on all nodes at once take exactly what there is, down to
// the last unit: none fails, and the budget is never below zero on any node. So
// they do beside clients that give back what they have taken.
func TestBoundedDecrements(t *testing.T) {
	all := maps.Clone(ways)
	all["a process per client"] = aProcessPerClient
	for way, open := range all {
		for name, givesBack := range map[string]bool{"taking": false, "giving back": true} {
			t.Run(strings.ReplaceAll(way+"/"+name, " ", "_"), func(t *testing.T) {
				const budget = 300
				d := newBudget(t, true, budget)
				open(t, d, "")
				for _, db := range d.dbs { // the first one makes the table of slots
					if err := db.PingContext(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				watched := d.watchBudget(t)
				c := &customers{d: d, givesBack: givesBack}
				c.spendAll(t)
				watched()
				if c.f.total() > 0 {
					t.Errorf("failed: %v", &c.f)
				}
				given := c.given.Load()
				if n := c.spent.Load(); n > budget+given || !givesBack && n != budget {
					t.Errorf("%d were spent of %d and %d given back", n, budget, given)
				}
				for node := range d.dsns {
					if got, want := d.budgetLeft(t, node), budget+given-c.spent.Load(); got != want {
						t.Errorf("node %d: %d are left, want %d", node+1, got, want)
					}
				}
				c.spendRest(t, nodes(t, d, synced))
				if n := c.spent.Load(); n != budget+given {
					t.Errorf("%d could be spent of %d and %d given back", n, budget, given)
				}
			})
		}
	}
}

// customers spend a budget.
type customers struct {
	d            *database
	givesBack    bool // each fifth unit
	spent, given atomic.Int64
	f            failures
}

// spendAll has clients spend until each of them has been refused a few times.
func (c *customers) spendAll(t *testing.T) {
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			db := c.d.dbs[i%len(c.d.dbs)]
			for mine, refused := 0, 0; refused < 3; {
				ok, err := spends(t.Context(), db)
				switch {
				case err != nil:
					c.f.add(err)
					return
				case !ok:
					refused++
					continue
				}
				c.spent.Add(1)
				if mine++; !c.givesBack || mine%5 > 0 {
					continue
				}
				if err := affectsOne(db.ExecContext(t.Context(), "UPDATE budgets SET budget = budget + 1 WHERE id = 1")); err != nil {
					c.f.add(err)
					return
				}
				c.given.Add(1)
			}
		})
	}
	wg.Wait()
}

// spendRest spends what was given back after others had been refused. Each node
// has to know of all that others have done, so the connections wait for that.
func (c *customers) spendRest(t *testing.T, nodes []driver.Connector) {
	for _, n := range nodes {
		db := c.d.open(t, n)
		for {
			ok, err := spends(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			c.spent.Add(1)
		}
	}
}

// watchBudget looks at the budget on every node until the function that it returns
// is called: neither the total nor the base row is ever below zero.
func (d *database) watchBudget(t *testing.T) (stop func()) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	for node := range d.dsns {
		db := d.plain(t, node)
		wg.Go(func() {
			for {
				var base, total int64
				err := db.QueryRowContext(t.Context(), "SELECT budget, "+budgetTotal+" FROM budgets WHERE id = 1").Scan(&base, &total)
				if err != nil || base < 0 || total < 0 {
					t.Errorf("node %d: the base row has %d, all have %d: %v", node+1, base, total, err)
					return
				}
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	return func() {
		close(done)
		wg.Wait()
	}
}

// spends reports whether the budget had one.
func spends(ctx context.Context, db *sql.DB) (bool, error) {
	res, err := db.ExecContext(ctx, spend)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

package rollup

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// What a migration has created goes again, but not while it holds anything; and
// the plain driver then finds the schema as it was.
func TestMigrateDown(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, plain := drainPair(t, dialect)
		objects := map[string]string{
			"mysql":    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
			"postgres": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1",
			"sqlite":   "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_auto%' ORDER BY 1",
		}[dialect]
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		before := rows(t, plain, objects)
		dropped, err := slotsql.MigrateDown(t.Context(), twin.Connector(t, p))
		if err == nil || !strings.Contains(err.Error(), "posts_slots") || strings.Contains(err.Error(), "pages_slots") ||
			!strings.Contains(err.Error(), "slotsql drain") ||
			len(dropped) > 0 {
			t.Errorf("with slots that hold something: %v, %v", dropped, err)
		}
		if after := rows(t, plain, objects); after != before {
			t.Errorf("there were\n%s\nand are\n%s", before, after)
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		// Slot rows that hold nothing do not count.
		execAll(t, plain, "INSERT INTO pages_slots (site, path, slot, hits) VALUES (1, '/', 0, 0)")
		for range 2 { // it may be run again
			if _, err := slotsql.MigrateDown(t.Context(), twin.Connector(t, p)); err != nil {
				t.Fatal(err)
			}
			if got := rows(t, plain, objects); got != "pages\nposts" {
				t.Errorf("these are left:\n%s", got)
			}
		}
		if got := rows(t, plain, "SELECT views FROM posts WHERE id = 1"); got != "11" {
			t.Errorf("total %s", got)
		}
		if created, err := slotsql.Migrate(t.Context(), twin.Connector(t, p)); err != nil || len(created) < 2 {
			t.Errorf("and up again: %v, %v", created, err)
		}
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		if got := rows(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); got != "12" {
			t.Errorf("total %s", got)
		}
	})
}

// No increment is dropped with its slot: one that comes while tables are dropped
// is in the total, or has failed.
func TestMigrateDownUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, plain := drainPair(t, dialect)
		var counted atomic.Int64
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for !stop.Load() {
					if _, err := p.Wrapped.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1"); err == nil {
						counted.Add(1)
					}
				}
			})
		}
		var gone bool
		for range 8 {
			if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{Tables: []string{"posts"}}); err != nil {
				continue // it has been dropped, or is about to be made anew
			}
			_, err := slotsql.MigrateDown(t.Context(), twin.Connector(t, p))
			gone = gone || err == nil
		}
		stop.Store(true)
		wg.Wait()
		t.Logf("%d counted, dropped at least once: %v", counted.Load(), gone)
		if _, err := slotsql.Migrate(t.Context(), twin.Connector(t, p)); err != nil {
			t.Fatal(err)
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		var views int64
		if err := plain.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&views); err != nil || views != 10+counted.Load() {
			t.Errorf("%d, want %d: %v", views, 10+counted.Load(), err)
		}
	})
}

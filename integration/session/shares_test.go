package session

import (
	"slices"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Each increment has run alone, in a group, in a slot, or has fallen back: the status page shows their shares of all.
func TestSharesOfIncrements(t *testing.T) {
	for _, placement := range []string{"adaptive", "connection"} {
		each(t, func(t *testing.T, dialect string) {
			table := "shares_" + placement
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE " + table + " (id INT PRIMARY KEY, views INT)",
					"INSERT INTO " + table + " VALUES (1, 0), (2, 0), (3, NULL)",
				},
				Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 8, placement: " + placement + "}\ntables: {" + table + ": {counters: {views: {}}}}\n",
			})
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for i := range 40 {
						if _, err := p.Wrapped.ExecContext(t.Context(), "UPDATE "+table+" SET views = views + 1 WHERE id = "+[]string{"1", "1", "2", "3", "4"}[i%5]); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			var all, shares uint64
			for _, s := range slotsql.Stats() {
				if s.Dialect == dialect && s.Class == "additive" && slices.Contains(s.Tables, table) {
					all += s.Statements
					shares += s.Cold + s.Grouped + s.Slotted + s.Fallbacks
				}
			}
			if all == 0 || all != shares {
				t.Errorf("%s: %d increments, and %d ways that they took", placement, all, shares)
			}
		})
	}
}

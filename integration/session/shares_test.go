package session

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Each increment has run alone, in a group, in a slot, or has fallen back, and each guarded one or draw alone, in a group or
// behind a drain: the status page shows their shares of all.
func TestSharesOfIncrements(t *testing.T) {
	for name, options := range map[string]string{
		"adaptive": "slots: 8, placement: adaptive", "connection": "slots: 8, placement: connection", "none": "slots: 0",
	} {
		each(t, func(t *testing.T, dialect string) {
			table := "shares_" + name
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE " + table + " (id INT PRIMARY KEY, views INT)",
					"INSERT INTO " + table + " VALUES (1, 0), (2, 0), (3, NULL)",
				},
				Config: "version: 1\nauto_migrate: true\ndefaults: {" + options + "}\ntables: {" + table + ": {counters: {views: {}}}}\n",
			})
			add := "UPDATE " + table + " SET views = views + 1 WHERE id = "
			draw := func(id string) string { return add + id + " RETURNING views" }
			if dialect == "mysql" {
				draw = func(id string) string {
					return strings.Replace(add, "views + 1", "LAST_INSERT_ID(views + 1)", 1) + id
				}
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for i := range 60 {
						id := []string{"1", "1", "2", "3", "4"}[i%5]
						for _, query := range []string{add + id, add + id + " AND views >= 0", draw(id)} {
							if i >= 40 && query != add+id {
								continue
							}
							if _, err := p.Wrapped.ExecContext(t.Context(), query); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			wg.Wait()
			classes := map[string]bool{}
			for _, s := range slotsql.Stats() {
				if s.Dialect != dialect || !slices.Contains(s.Tables, table) {
					continue
				}
				classes[s.Class] = true
				shares := s.Cold + s.Grouped + s.Slotted + s.Fallbacks
				if s.Scope != "" && s.Drains > 0 { // groups drain, too
					shares = min(shares+s.Drains, s.Statements)
				}
				if s.Statements == 0 || s.Statements != shares {
					t.Errorf("%s: %d statements of class %s, and %d ways that they took", name, s.Statements, s.Class, shares)
				}
			}
			if !classes["draw"] || len(classes) < 2 {
				t.Errorf("%v", classes)
			}
		})
	}
}

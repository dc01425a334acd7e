package shadow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// layouts are configurations of a table NAME, and its columns. There is always a
// row with 10 views, and another one where the key allows it.
var layouts = map[string]struct{ config, columns, where string }{
	"shared": {
		"{layout: shared, counters: {views: {record_type: 1}, likes: {record_type: 2}}, MODE}",
		"id INTEGER PRIMARY KEY, ",
		" WHERE id = 1",
	},
	"journal": {"{layout: journal, counters: {views: , likes: }, MODE}", "id INTEGER PRIMARY KEY, ", " WHERE id = 1"},
	"no key":  {"{key: [], counters: {views: , likes: }, MODE}", "", ""},
}

// Whatever the layout, a process that has a table in shadow runs its statements as
// they are, counts what would become of them, finds its reads to be the rewritten
// ones while slots hold nothing, and behind when another process has the table on;
// and its roll-up and drain look after the slots.
func TestLayoutsInShadow(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for name, l := range layouts {
			t.Run(name, func(t *testing.T) {
				table := fmt.Sprintf("laid%d", tables.Add(1))
				config := func(mode string) string {
					return "version: 1\nauto_migrate: true\n" + all + "tables:\n  " + table + ": " +
						strings.Replace(l.config, "MODE", "mode: "+mode, 1) + "\n"
				}
				id := ""
				if l.columns != "" {
					id = "1, "
				}
				schema := []string{
					"CREATE TABLE " + table + " (" + l.columns + "views INTEGER NOT NULL, likes INTEGER NOT NULL)",
					"INSERT INTO " + table + " VALUES (" + id + "10, 1)",
				}
				p := twin.New(t, twin.Options{Dialect: dialect, Config: config("on"), Schema: schema})
				count := "UPDATE " + table + " SET views = views + 1, likes = likes + 2" + l.where
				read := "SELECT views, likes FROM " + table + l.where
				if _, err := slotsql.Migrate(t.Context(), connector(t, p, config("shadow"))); err != nil {
					t.Fatal(err)
				}
				shadow := open(t, p, config("shadow"))

				exec(t, shadow, count)
				is(t, "in shadow", rows(t, shadow, read), "11 3")
				is(t, "below", rows(t, p.Under, read), "11 3")
				until(t, shadow, "a comparison", func() bool {
					is(t, "in shadow", rows(t, shadow, read), "11 3")
					return counts(dialect, table, "read").Compared > 0 && counts(dialect, table, "additive").Statements > 0
				})
				if c := counts(dialect, table, ".*"); c.Differences+c.Behind > 0 || failed(c) ||
					counts(dialect, table, "additive").Statements != 1 {
					t.Errorf("%+v", c)
				}

				exec(t, p.Wrapped, count)
				is(t, "on", rows(t, p.Wrapped, read), "12 5")
				until(t, shadow, "a comparison that is behind", func() bool {
					is(t, "in shadow", rows(t, shadow, read), "11 3")
					return counts(dialect, table, "read").Behind > 0
				})
				if c := counts(dialect, table, ".*"); c.Differences != c.Behind || failed(c) {
					t.Errorf("%+v", c)
				}

				for _, mode := range []string{"shadow", "off"} {
					c := connector(t, p, config(mode))
					report, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{})
					if err != nil || !report.Held || report.Moved() == 0 {
						t.Errorf("roll-up with mode %s: %+v, %v", mode, report, err)
					}
					exec(t, p.Wrapped, count)
					exec(t, open(t, p, config(mode)), count)
				}
				if _, err := slotsql.Drain(t.Context(), connector(t, p, config("off")), slotsql.DrainOptions{}); err != nil {
					t.Fatal(err)
				}
				is(t, "in the end", rows(t, p.Under, read), "16 13")
				is(t, "in the end, on", rows(t, p.Wrapped, read), "16 13")
				if l.where == "" {
					return
				}
				// Slots go with their row when a process that has the table on deletes it.
				exec(t, p.Wrapped, count, "DELETE FROM "+table+l.where)
				exec(t, shadow, "INSERT INTO "+table+" VALUES (1, 5, 5)")
				is(t, "a new row", rows(t, p.Wrapped, read), "5 5")
			})
		}
	})
}

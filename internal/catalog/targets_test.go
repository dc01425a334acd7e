package catalog

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// targeting is a dialect whose foreign keys refer to the columns that a test says.
type targeting struct {
	*postgres.Dialect
	columns []string
	looks   int
}

func (d *targeting) Targets(_ context.Context, _ dialect.Session, tables []*schema.Table) error {
	d.looks++
	for _, t := range tables {
		t.Target(d.columns...)
	}
	return nil
}

// Foreign keys to counters are looked for now and then, and only where a counter is in an index.
func TestSameTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &targeting{Dialect: postgres.New(), columns: []string{"n"}}
		c, parent := stuckCatalog(t)
		c.Dialect = d
		v := NewView(c, parent)
		table := &schema.Table{Name: "grp", Columns: []schema.Column{{Name: "id"}, {Name: "n"}}}
		table.Index("id")
		table.Counter = &schema.Counter{Key: []string{"id"}, Counters: []string{"n"}}
		sc := newSchema(c)
		sc.Tables = []*schema.Table{table}
		c.Home.Facts = sc
		look := func(what string, want bool, looks int) {
			t.Helper()
			if same, err := c.sameTargets(t.Context(), v); err != nil || same != want || d.looks != looks {
				t.Errorf("%s: %v, %v after %d looks, not %v after %d", what, same, err, d.looks, want, looks)
			}
		}
		look("a counter without an index", true, 0)
		table.Index("n")
		look("too soon", true, 0)
		time.Sleep(lookTargets)
		look("another client's foreign key", false, 1)
		if len(table.ForeignKeys.Targets) > 0 {
			t.Error("the look has changed the facts in use")
		}
		table.Target("n")
		time.Sleep(lookTargets)
		look("none since", true, 2)
		d.columns = nil
		time.Sleep(lookTargets)
		look("dropped", false, 3)
	})
}

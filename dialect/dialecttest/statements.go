package dialecttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// createPosts makes a counter table that every engine takes.
const createPosts = "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, grp INT NOT NULL, views INT NOT NULL, likes BIGINT NOT NULL, best INT NULL, seen VARCHAR(20) NULL)"

// posts returns the facts of that table that the pure part needs.
func posts() *schema.Table {
	integer := func(bits int) schema.NumericType { return schema.NumericType{Numeric: schema.Integer, Bits: bits} }
	return &schema.Table{
		Name: "posts",
		Columns: []schema.Column{
			{Name: "id", Type: "bigint", NumericType: integer(64)},
			{Name: "grp", Type: "int", NumericType: integer(32)},
			{Name: "views", Type: "int", NumericType: integer(32)},
			{Name: "likes", Type: "bigint", NumericType: integer(64)},
			{Name: "best", Type: "int", Nullable: true, NumericType: integer(32)},
			{Name: "seen", Type: "varchar(20)", Nullable: true},
		},
		Uniques: []schema.Unique{{Primary: true, Columns: []string{"id"}}},
	}
}

// layouts are the ways in which slots of that table are kept.
var layouts = map[string]func(*schema.Counter){
	"dedicated": func(c *schema.Counter) { c.Slots = 8 },
	"companions": func(c *schema.Counter) {
		c.Slots = 8
		c.Companions = []schema.Companion{{Column: "best", Merge: schema.Max}, {Column: "seen", Merge: schema.Latest}}
	},
	"journal": func(c *schema.Counter) { c.Layout = schema.LayoutJournal },
	"shared": func(c *schema.Counter) {
		c.Slots, c.Layout, c.SlotTable.Column = 8, schema.LayoutShared, "slot"
		c.Shared = &schema.Shared{Type: "type", ID: "id", Count: "count", Records: map[string]int64{"views": 1, "likes": 2}}
	},
}

// counter configures the table, as its facts say it is.
func counter(t *schema.Table, layout func(*schema.Counter)) *schema.Table {
	t.Counter = &schema.Counter{
		Key: []string{"id"}, Counters: []string{"views", "likes"},
		SlotTable: schema.SlotTable{Schema: t.Schema, Name: "posts_slots", Column: "slot"},
	}
	layout(t.Counter)
	return t
}

// Marks, as numbers that occur nowhere else.
const (
	whereMark, slotMark = "p.id = 4711", "4712"
	firstDelta          = "4713"
	secondDelta         = "4714"
)

// incrementOf is the increment of a row by slots, of both counters but where a slot
// row holds one only.
func incrementOf(t *schema.Table, where, slot string, deltas ...string) rewrite.IncrementSQL {
	in := rewrite.IncrementSQL{Ref: "posts AS p", Qualifier: "p", Where: where, Slot: slot, Clustered: true}
	for i, delta := range deltas {
		in.Deltas = append(in.Deltas, rewrite.Delta{Column: t.Counter.Counters[i], SQL: delta})
	}
	return in
}

// statements holds that what the dialect writes is SQL that it reads itself, with
// everything in it that it was given.
func (o Options) statements(t *testing.T) {
	d := o.Dialect
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			tab := counter(posts(), layout)
			deltas := []string{firstDelta, secondDelta}
			if tab.Counter.Shared != nil {
				deltas = deltas[:1]
			}
			in := incrementOf(tab, whereMark, slotMark, deltas...)
			o.reads(t, "Increment", d.Increment(tab, in), append([]string{whereMark, slotMark}, deltas...)...)
			add := rewrite.AddSQL{Key: []string{"4711"}, Slot: slotMark, Deltas: in.Deltas}
			if sql := d.Add(tab, add); sql != "" {
				o.reads(t, "Add", sql, append([]string{"4711", slotMark}, deltas...)...)
			}
			scope := rewrite.Scope{Ref: "posts AS p", Qualifier: "p", Where: whereMark}
			for _, s := range []rewrite.Scope{scope, {}} {
				for _, sql := range d.Lock(tab, s) {
					o.reads(t, "Lock", sql)
				}
				for _, sql := range d.Fold(tab, s) {
					o.reads(t, "Fold", sql)
				}
			}
			if all := strings.Join(append(d.Lock(tab, scope), d.Fold(tab, scope)...), "\n"); !strings.Contains(all, whereMark) {
				t.Errorf("a drain of some rows does not say which: %s", all)
			}
			for _, c := range tab.Counter.Counters {
				o.reads(t, "Total", "SELECT "+d.Total(tab, "p", c, false)+" FROM posts AS p")
				o.reads(t, "Total to compare", "SELECT 1 FROM posts AS p WHERE "+d.Total(tab, "p", c, true)+" > 1")
			}
			for _, part := range []dialect.RollUpPart{{Limit: 10}, {After: true, Limit: 10}, {Between: true, Limit: 10, Rows: 50}} {
				o.rollUpReads(t, tab, part)
			}
		})
	}
}

// rollUpReads holds that the statements of a roll-up are SQL, and take arguments
// that there are.
func (o Options) rollUpReads(t *testing.T, tab *schema.Table, part dialect.RollUpPart) {
	r := o.Dialect.RollUp(tab, part)
	bounds := 2 * len(tab.Counter.Key)
	for _, job := range []struct {
		name   string
		steps  []dialect.Step
		picked bool // takes what Pick returns
	}{
		{"Find", []dialect.Step{r.Find, r.Idle, r.Orphans}, false},
		{"Pick", []dialect.Step{r.Pick, r.Left, r.Gather}, false},
		{"Move", slices.Concat(r.Move, r.Keep, r.Merge, []dialect.Step{r.Unmoved}), true},
		{"Sweep", slices.Concat(r.Sweep, r.Reclaim), false},
	} {
		for _, s := range job.steps {
			if s.SQL == "" {
				continue
			}
			o.reads(t, job.name, s.SQL)
			for _, arg := range s.Args {
				if arg < 0 || arg >= bounds && !job.picked {
					t.Errorf("%s takes argument %d: %s", job.name, arg, s.SQL)
				}
			}
		}
	}
}

// reads holds that a statement is one for the dialect's parser, and that what the
// dialect was given is in it.
func (o Options) reads(t *testing.T, what, sql string, marks ...string) {
	t.Helper()
	for _, m := range marks {
		if !strings.Contains(sql, m) {
			t.Errorf("%s has lost %s: %s", what, m, sql)
		}
	}
	if slices.ContainsFunc(o.Unread, func(word string) bool { return strings.Contains(sql, word) }) {
		return
	}
	if _, err := o.Dialect.Parse(sql); err != nil {
		t.Errorf("%s does not parse: %v\n%s", what, err, sql)
	}
}

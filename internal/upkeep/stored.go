package upkeep

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Stored says what of slotsql's is to be stored in the database, for triggers and for programs
// without slotsql: see slotsql.Stored.
type Stored struct {
	Functions, Views bool
	// Definer: functions have the rights of their owner, rather than those of their caller.
	Definer bool
}

// storedObject is a function or view as slotsql creates it.
type storedObject struct {
	t      *schema.Table
	kind   dialect.StoredKind
	name   string
	mark   string // the word in its definition that tells it from an older one
	create []string
	notes  []string
	none   string // why there is none

	counters []string // of a function
}

// storedObjects returns what the tables have of each kind. That of a kind that the engine lacks is
// an error.
func storedObjects(d dialect.Dialect, tables []catalog.CheckedTable, what Stored) (out []storedObject, err error) {
	r, err := storedSQL(d)
	if err != nil {
		return nil, err
	}
	w, functions := r.(dialect.FunctionWriter)
	if what.Functions && !functions {
		return nil, fmt.Errorf("slotsql: %s has no functions that could count in slots", d.Name())
	}
	for _, t := range tables {
		if what.Functions {
			out = append(out, countingFunction(w, d, t.Table, what.Definer))
		}
		if what.Views {
			out = append(out, totalsView(r, d, t.Table))
		}
	}
	return out, nil
}

// storedSQL returns what writes and reads functions and views.
func storedSQL(d dialect.Dialect) (dialect.StoredSQL, error) {
	s, ok := d.(dialect.Storer)
	if !ok {
		return nil, fmt.Errorf("slotsql: nothing can be stored in a database of %s", d.Name())
	}
	return s.Stored(), nil
}

// markPrefix begins a mark; a hash follows.
const markPrefix = "slotsql_made_"

// markOf is the mark of statements that are written without one.
func markOf(statements []string) string {
	h := fnv.New32a()
	h.Write([]byte(strings.Join(statements, ";")))
	return fmt.Sprintf("%s%08x", markPrefix, h.Sum32())
}

// isMarked reports whether a definition has a mark.
func isMarked(definition string) bool {
	for {
		_, rest, found := strings.Cut(definition, markPrefix)
		if !found || len(rest) < 8 {
			return false
		}
		if strings.Trim(rest[:8], "0123456789abcdef") == "" {
			return true
		}
		definition = rest
	}
}

// functionName is the name of a table's counting function.
func functionName(d dialect.Dialect, t *schema.Table) string {
	return d.NameRules().Derived(t.Name, "_count")
}

func countingFunction(w dialect.FunctionWriter, d dialect.Dialect, t *schema.Table, definer bool) storedObject {
	f := dialect.CountingFunction{Name: functionName(d, t)}
	o := storedObject{t: t, kind: dialect.StoredFunction, name: f.Name, none: w.NoCountingFunction(t)}
	for _, c := range t.Counter.Counters {
		switch ok, why := t.Slottable(c); {
		case t.Counter.Unslotted.IsPassive(c) || t.Counter.Unslotted.IsRetired(c):
		case t.Counter.TicketsOf(c) != nil:
			o.notes = append(o.notes, "Without "+c+": its numbers are leased in blocks.")
		case !ok:
			o.notes = append(o.notes, "Without "+c+": "+why+".")
		default:
			f.Counters = append(f.Counters, c)
		}
	}
	switch {
	case o.none != "":
	case t.Counter.Single():
		o.none = "the table has no key"
	case len(f.Counters) == 0:
		o.none = "none of its counters is slotted"
	}
	if o.none != "" {
		return o
	}
	f.Mark = markOf(w.CountingFunction(t, f))
	if f.Definer = definer; definer {
		f.Mark += "_definer"
	}
	o.counters = f.Counters
	o.mark, o.create = f.Mark, w.CountingFunction(t, f)
	for _, right := range w.CountingRights(t, f) {
		o.notes = append(o.notes, right+";")
	}
	return o
}

// totalsView makes a view with the table's columns, in their order, and totals in place of base
// values. The mark is the name of the base row in it.
func totalsView(r dialect.StoredSQL, d dialect.Dialect, t *schema.Table) storedObject {
	o := storedObject{t: t, kind: dialect.StoredView, name: d.NameRules().Derived(t.Name, catalog.TotalsEnding)}
	in := func(name string) string {
		if t.Schema == "" {
			return d.Quote(name)
		}
		return d.Quote(t.Schema) + "." + d.Quote(name)
	}
	create := func(row string) []string {
		var columns []string
		for i := range t.Columns {
			c := &t.Columns[i]
			value := row + "." + d.Quote(c.Name)
			if t.IsSlotted(c.Name) {
				value = d.Total(t, row, c.Name, true)
			}
			if !c.Hidden {
				columns = append(columns, value+" AS "+d.Quote(c.Name))
			}
		}
		return r.CreateView(t, o.name, "SELECT "+strings.Join(columns, ",\n  ")+"\nFROM "+in(t.Name)+" AS "+row)
	}
	o.mark = markOf(create(markPrefix))
	o.create = create(o.mark)
	if _, accounts := d.(dialect.RightsReader); accounts {
		o.notes = []string{"GRANT SELECT ON " + in(o.name) + " TO reports;"}
	}
	return o
}

// StoredDDL returns the statements that create the functions and views: see slotsql.StoredDDL.
func StoredDDL(ctx context.Context, s *catalog.Catalog, what Stored) (ddl []string, err error) {
	err = withChecked(ctx, s, func(cn *catalog.View, checked []catalog.CheckedTable) error {
		ddl, err = CreateStored(cn.Catalog.Dialect, checked, what)
		return err
	})
	return ddl, err
}

// openLearned opens a connection whose dialect knows the server: what functions look like depends on it.
func openLearned(ctx context.Context, s *catalog.Catalog) (*catalog.View, error) {
	cn, err := catalog.OpenView(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := s.LearnServer(ctx, cn.Parent); err != nil {
		_ = cn.Parent.Close()
		return nil, err
	}
	return cn, nil
}

// withChecked opens a connection and finds the configured tables, with what their slot tables tell of them.
func withChecked(ctx context.Context, s *catalog.Catalog, do func(*catalog.View, []catalog.CheckedTable) error) error {
	cn, err := openLearned(ctx, s)
	if err != nil {
		return err
	}
	defer cn.Parent.Close()
	checked, problems, err := cn.CheckTables(ctx)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return catalog.AsConfigError(problems)
	}
	for _, t := range checked { // what they tell of the table: other counters, no foreign key
		if t.Table.Counter.Slots == 0 {
			continue // a table by the name of its slot table is another program's
		}
		if _, err := cn.SlotTable(ctx, t); err != nil {
			return err
		}
	}
	return do(cn, checked)
}

// CreateStored returns the statements that create the functions and views of these tables. A table
// that can have no function has a comment that says why.
func CreateStored(d dialect.Dialect, checked []catalog.CheckedTable, what Stored) (out []string, err error) {
	objects, err := storedObjects(d, slotted(checked), what)
	for _, o := range objects {
		if o.none != "" {
			out = append(out, commented([]string{"No function for " + o.t.Name + ": " + o.none + "."}))
			continue
		}
		out = append(out, commented(o.notes)+o.create[0])
		out = append(out, o.create[1:]...)
	}
	return out, err
}

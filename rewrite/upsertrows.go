package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An upsert changes, and a REPLACE removes, no row but one that holds a unique
// key of its VALUES. So when it has to drain, it drains these: the keys are
// written into the drain's predicate, each compared as the engine would find
// the row.
//
// What is special about them is that a row may not be there yet. Nothing can be
// locked then, and between the drain and the statement another transaction may
// insert the row and increment it. NewRows says how that is noticed.

// NewRows is what a drain does in addition when rows that it covers may not
// exist.
type NewRows struct {
	// Given is what is demanded of arguments for the drain to cover the rows of
	// the keys; else All is what drains.
	Inserted []InsertedArg
	All      *DrainTable
	// Rows is the number of keys that the statement gives. When Lock finds fewer
	// rows, the statement may meet one that has not been drained. 0 where none can come
	// to be in between.
	Rows int
	// Probe counts the rows that exist, for transactions of slotsql's own: with
	// none there is nothing to lock. Nil where Lock is as good.
	Probe *Bound
}

// maxGivenRows is up to how many rows of VALUES a drain names their keys.
const maxGivenRows = 256

// drainInserted drains for an INSERT that changes or replaces rows.
func (ins insertion) drainInserted(reason string) *Plan {
	tables := ins.p.mentions.tables()
	plan := &Plan{Class: Drain, Reason: reason, Tables: tableNames(tables)}
	rows, keys, given := ins.givenRows()
	for _, t := range tables {
		d := ins.p.drains.drainTable(t, nil)
		if rows != nil && t == ins.m.table {
			all := d
			d = ins.p.drains.drainTable(t, rows)
			d.New = ins.newRows(t, rows, keys)
			d.New.Inserted, d.New.All = given, &all
		}
		plan.Drain.Tables = append(plan.Drain.Tables, d)
	}
	return plan
}

func (ins insertion) newRows(t *schema.Table, rows *rowset, keys int) *NewRows {
	if ins.p.d.Traits().OneWriter {
		return &NewRows{}
	}
	out := &NewRows{Rows: keys}
	var tp template
	scope := Scope{Ref: ins.p.names.BaseRef(t, nil), Qualifier: ins.p.d.Quote(t.Name), Where: tp.mark(rows.where)}
	out.Probe = tp.bound(ins.p.d, ins.p.d.Count(t, scope))
	return out
}

// givenLists are the rows that the INSERT gives: VALUES, or the one list of
// expressions of INSERT ... SELECT 1, 'a', sum(x) FROM ..., whose constants are
// the same in every row.
func (ins insertion) givenLists() [][]*ast.Expr {
	st := ins.m.st
	if len(st.Rows) > 0 {
		return st.Rows
	}
	q := st.Select
	if q == nil || len(q.Operands) > 0 {
		return nil
	}
	if len(q.Values) > 0 {
		return q.Values
	}
	var row []*ast.Expr
	for _, it := range q.Items {
		if it.Expr == nil || it.Expr.Kind == ast.Star {
			return nil
		}
		row = append(row, it.Expr)
	}
	return [][]*ast.Expr{row}
}

// givenRows returns the rows that an INSERT may meet, and the number of keys that
// it gives; nil when that cannot be known.
func (ins insertion) givenRows() (rows *rowset, keys int, given []InsertedArg) {
	t, lists := ins.m.table, ins.givenLists()
	if !ins.m.once || t.OtherUniques || t.Triggers.Insert || len(lists) == 0 || len(lists) > maxGivenRows || len(t.Counter.Key) == 0 {
		return nil, 0, nil
	}
	b := ownRows(t)
	rows = &rowset{binding: b}
	var any []fragment
	for _, u := range ins.metKeys() {
		for _, list := range lists {
			where, more, ok := ins.givenKey(u, list)
			if !ok {
				return nil, 0, nil
			}
			if where == nil {
				continue
			}
			given = append(given, more...)
			any = append(any, *where)
		}
	}
	if len(any) == 0 {
		return nil, 0, nil
	}
	rows.where = join(any, " OR ")
	return rows, len(any), given
}

// metKeys are the unique keys by which the INSERT may meet a row: the one that
// its conflict clause names, else all. There are none where that is no key of columns.
func (ins insertion) metKeys() []*schema.Unique {
	var out []*schema.Unique
	c := ins.m.st.Conflict
	if c != nil && len(c.Others) > 0 {
		return nil
	}
	for i := range ins.m.table.Uniques {
		u := &ins.m.table.Uniques[i]
		switch {
		case c == nil || ins.m.st.Replace:
		case c.Constraint != nil && !ins.p.d.SameColumn(*c.Constraint, u.Name):
			continue
		case len(c.Columns) > 0 && !ins.sameSet(c.Columns, u.Columns):
			continue
		}
		out = append(out, u)
	}
	for _, u := range ins.m.table.PresentUniques() {
		if c != nil && len(c.Columns) > 0 && ins.sameSet(c.Columns, u.Columns) {
			out = append(out, &u)
		}
	}
	return out
}

// givenKey writes the predicate of the row that has the key u of a list of
// values; nil when there can be none.
func (ins insertion) givenKey(u *schema.Unique, list []*ast.Expr) (where *fragment, given []InsertedArg, ok bool) {
	var parts []fragment
	for _, name := range u.Columns {
		c := ins.m.table.Column(name)
		i := ins.m.insertIndex(ast.Ident{Name: name, Quoted: true})
		if i >= len(list) || c == nil || ins.m.table.IsSlotted(name) {
			return nil, nil, false
		}
		if i < 0 {
			// A new number, or NULL, meets no row.
			if c.Identity || c.Nullable && !c.HasDefault && !c.Generated {
				return nil, nil, true
			}
			return nil, nil, false
		}
		v := list[i]
		switch {
		case v == nil: // DEFAULT
			return nil, nil, c.Identity
		case v.Kind == ast.Null && c.Identity, v.Kind == ast.Null && c.Nullable:
			return nil, nil, true
		case !ast.Constant(v):
			return nil, nil, false
		}
		if ins.p.d.Traits().LooseEquality {
			// What is compared must be what is stored: a time may be rounded.
			arg, no := ins.p.consts.checkInserted(c, v)
			if no != "" || ins.p.consts.takes(c).Time {
				return nil, nil, false
			}
			if arg != nil {
				given = append(given, *arg)
			}
		}
		parts = append(parts, ins.equals(c, v))
	}
	f := join(parts, " AND ")
	return &f, given, true
}

// equals writes column = value so that it finds the row that storing the value
// would make: of the column's own type where the engine would otherwise compare
// in another.
func (ins insertion) equals(c *schema.Column, v *ast.Expr) fragment {
	f := ins.stored(c, v)
	f.parts[0] = ins.p.d.Quote(ins.m.table.Name) + "." + ins.p.d.Quote(c.Name) + " = " + f.parts[0]
	return f
}

// stored writes a value as the column would store it, where the engine would
// not compare it as that.
func (ins insertion) stored(c *schema.Column, v *ast.Expr) fragment {
	f := ins.p.src.cut(v.Span)
	if ins.p.d.Traits().TypedConstants {
		typ, _, _ := strings.Cut(c.Type, " COLLATE ")
		f.parts[0] = "CAST(" + f.parts[0]
		f.parts[len(f.parts)-1] += " AS " + typ + ")"
	}
	return f
}

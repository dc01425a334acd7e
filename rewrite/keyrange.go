package rewrite

import (
	"math"
	"strings"
)

// Where a drain of all rows locks each of them, as on InnoDB, a statement that says which
// keys it is about locks only these: WHERE id BETWEEN 1 AND 3, WHERE page = 7 for a key of
// page and day. Its rows are those that the conjuncts over columns of the key select, and
// whether a row is one of them depends on its key alone. So it is the same for the base table
// and for the slot table, in each session and snapshot, and whatever the statement changes in
// the row.
//
// Another session may look for the slots, so only what means the same in every session will
// do: comparisons of whole numbers, as what a string or a date is compared may depend on the
// collation or the time zone, and no operator whose meaning or precedence depends on sql_mode.

// A RangeDialect is a Dialect of an engine that drains a table by locking its rows.
type RangeDialect interface {
	// RangeSlots writes the query of dialect.SlotNamer's FindSlots for the slot rows that
	// where selects, a predicate over columns of SlotAlias; "" where the slots of the
	// table cannot be found that way. For a Scope with Range, and for one of all rows, Lock
	// then returns one row: how many rows it has locked, where it is, and the session's
	// isolation level.
	RangeSlots(t *Table, where string, lock bool) string
}

// SlotAlias is the name of the slot table in the predicate of RangeSlots.
const SlotAlias = "slotsql_s"

// RangeSlots finds the slot rows of a drain of a key range: Find locks nothing, Locked
// locks what it finds.
type RangeSlots struct{ Find, Locked Bound }

// anyNumber is DrainTable.Most of a key range: there is always room for another row.
const anyNumber = math.MaxInt

// keyRange returns the rows that the conjuncts of where over columns of the counter's key
// select; nil where there are none, or all rows have to be drained.
func (p *planning) keyRange(st *Statement, sc *scope, b *binding, where *Expr) *rowset {
	_, ok := p.d.(RangeDialect)
	if !ok || where == nil || b == nil || b.table == nil || len(sc.bindings) != 1 || p.src.large {
		return nil
	}
	t := b.table
	if t.Counter.Layout == LayoutShared || t.IsView || t.Triggers.Ruled {
		return nil
	}
	for _, a := range st.Set {
		for _, k := range t.Counter.Key {
			if p.d.SameColumn(a.Column[len(a.Column)-1], k) {
				return nil // the rows would be others afterwards
			}
		}
	}
	var base, slots []fragment
	for _, c := range conjuncts(where, nil) {
		if edits, ok := p.overKey(sc, b, c); ok && len(edits) > 0 {
			base = append(base, p.src.cut(c.Span))
			slots = append(slots, p.src.cutEdited(c.Span, edits))
		}
	}
	if len(base) == 0 {
		return nil
	}
	between := join(slots, " AND ")
	return &rowset{binding: b, where: join(base, " AND "), between: &between, most: anyNumber}
}

// overKey reports whether a condition is made of comparisons of the key's whole numbers with
// constants alone. The edits turn it into one over the slot table.
func (p *planning) overKey(sc *scope, b *binding, e *Expr) (edits []edit, ok bool) {
	ok = !strings.ContainsAny(p.src.sql[e.Start:e.End], "|&") && !p.src.exec
	e.Walk(func(x *Expr) bool {
		if !ok {
			return false
		}
		switch x.Kind {
		case Number, Param, Null, Paren:
		case ColumnRef:
			column := p.keyColumn(sc, b, x)
			ok = column != ""
			edits = append(edits, edit{x.Span, SlotAlias + "." + p.d.Quote(column)})
		case Binary:
			ok = rangeOperators[x.Op]
		case Unary:
			ok = len(x.Args) == 1 && (x.Op == "NOT" && x.Args[0].Kind == Paren || x.Op == "-" && x.Args[0].Kind == Number)
		case In:
			ok = len(x.Args) > 1
		case Opaque:
			ok = x.Op == "BETWEEN" && len(x.Args) == 3
		default:
			ok = false
		}
		return ok
	})
	return edits, ok
}

var rangeOperators = Names("= <> != < <= > >= AND OR")

// keyColumn returns the name in the slot table of the key's column that an expression
// names, where that holds whole numbers; else "".
func (p *planning) keyColumn(sc *scope, b *binding, e *Expr) string {
	name := p.targetColumn(sc, b, e.Name)
	for i, k := range b.table.Counter.Key {
		if c := b.table.Column(name); k == name && c != nil && c.Numeric == Integer {
			return b.table.Counter.SlotKey()[i]
		}
	}
	return ""
}

// rangeSlots writes the queries for the slots of a key range; nil where the dialect has none.
func (p *planning) rangeSlots(tp *template, t *Table, between *fragment) *RangeSlots {
	if between == nil {
		return nil
	}
	d := p.d.(RangeDialect)
	where := tp.mark(*between)
	find, locked := d.RangeSlots(t, where, false), d.RangeSlots(t, where, true)
	if find == "" || locked == "" {
		return nil
	}
	return &RangeSlots{tp.expand(p.d, find), tp.expand(p.d, locked)}
}

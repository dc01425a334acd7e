package rewrite

import "slices"

// This file writes the form of a read of one row that is for rows without slots.

// A ProbingDialect is a Dialect that can tell within a query whether its row has slots.
type ProbingDialect interface {
	// HasSlots writes whether a row has slots, as an expression that is true or false.
	HasSlots(t *Table, qualifier string) string
	// Bare writes what tells of a row that the transaction has changed whether others have slots of it: NULL if they
	// may have, because the statement's snapshot shows some, or may be older than the change. Where it cannot tell how old the snapshot is,
	// it writes the name of the server otherwise, for another session there to be asked.
	Bare(t *Table, qualifier string) string
}

// probe adds to a plan the query with one more column, which reports whether the row has slots, and the
// key of that row, unless it cannot run so. A row without slots is exact: a statement has one
// snapshot, in which the base values of such a row are its totals. For any other row the query
// has to run again with totals. So it must be one that may run twice, and counters must not
// decide which rows it returns.
func (r *reader) probe(st *Statement, plan *ReadPlan) {
	d, ok := r.d.(ProbingDialect)
	q := st.Select
	if !ok || st.Kind != KindSelect || len(r.derived) > 0 || r.narrowing.sources > 0 || r.found.wholeRow || !ofOneTable(q) ||
		r.sources(st) != 1 || r.src.large || len(r.src.tokens) == 0 || !r.src.is(0, "SELECT") {
		return
	}
	sc := r.newScope(nil, nil, q.From)
	b := sc.bindings[0]
	last := q.Items[len(q.Items)-1].Span
	items := Span{q.Items[0].Start, last.End}
	if !b.counts || b.table.IsView || len(b.table.Counter.Key) == 0 || r.volatile(sc, q.Where) != "" {
		return
	}
	if r.groups(q) || r.windowed() { // no column may stand beside aggregates, and groups knows of none beside windows
		return
	}
	rows := r.fixedRows(sc, b, q.Where)
	if rows == nil || !rows.single {
		return
	}
	for _, e := range r.edits {
		if e.Start < items.Start || e.End > items.End {
			return
		}
	}
	for _, e := range q.OrderBy {
		if e.Kind == Number {
			return // ORDER BY 3, of a list of two
		}
	}
	list := slices.Concat(q.OrderBy, q.Limit)
	for _, it := range q.Items {
		if it.Expr == nil {
			return
		}
		if it.Expr.Kind != Star {
			list = append(list, it.Expr)
		}
	}
	for _, e := range list {
		if hasQuery(e) || r.volatile(sc, e) != "" || r.mayFail(sc, b, e) {
			return
		}
	}
	with := func(column string, more ...edit) string {
		return r.src.apply(append(more, edit{Span{last.End, last.End}, ", " + column + " AS slotsql_slots"}))
	}
	slots := d.HasSlots(b.table, r.qualifier(b))
	plan.Probe, plan.Held = with(slots), with(d.Bare(b.table, r.qualifier(b)))
	plan.HeldKey = rows.slotKey(b.table)
	if numbers, marks := r.numbersEqual(sc, b, q.Where); numbers != nil && r.d.Traits().ProbesText && r.sameAsText(sc, b, q.Items) {
		plan.KeptProbe = &KeptProbe{SQL: Whole(with(slots, marks...)), Numbers: numbers}
	}
}

// A KeptProbe is the Probe of a statement without arguments, to be kept prepared: it has placeholders for whole numbers.
type KeptProbe struct {
	SQL     SQL
	Numbers []Literal // its arguments
}

// numbersEqual returns the whole numbers that integer columns equal in a condition, and placeholders in
// their place; nil if there are other numbers or strings in it.
func (r *reader) numbersEqual(sc *scope, b *binding, where *Expr) (numbers []Literal, marks []edit) {
	for _, e := range equalities(where) {
		column, values := r.equated(sc, b, e)
		if len(values) != 1 || values[0].Kind != Number || column.Kind != ColumnRef {
			continue
		}
		n, whole := keyNumber(r.src.cut(values[0].Span))
		if c := b.table.Column(r.targetColumn(sc, b, column.Name)); !whole || c == nil || c.Numeric != Integer || c.Bits == 0 {
			return nil, nil
		}
		numbers, marks = append(numbers, n.Literal), append(marks, edit{values[0].Span, "?"})
	}
	literals := 0
	where.Walk(func(e *Expr) bool {
		if e.Kind == Number || e.Kind == String || e.Kind == Param {
			literals++
		}
		return true
	})
	if literals > len(numbers) {
		return nil, nil
	}
	return numbers, marks
}

// sameAsText reports whether the values of a list are the same from a prepared statement as from
// one sent as text. Floating-point numbers have fewer digits as text.
func (r *reader) sameAsText(sc *scope, b *binding, list []Item) bool {
	same := func(c *Column) bool { return c != nil && !c.Padded && c.Numeric != Float }
	for _, it := range list {
		switch {
		case it.Expr.Kind == Star:
			for i := range b.table.Columns {
				if !same(&b.table.Columns[i]) {
					return false
				}
			}
		case it.Expr.Kind != ColumnRef || !same(b.table.Column(r.targetColumn(sc, b, it.Expr.Name))):
			return false
		}
	}
	return true
}

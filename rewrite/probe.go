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
	with := func(column string) string {
		return r.src.apply([]edit{{Span{last.End, last.End}, ", " + column + " AS slotsql_slots"}})
	}
	plan.Probe, plan.Held = with(d.HasSlots(b.table, r.qualifier(b))), with(d.Bare(b.table, r.qualifier(b)))
	plan.HeldKey = rows.slotKey(b.table)
}

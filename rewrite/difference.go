package rewrite

import (
	"slices"
	"strings"
)

// Aggregates by difference.
//
// What COUNT, SUM and AVG say of many rows, they say of most of them by base values: those without slots. So
//
//	SELECT COUNT(*) FROM posts WHERE views > 100
//
// is the application's own query, whose index it uses as ever, and the difference that the rows with slots make:
//
//	SELECT slotsql_b.slotsql_a0 + slotsql_d.slotsql_c0 AS "COUNT(*)"
//	FROM (SELECT COUNT(*) AS slotsql_a0 FROM posts WHERE views > 100) AS slotsql_b
//	CROSS JOIN (SELECT COALESCE(SUM(CASE WHEN <total> > 100 THEN 1 ELSE 0 END), 0)
//	                 - COALESCE(SUM(CASE WHEN views > 100 THEN 1 ELSE 0 END), 0) AS slotsql_c0
//	            FROM <sums of slots by key> JOIN posts ON <same key>) AS slotsql_d
//
// Each row with slots is counted by its base values, taken off again, and counted by its totals; every other row has its base
// values for totals. Both queries read the snapshot of the one statement, and numbers of rows and sums of exact numbers
// have no order, so the result is exact. A condition may be evaluated of a base value that its row's
// total would not have led to, and so may what is summed: they must have a value for each (cannotFail).

// A differ writes it.
type differ struct {
	regrouped
	slotted  []edit   // the block's edits, with the totals of rows with slots
	free     []string // conditions that no total is part of
	judged   []*Expr  // the others
	changes  []string // the differences
	extremes bool     // there is nothing but MIN and MAX
	counters []string // whose sums are joined
}

// differences writes it; false where the query has another form.
func (r *reader) differences(w *walkedBlock) ([]edit, bool) {
	q := w.q
	if len(w.edits) == 0 || len(r.src.tokens) > maxSumTokens || !r.addable(q) || len(q.GroupBy)+len(q.OrderBy) > 0 ||
		q.Having != nil || r.windowed() {
		return nil, false
	}
	c := candidates{reader: r, q: q, sc: w.sc, lone: true}
	d := differ{regrouped: regrouped{summer: summer{candidates: c}}}
	d.b, d.aggregated, d.extremes = d.sc.bindings[0], d.aggregate, true
	after := r.edits
	r.edits = slices.Clone(w.edits) // without candidates
	defer func() { r.edits = after }()
	if !d.readable() || !d.conditions() {
		return nil, false
	}
	d.joinTotals()
	for _, it := range q.Items {
		if !d.item(it) {
			return nil, false
		}
	}
	if len(d.changes) == 0 || d.extremes && w.narrowed(r) {
		return nil, false
	}
	from := Span{q.From[0].Ref.Start, d.end}
	return append(d.out, edit{from, d.source()}), true
}

// readable reports whether the block reads a counter table, any number of its rows, in clauses that stand as they are
// expected to.
func (d *differ) readable() bool {
	t, q, src := d.b.table, d.q, d.src
	if !d.b.counts || d.readsBase(t) || len(d.b.columns) > 0 || d.b.source.Ref.End == 0 || t.Temporary || len(t.Counter.Key) == 0 ||
		d.limitedByQuery() || q.Where != nil && d.fixedRows(d.sc, d.b, q.Where) != nil {
		return false
	}
	if _, ok := d.behindFrom(); !ok {
		return false // part of a table, or a hint
	}
	for _, k := range t.Counter.Key {
		d.candidateKeys.keys = append(d.candidateKeys.keys, d.qualifier(d.b)+"."+d.d.Quote(k))
	}
	i := src.tokenAt(q.From[0].Ref.End)
	d.end = q.From[0].Ref.End
	if q.Where != nil {
		if !src.is(i, "WHERE") || src.tokenAt(q.Where.Start) != i+1 {
			return false
		}
		d.end = q.Where.End
		i = src.tokenAt(d.end)
	}
	return src.endsBlock(i) || src.is(i, "LIMIT")
}

// conditions sorts those of WHERE; false if one cannot be written again, or has no value for some base value.
func (d *differ) conditions() bool {
	if d.q.Where == nil {
		return true
	}
	if d.volatile(d.sc, d.q.Where) != "" {
		return false
	}
	d.findQueries()
	for _, e := range conjuncts(d.q.Where, nil) {
		switch {
		case d.repeatable(e):
			d.free = append(d.free, "("+d.tp.mark(d.src.cut(e.Span))+")")
		case d.safe(e):
			d.judged = append(d.judged, e)
		default:
			return false
		}
	}
	return true
}

// joinTotals writes the totals of the block as those of rows that have slots, where the engine joins these.
func (d *differ) joinTotals() {
	if j, ok := d.d.(JoiningDialect); ok && (len(d.free) == 0 || !d.d.Traits().LooksUpSums) {
		totals, counters := d.joinedTotals(j)
		d.counters = counters
		d.rewriteTotals(d.q.Span, totals)
	}
	d.slotted = d.edits
}

// An aggregateCall is an aggregate of one argument, as the statement has it.
type aggregateCall struct {
	of     *Expr // nil for *
	filter *Expr // of FILTER, or nil
}

// aggregate edits an aggregate. What names no counter, of rows that no counter is asked of, is the same by base values.
func (d *differ) aggregate(e *Expr) bool {
	if hasQuery(e) || d.volatile(d.sc, e) != "" {
		return false
	}
	a, whole := d.parse(e)
	switch {
	case !whole:
		return false
	case len(d.judged) == 0 && !d.edited(e.Span):
		d.replace(e, "slotsql_b."+d.moved(e))
		return true
	case a == nil || a.of != nil && !d.safe(a.of) || a.filter != nil && !d.safe(a.filter):
		return false
	}
	extreme := false
	switch {
	case e.Op == "count":
		d.replace(e, d.count(a))
	case a.of == nil || !d.exact(a.of):
		return false
	case e.Op == "sum":
		d.replace(e, d.sum("SUM", a))
	case e.Op == "avg":
		d.replace(e, "("+d.d.Traits().Average(d.sum(d.averageOf(), a), d.count(a))+")")
	case e.Op == "max":
		d.replace(e, d.extreme("MAX", ">=", a))
		extreme = true
	case e.Op == "min":
		d.replace(e, d.extreme("MIN", "<=", a))
		extreme = true
	default:
		return false
	}
	d.extremes = d.extremes && extreme
	return true
}

// parse takes an aggregate apart: nil where it is more than a function of * or of one argument, with FILTER or
// without. whole is false if more belongs to the aggregate than the expression covers.
func (d *differ) parse(e *Expr) (a *aggregateCall, whole bool) {
	src := d.src
	next := src.tokenAt(e.End)
	if src.is(next, "FILTER") || src.is(next, "WITHIN") || src.is(next, "OVER") || src.is(next, "(") {
		return nil, false
	}
	a = &aggregateCall{}
	args, end := e.Args, next
	if n := len(args); n > 0 {
		i := src.tokenAt(args[n-1].Start)
		if src.is(i-1, "WHERE") && src.is(i-2, "(") && src.is(i-3, "FILTER") {
			if src.tokenAt(args[n-1].End) != next-1 {
				return nil, true
			}
			a.filter, args, end = args[n-1], args[:n-1], i-3
		}
	}
	first := src.tokenAt(e.Start)
	switch {
	case !src.is(first+1, "(") || !src.is(end-1, ")"):
		return nil, true
	case e.Op == "count" && end == first+4 && src.is(first+2, "*"):
		return a, true
	case len(args) == 1 && src.tokenAt(args[0].Start) == first+2 && src.tokenAt(args[0].End) == end-1:
		a.of = args[0]
		return a, true
	}
	return nil, true
}

// ofBases writes the aggregate of a function by base values.
func (d *differ) ofBases(function, of string, a *aggregateCall) string {
	sql := function + "(" + of + ")"
	if a.filter != nil {
		sql += " FILTER (WHERE " + d.by(d.bases(), a.filter.Span) + ")"
	}
	return "slotsql_b." + d.moves(sql)
}

// count writes COUNT.
func (d *differ) count(a *aggregateCall) string {
	of := "*"
	if a.of != nil {
		of = d.by(d.bases(), a.of.Span)
	}
	change := func(edits []edit) string {
		conds := d.met(edits, a)
		if a.of != nil {
			conds = append(conds, d.by(edits, a.of.Span)+" IS NOT NULL")
		}
		return "COALESCE(SUM(CASE WHEN " + strings.Join(conds, " AND ") + " THEN 1 ELSE 0 END), 0)"
	}
	sql := d.ofBases("COUNT", of, a) + " + slotsql_d." + d.change(change(d.slotted)+" - "+change(d.bases()))
	if as := d.d.Traits().Counted; as != "" {
		return "CAST(" + sql + " AS " + as + ")"
	}
	return "(" + sql + ")"
}

// sum writes what a function adds up, NULL where no row has a value.
func (d *differ) sum(function string, a *aggregateCall) string {
	change := func(edits []edit) string { return "COALESCE(" + function + "(" + d.value(edits, a) + "), 0)" }
	return "CASE WHEN " + d.count(a) + " > 0 THEN COALESCE(" + d.ofBases(function, d.by(d.bases(), a.of.Span), a) + ", 0) + slotsql_d." +
		d.change(change(d.slotted)+" - "+change(d.bases())) + " END"
}

// extreme writes MAX or MIN: the one of the rows without slots, or of those with slots.
func (d *differ) extreme(function, beyond string, a *aggregateCall) string {
	slotless := d.among(" NOT IN ", strings.Join(d.slotKeys(d.b.table), ", "), d.slots(d.compared()))
	base := d.ofBases(function, "CASE WHEN "+slotless+" THEN "+d.by(d.bases(), a.of.Span)+" END", a)
	total := "slotsql_d." + d.change(function+"("+d.value(d.slotted, a)+")")
	return "CASE WHEN " + total + " IS NULL OR " + base + " " + beyond + " " + total + " THEN " + base + " ELSE " + total + " END"
}

// compared are the counters by whose slots rows have differences: those whose sums are joined, else all.
func (d *differ) compared() []string {
	if len(d.counters) > 0 {
		return d.counters
	}
	return d.b.table.Counter.Counters
}

// value writes what is aggregated, which is NULL in rows that do not meet the conditions.
func (d *differ) value(edits []edit, a *aggregateCall) string {
	value := d.by(edits, a.of.Span)
	if conds := d.met(edits, a); len(conds) > 0 {
		value = "CASE WHEN " + strings.Join(conds, " AND ") + " THEN " + value + " END"
	}
	return value
}

// met writes the conditions that totals are part of, and that of FILTER.
func (d *differ) met(edits []edit, a *aggregateCall) []string {
	var out []string
	for _, e := range d.judged {
		out = append(out, "("+d.by(edits, e.Span)+")")
	}
	if a.filter != nil {
		out = append(out, "("+d.by(edits, a.filter.Span)+")")
	}
	return out
}

// by writes a piece of the block with edits.
func (d *differ) by(edits []edit, sp Span) string {
	f := d.src.cutEdited(sp, edits)
	if len(f.args) == 0 && !strings.Contains(f.parts[0], markerByte) {
		return f.parts[0]
	}
	return d.withEdits(sp, edits)
}

// change returns the name of a difference.
func (d *differ) change(sql string) string {
	i := slices.Index(d.changes, sql)
	if i < 0 {
		i = len(d.changes)
		d.changes = append(d.changes, sql)
	}
	return sumName(i)
}

// source writes the query of base values and that of the differences.
func (d *differ) source() string {
	ref := d.src.sql[d.q.From[0].Ref.Start:d.q.From[0].Ref.End]
	var list []string
	for i, a := range d.aggs {
		list = append(list, a+" AS "+aggName(i))
	}
	base := "SELECT " + strings.Join(list, ", ") + " FROM " + ref
	if d.q.Where != nil {
		base += " WHERE " + d.by(d.bases(), d.q.Where.Span)
	}
	list = nil
	for i, c := range d.changes {
		list = append(list, c+" AS "+sumName(i))
	}
	from, conds := d.baseRef(d.b.table, d.b), d.free
	if len(d.counters) > 0 {
		from = "(" + d.candidates.sums(d.counters) + ") AS " + sumsName + " JOIN " + from + " ON " + d.sameAsSums()
	} else {
		slots := d.slots(d.compared())
		conds = append(conds[:len(conds):len(conds)], d.among(" IN ", strings.Join(d.slotKeys(d.b.table), ", "), slots))
	}
	return "(" + base + ") AS slotsql_b CROSS JOIN (" + queryOf(strings.Join(list, ", "), from, conds) + ") AS slotsql_d"
}

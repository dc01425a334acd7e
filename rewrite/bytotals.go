package rewrite

import "strings"

// This file writes the form of a DELETE or UPDATE with a condition on a counter that folds nothing.
//
// `DELETE FROM posts WHERE views < 10` needs counters only to choose rows: it stores no counter and
// returns none. So base values need not be totals. The condition can use totals, as a query does
// (candidates.go), if no slot changes between the evaluation of the condition for a row and the end of
// the transaction. A drain of all rows keeps slots from changing, too, but also folds each of them,
// although few of the rows satisfy the condition.
//
// While slots stay as they are, a total changes only with its base value, and the engine treats a
// concurrent change of that as it treats it for the plain statement: it waits for the row and
// evaluates the condition again, with the row's new base value and the same slots. The statement's
// candidates are then the same as well: every row with slots of a counter that the condition asks for is one, by its key, and of
// all others the base values are the totals. (The windows of a query's candidates would not do: whether a row
// is in one depends on its base value when the statement began.)
//
// What the statement leaves behind is right: rows that it deletes take their slots along,
// and those that it updates keep theirs.

// A FreezingDialect is a Dialect of an engine where a statement can keep slots from changing until
// its transaction ends.
type FreezingDialect interface {
	// Freeze writes the parts of a Proof for all rows of a table: see ProofSQL. The predicate holds
	// for every row or for none, and is "" if it is not needed. It returns false if there is no
	// such form for the table.
	Freeze(t *Table) (ProofSQL, bool)
}

// drainOrUseTotals drains for a statement that stores no counter. If that would drain all rows of its
// table, its candidates are enough, and its condition may use totals instead.
func (m *dml) drainOrUseTotals(why string, except map[*Expr]bool) *Plan {
	plan := m.drain(why)
	if plan.Drain.Proof != nil || plan.DrainScope() != ScopeAll || m.table == nil || len(plan.Drain.Tables) != 1 {
		return plan
	}
	plan.Drain.Proof = m.byTotals(except)
	all := plan.Drain.Tables[0]
	if d := m.drainCandidates(&all, except); d != nil {
		plan.Drain.Tables[0] = *d
	}
	return plan
}

// byTotals returns the statement with totals in its condition; nil if it has to drain. Except is what
// it assigns to counters without changing them.
func (m *dml) byTotals(except map[*Expr]bool) *Proof {
	d, ok := m.d.(FreezingDialect)
	st, t := m.st, m.table
	if !ok || t == nil || !m.once || !m.provable(st, m.sc, st.Where) || len(st.Returning) > 0 ||
		st.Kind == KindDelete && (t.Triggers.Delete || !m.cascadesDelete(t)) || st.Kind == KindUpdate && t.Triggers.Update ||
		t.Triggers.Ruled || t.IsView || len(t.Counter.Key) != 1 {
		return nil
	}
	sql, ok := d.Freeze(t)
	if !ok {
		return nil
	}
	r := m.reader()
	if err := m.read(r, except); err != nil || r.found.locks || r.found.writes || r.found.wholeRow {
		return nil
	}
	if !r.narrowWrite(m, sql.Holds) {
		return nil // it would read every total
	}
	out := &Proof{ByTotals: true}
	text := r.tp.mark(m.src.cutEdited(Span{0, len(m.src.sql)}, r.edits))
	out.Bound = r.tp.expand(m.d, r.tp.expandSQL(text))
	if sql.Lock != "" {
		out.Lock, out.Refuted = &Bound{SQL: Whole(sql.Lock)}, &Bound{SQL: Whole(sql.Refuted)}
	}
	return out
}

// narrowWrite adds the condition that names the candidates of a statement's WHERE: rows
// that meet it by their base values, and all rows with slots of the counters that it asks for.
func (r *reader) narrowWrite(m *dml, holds string) bool {
	t, where := m.table, m.st.Where
	c := candidates{reader: r, sc: m.sc, q: &Select{Where: where}, b: m.target, lone: true, queryBounds: queryBounds{byTotals: true}}
	c.keys = []string{r.qualifier(m.target) + "." + r.d.Quote(t.Counter.Key[0])}
	if c.listed() || r.mistyped(nil) != "" || strings.Contains(r.src.sql, markerByte) {
		return false
	}
	if c.conditions(); len(c.windows) == 0 {
		return false
	}
	for i := range c.windows {
		c.windows[i] = window{column: c.windows[i].column, op: everySum}
	}
	condition := c.condition(c.keys)
	if holds != "" {
		condition += " AND " + holds
	}
	c.insert(c.beside(condition))
	return true
}

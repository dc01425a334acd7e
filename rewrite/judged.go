package rewrite

import "strings"

// This file writes the form of a DELETE or UPDATE by a counter's condition that folds nothing.
//
// `DELETE FROM posts WHERE views < 10` asks which rows to delete, and no more: it stores no
// counter and returns none. So it does not need base values that are totals. It can judge rows
// by their totals, as a query does (candidates.go), if no slot changes between its look at a row and
// the end of its transaction. A drain of all rows keeps slots from changing, too, but also folds each of
// them, although few of these rows meet the condition.
//
// While slots stay as they are, a total changes only with its base value, and the engine treats a
// concurrent change of that as it treats it for the plain statement: it waits for the row and
// looks at the condition again, with the row's new base value and the same slots. The statement's
// candidates are then the same as well: every row with slots is one, by its key, and of
// all others the base value is the total. (The windows of a query's candidates would not do: whether a row
// is in one depends on its base value when the statement began.)
//
// What the statement leaves behind is right: rows that it deletes take their slots along,
// and those that it updates keep theirs.

// A JudgingDialect is a Dialect of an engine where a statement can keep slots from changing
// while it looks at rows.
type JudgingDialect interface {
	// Judge writes what a Proof is made of, for all rows of a table: see ProofSQL. The
	// predicate holds for each row or for none, and is "" where there is nothing to ask. False
	// where the table has none.
	Judge(t *Table) (ProofSQL, bool)
}

// drainOrJudge drains for a statement that stores no counter: of all rows of its table, its candidates
// are enough, and it may judge rows by totals.
func (m *dml) drainOrJudge(why string, except map[*Expr]bool) *Plan {
	plan := m.drain(why)
	if plan.Drain.Proof != nil || plan.DrainScope() != ScopeAll || m.table == nil || len(plan.Drain.Tables) != 1 {
		return plan
	}
	plan.Drain.Proof = m.judged(except)
	all := plan.Drain.Tables[0]
	if d := m.drainCandidates(&all, except); d != nil {
		plan.Drain.Tables[0] = *d
	}
	return plan
}

// judged returns the statement with its rows judged by totals; nil where it has to be drained
// for. Except is what it assigns to counters without changing them.
func (m *dml) judged(except map[*Expr]bool) *Proof {
	d, ok := m.d.(JudgingDialect)
	st, t := m.st, m.table
	if !ok || t == nil || !m.once || !m.provable(st, m.sc, st.Where) || len(st.Returning) > 0 ||
		st.Kind == KindDelete && (t.Triggers.Delete || !m.tied(t)) || st.Kind == KindUpdate && t.Triggers.Update ||
		t.Triggers.Ruled || t.IsView || len(t.Counter.Key) != 1 {
		return nil
	}
	sql, ok := d.Judge(t)
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
	out := &Proof{Judged: true}
	text := r.tp.mark(m.src.cutEdited(Span{0, len(m.src.sql)}, r.edits))
	out.Bound = r.tp.expand(m.d, r.tp.expandSQL(text))
	if sql.Lock != "" {
		out.Lock, out.Refuted = &Bound{SQL: Whole(sql.Lock)}, &Bound{SQL: Whole(sql.Refuted)}
	}
	return out
}

// narrowWrite adds the condition that names the candidates of a statement's WHERE: rows
// that meet it by their base values, and all rows with slots.
func (r *reader) narrowWrite(m *dml, holds string) bool {
	t, where := m.table, m.st.Where
	c := candidates{reader: r, sc: m.sc, q: &Select{Where: where}, b: m.target, lone: true, queryBounds: queryBounds{judges: true}}
	c.keys = []string{r.qualifier(m.target) + "." + r.d.Quote(t.Counter.Key[0])}
	if c.listed() || r.mistyped(nil) != "" || strings.Contains(r.src.sql, markerByte) {
		return false
	}
	if c.conditions(); len(c.windows) == 0 {
		return false
	}
	c.windows = []window{{column: c.windows[0].column, op: everySum}}
	condition := c.condition(c.keys)
	if holds != "" {
		condition += " AND " + holds
	}
	c.insert(c.beside(condition))
	return true
}

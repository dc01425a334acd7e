package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file plans a drain of the rows that a counter's condition may select.
//
// Where a drain locks rows, `DELETE FROM posts WHERE views < 10` need not drain all of them. It
// judges rows by base values, and that is right for every row but one that has slots and meets
// the condition by its total and not by its base value, or by its base value and not by its total. So the rows
// with slots that meet the condition by one of the two are drained: the candidates. They are looked for without
// locks first, and locked by their keys. Then the same query, as a locking read of what is there now,
// finds whether others have become candidates. docs/design/locks.md says when it runs,
// and why no row is judged wrongly.
//
// Candidates may be too many, which costs locks, and never too few. So what is asked of them is made of
// the statement's own conditions, of which any may be left out.

// A CandidateDialect is a Dialect of an engine that drains a table by locking its rows.
type CandidateDialect interface {
	// Candidates writes a query for the keys of the rows that have slots and that a condition selects, in the
	// order and the form in which dialect.SlotNamer takes them. With lock it reads the
	// newest rows and slots, whatever the transaction's snapshot, and no session changes slots
	// that it has read before the transaction ends. It is "" where slots cannot be found that way.
	Candidates(t *Table, c CandidateSQL, lock bool) string
	// CandidateTotal writes a counter's total in CandidateSQL.Where.
	CandidateTotal(t *Table, qualifier, counter string) string
	// CandidateVersions is Versions for a table of which other rows still have slots, in a transaction that
	// has run the query of Candidates with lock.
	CandidateVersions(t *Table) *VersionSQL
}

// CandidateSQL is the variable part of Candidates, as in Scope.
type CandidateSQL struct{ Ref, Qualifier, Where string }

// CandidateRows are the queries for candidates: Find locks nothing, Locked locks what it reads.
type CandidateRows struct{ Find, Locked Bound }

// drainCandidates returns the drain of a statement's candidates, which stores no counter; nil where
// all rows have to be drained. Except is what it assigns to counters without changing them.
func (m *dml) drainCandidates(all *DrainTable, except map[*Expr]bool) *DrainTable {
	d, ok := m.d.(CandidateDialect)
	st, t := m.st, m.table
	if !ok || !m.once || !m.provable(st, m.sc, st.Where) || len(st.Returning) > 0 || m.src.exec ||
		t.Triggers.Update || t.Triggers.Ruled || st.Kind == KindDelete && t.Triggers.Delete || t.IsView || t.Storage.NoTransactions != "" ||
		t.Counter.Layout == LayoutShared || t.Counter.Single() || len(t.Counter.Bounds)+len(t.Counter.Tickets) > 0 {
		return nil
	}
	r := m.reader()
	if err := m.read(r, except); err != nil || r.found.locks || r.found.writes || r.found.wholeRow ||
		r.mistyped(nil) != "" || strings.Contains(m.src.sql, markerByte) {
		return nil
	}
	var tp template
	where, ok := m.candidate(d, r, &tp)
	if !ok {
		return nil
	}
	scope := Scope{Ref: m.baseRef(t, m.target), Qualifier: m.qualifier(m.target), Where: tp.mark(m.src.cut(st.Where.Span)), Range: true}
	in := CandidateSQL{scope.Ref, scope.Qualifier, where}
	find, locked := d.Candidates(t, in, false), d.Candidates(t, in, true)
	if find == "" || locked == "" {
		return nil
	}
	out := &DrainTable{Table: t, Most: anyNumber, All: all, Folding: all.Folding}
	out.Look.Candidates = &CandidateRows{tp.expand(m.d, find), tp.expand(m.d, locked)}
	out.Rows = tp.expand(m.d, scope.Ref+" WHERE "+scope.Where)
	if v := d.CandidateVersions(t); v != nil {
		out.Versions = &Versions{Find: Bound{SQL: Whole(v.Find)}, Hide: v.Hide, Drop: v.Drop, Touch: tp.expandAll(m.d, v.Touch)}
	}
	if st.Kind == KindDelete {
		out.Lock = tp.expandAll(m.d, m.d.Lock(t, scope))
	}
	return out
}

// candidate writes what makes a row with slots a candidate. Each counter is compared with constants alone: a
// base value in place of a total may give the wrong answer, but never an error.
func (m *dml) candidate(d CandidateDialect, r *reader, tp *template) (string, bool) {
	c := candidates{reader: r, sc: m.sc, q: &Select{Where: m.st.Where}, b: m.target, lone: true}
	both := []string{"1 = 1"}
	var base, total []string
	for _, e := range conjuncts(m.st.Where, nil) {
		counts := !c.repeatable(e)
		if counts && !c.bounded(e, false) {
			return "", false
		}
		if !m.stable(e) {
			continue
		}
		own := "(" + tp.mark(m.src.cut(e.Span)) + ")"
		if !counts {
			both = append(both, own)
			continue
		}
		edits, ok := m.summed(d, r, e.Span)
		if !ok {
			return "", false
		}
		base, total = append(base, own), append(total, "("+tp.mark(m.src.cutEdited(e.Span, edits))+")")
	}
	if len(base) > 0 {
		both = append(both, "("+strings.Join(base, " AND ")+" OR "+strings.Join(total, " AND ")+")")
	}
	return strings.Join(both, " AND "), true
}

// summed returns the edits inside a span with the totals that Candidates has.
func (m *dml) summed(d CandidateDialect, r *reader, sp Span) (out []edit, ok bool) {
	q := m.qualifier(m.target)
	for _, e := range r.edits {
		if e.Start < sp.Start || e.End > sp.End {
			continue
		}
		i := slices.IndexFunc(m.table.Counter.Counters, func(c string) bool { return e.sql == r.total(m.table, q, c, true) })
		if i < 0 {
			return nil, false
		}
		out = append(out, edit{e.Span, d.CandidateTotal(m.table, q, m.table.Counter.Counters[i])})
	}
	return out, true
}

// stable reports whether a condition has the same value for a row before, during and after the statement: it compares
// columns that the statement leaves as they are.
func (m *dml) stable(e *Expr) bool {
	ok := !m.src.large // of which not all tokens are known
	for i := m.src.tokenAt(e.Start); ok && i < len(m.src.tokens) && m.src.tokens[i].Start < e.End; i++ {
		t := m.src.tokens[i]
		ok = t.Kind != lex.Operator || !strings.ContainsAny(m.src.sql[t.Start:t.End], "|&") // which sql_mode gives a meaning
	}
	e.Walk(func(x *Expr) bool {
		switch x.Kind {
		case Number, String, Param, Null, Paren:
		case ColumnRef:
			ok = ok && m.leaves(x.Name)
		case Binary:
			ok = ok && rangeOperators[x.Op]
		case Unary:
			ok = ok && len(x.Args) == 1 && (x.Op == "NOT" && x.Args[0].Kind == Paren || x.Op == "-" && x.Args[0].Kind == Number)
		case In:
			ok = ok && len(x.Args) > 1
		case Opaque:
			ok = ok && (x.Op == "BETWEEN" && len(x.Args) == 3 || nullTest(x) != nil)
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// leaves reports whether a name is certainly one of the target's columns that the statement does not change.
func (m *dml) leaves(name []Ident) bool {
	c := m.table.Column(m.targetColumn(m.sc, m.target, name))
	if c == nil || m.st.Kind == KindDelete {
		return c != nil
	}
	return !c.Generated && !c.OnUpdate && !slices.ContainsFunc(m.st.Set, func(a Assignment) bool {
		set, ok := columnNamed(m.planning, m.table, a.Column[len(a.Column)-1])
		return !ok || set == c.Name && !m.setsNothing(a.Value, set)
	})
}

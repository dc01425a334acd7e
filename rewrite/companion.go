package rewrite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans statements that read or set companions (package schema).

// companion says where a companion of x is not read in its place. item says
// that it is a whole select item.
func (b *blockReader) companion(x *names.Binding, item bool) error {
	if !x.Counts || len(x.Table.Counter.Companions) == 0 {
		return nil
	}
	if x.Scope.Outer && len(x.Table.Counter.Key) == 0 {
		// Its value is looked for in the slots by the key, and a key of NULL
		// finds none. Where there is no key, the slots would answer for a row
		// that is not there.
		return names.Derivable("an outer join may lack the row of "+x.Table.Name, x)
	}
	if b.p.d.Traits().ColumnsCollate && (!item || b.p.src.hasWord("UNION") || b.p.src.hasWord("EXCEPT") || b.p.src.hasWord("INTERSECT")) {
		// What it is compared with would decide how. A column of a derived
		// table has the collation of a column.
		return names.Derivable("the result depends on a companion's collation", x)
	}
	return nil
}

// A companionSet is the value that an increment gives a companion.
type companionSet struct {
	companion *schema.Companion
	column    *schema.Column
	value     fragment
	sure      bool // never NULL
	arg       *InsertedArg
}

// setsLatest reports whether the statement sets a companion whose latest value counts.
func (a *assigned) setsLatest() bool {
	return slices.ContainsFunc(a.companions, func(s companionSet) bool { return s.companion.Merge == schema.Latest })
}

// companionSet reads the assignment of a companion; why says what a slot could
// not hold exactly. The returned expression is part of the assignment and may
// read the column: its own value is what the merge takes care of.
func (m *dml) companionSet(co *schema.Companion, e *ast.Expr) (set companionSet, why string) {
	c := m.table.Column(co.Column)
	set = companionSet{companion: co, column: c}
	for e != nil && e.Kind == ast.Paren {
		e = e.Args[0]
	}
	if e == nil { // DEFAULT
		return set, "companion " + c.Name + " is set to its default"
	}
	if co.Merge != schema.Latest {
		if e = m.merged(co, e); e == nil {
			return set, "companion " + c.Name + " is set, not merged by " + string(co.Merge)
		}
	}
	if e.Kind == ast.Excluded {
		if e = m.excluded(c, e); e == nil {
			return set, "companion " + c.Name + " takes a value that is not in the INSERT"
		}
	}
	if co.Merge != schema.Latest {
		// Only what compares before it is stored as it compares afterwards.
		arg, no := m.p.consts.checkInserted(c, e)
		if no != "" || e.Kind == ast.Null || e.Kind == ast.String {
			return set, "companion " + c.Name + " is merged with a value of another type"
		}
		if arg != nil {
			arg.Nullable = false
		}
		set.arg = arg
	}
	if !m.independent(e) {
		return set, "companion " + c.Name + " is computed from other columns or by functions that may have side effects"
	}
	set.value = m.p.src.cut(e.Span)
	set.sure = c.Nullable && co.Merge == schema.Latest ||
		e.Kind == ast.Number || e.Kind == ast.String || e.Kind == ast.Call && len(e.Args) == 0
	return set, ""
}

// merged returns x of GREATEST(c, x) for Max and LEAST(c, x) for Min, MAX and
// MIN of two in SQLite; nil for anything else.
func (m *dml) merged(co *schema.Companion, e *ast.Expr) *ast.Expr {
	want, short := "greatest", "max"
	if co.Merge == schema.Min {
		want, short = "least", "min"
	}
	if e.Kind != ast.Call || len(e.Args) != 2 || e.Aggregate || e.Op != want && (e.Op != short || !m.p.d.Traits().ScalarMax) {
		return nil
	}
	for i, a := range e.Args {
		if m.hasDefault(m.table.Column(co.Column), a) {
			a = a.Args[0] // of a column that is not NULL: see the guard of the dialects
		}
		if m.p.names.IsColumn(m.sc, a, m.table, co.Column) {
			return e.Args[1-i]
		}
	}
	return nil
}

// hasDefault reports whether e is COALESCE(c, x) with an x that the column certainly
// takes: where the column is not NULL, x is left out.
func (m *dml) hasDefault(c *schema.Column, e *ast.Expr) bool {
	switch {
	case !m.p.consts.coalesces(e) || !ast.Constant(e.Args[1]):
		return false
	case m.p.d.Traits().AnyType:
		return true
	}
	arg, why := m.p.consts.checkInserted(c, e.Args[1])
	return arg == nil && why == ""
}

// excluded returns what the one row of an INSERT gives for the column.
func (m *dml) excluded(c *schema.Column, e *ast.Expr) *ast.Expr {
	name, ok := names.Column(m.p.d, m.table, e.Name[len(e.Name)-1])
	if !ok || name != c.Name || len(m.st.Rows) != 1 {
		return nil
	}
	if i := m.insertIndex(e.Name[len(e.Name)-1]); i >= 0 && i < len(m.st.Rows[0]) {
		return m.st.Rows[0][i]
	}
	return nil
}

// independent reports whether an expression means the same wherever it stands: it
// names no column, holds no query, and calls nothing that does something.
func (m *dml) independent(e *ast.Expr) bool {
	ok := e != nil
	e.Walk(func(x *ast.Expr) bool {
		switch x.Kind {
		case ast.ColumnRef, ast.Star, ast.Subquery, ast.Excluded, ast.In:
			ok = false
		case ast.Call:
			ok = ok && !x.Aggregate
		}
		return ok
	})
	return ok && m.p.volatility.reasonBesides(nil, e, clocks) == ""
}

// implied adds the companions that the engine sets when a row is updated.
func (m *dml) implied(a *assigned) {
	for i := range m.table.Counter.Companions {
		co := &m.table.Counter.Companions[i]
		c := m.table.Column(co.Column)
		if c == nil || !c.OnUpdate {
			continue
		}
		done := false
		for _, s := range a.companions {
			done = done || s.companion == co
		}
		if done || a.heldName == co.Column {
			continue
		}
		now := "CURRENT_TIMESTAMP"
		if i := strings.IndexByte(c.Type, '('); i >= 0 {
			if n, _, ok := strings.Cut(c.Type[i:], ")"); ok {
				now += n + ")"
			}
		}
		a.companions = append(a.companions, companionSet{companion: co, column: c, value: literal(now), sure: true})
	}
}

// companionSQL is that of the companions of a slotted upsert.
func companionSQL(sets []companionSet, tp *template) []CompanionSQL {
	var out []CompanionSQL
	for _, s := range sets {
		out = append(out, CompanionSQL{Companion: *s.companion, SQL: tp.mark(s.value), NotNull: !s.sure})
	}
	return out
}

// latestOnBase writes how an increment that sets a Latest companion runs on its base row: with a proof that this has no slots, or
// before it is known whether it has some.
func (sw slotWriter) latestOnBase(plan *Plan, a assigned, in IncrementSQL, rows *rowset, tp *template) {
	t, out := sw.m.table, plan.Increment
	if !out.Latest {
		return
	}
	plan.Drain.Proof = sw.p.drains.proof(sw.m.st, sw.m.sc, sw.m.st.Where, rows)
	d, ok := sw.p.d.(ProvingDialect)
	if tr := t.Triggers; !ok || tr.Update || tr.Insert || tr.Ruled || tr.UpdateRule || t.IsView || len(t.Counter.Key) == 0 ||
		sw.m.st.Where != nil && sw.p.names.NamesSlotted(sw.m.sc, rows.binding, sw.m.st.Where) {
		return
	}
	in.Where = tp.mark(rows.where)
	sql := d.Proof(t, Scope{Ref: in.Ref, Qualifier: in.Qualifier, Where: in.Where})
	if sql.Asked == "" {
		plan.Drain.Proof = cmp.Or(plan.Drain.Proof, sw.proofOfUpsert(d))
		return
	}
	var set []string
	for _, s := range a.companions {
		if s.companion.Merge == schema.Latest {
			set = append(set, sw.p.d.Quote(s.column.Name)+" = "+tp.mark(s.value))
		}
	}
	out.Asked = tp.bound(sw.p.d, sql.Asked)
	out.Stated = tp.bound(sw.p.d, "UPDATE "+in.Ref+" SET "+strings.Join(set, ", ")+" WHERE "+in.Where)
	if sw.m.st.Kind == ast.KindInsert {
		plan.Drain.Proof = &Proof{Confirm: tp.bound(sw.p.d, sql.Confirm)}
	}
}

// proofOfUpsert returns a form of the upsert that fails, before it adds anything, if the row has slots: the engine locks the existing
// row before it computes what it sets. It returns nil if a second try could do something else.
func (sw slotWriter) proofOfUpsert(d ProvingDialect) *Proof {
	holds := d.Proof(sw.m.table, Scope{Qualifier: sw.p.names.Qualifier(sw.m.target)}).Holds
	if sw.m.st.Kind != ast.KindInsert || holds == "" || sw.p.src.large || sw.p.src.hasWord("IGNORE") {
		return nil
	}
	for _, row := range sw.m.st.Rows {
		if slices.ContainsFunc(row, func(e *ast.Expr) bool { return e != nil && sw.p.volatility.reason(sw.m.sc, e) != "" }) {
			return nil
		}
	}
	if where := sw.m.st.Conflict.Where; where != nil { // by base values it may be false: then nothing is computed of SET
		return sw.proofWithin(where, holds)
	}
	set := map[string]int{} // how often a column is assigned: SQLite does so once
	for _, a := range sw.m.st.Conflict.Set {
		set[sw.p.names.TargetColumn(sw.m.sc, sw.m.target, a.Column)]++
	}
	for _, a := range sw.m.st.Conflict.Set {
		name := sw.p.names.TargetColumn(sw.m.sc, sw.m.target, a.Column)
		if a.Value == nil || !slices.Contains(sw.m.table.Counter.Counters, name) || set[name] > 1 {
			continue
		}
		return sw.proofWithin(a.Value, holds)
	}
	return nil
}

// proofWithin is a proof that fails where an expression of the upsert is evaluated.
func (sw slotWriter) proofWithin(e *ast.Expr, holds string) *Proof {
	var tp template
	before, after := sw.p.src.cut(ast.Span{Start: 0, End: e.Start}), sw.p.src.cut(ast.Span{Start: e.End, End: len(sw.p.src.sql)})
	value := "CASE WHEN " + holds + " THEN " + tp.mark(sw.p.src.cut(e.Span)) + " END"
	return &Proof{Bound: tp.expand(sw.p.d, tp.mark(before)+value+tp.mark(after))}
}

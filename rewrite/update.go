package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"strings"
)

func (p *planning) planUpdate(st *ast.Statement) *Plan {
	if st.Opaque != "" {
		return p.drainAll(p.mentioned(), st.Opaque)
	}
	m := p.newDML(st)
	if st.Target == nil {
		return m.planMultiUpdate()
	}
	if m.table == nil {
		return m.planOther()
	}
	return m.planTarget()
}

// An increment is one counter = counter + something.
type increment struct {
	column *Column
	ops    []operand
	value  *ast.Expr // the whole
}

func (m *dml) planTarget() *Plan {
	if m.st.Replace {
		return m.drainAll(m.mentioned(), "the statement may replace rows")
	}
	a, why := m.assignments(m.st.Set)
	if why != "" {
		return m.drain(why)
	}
	if reads, why := m.reads(a.except); reads {
		if len(a.increments) > 0 || a.setsCompanion() {
			return m.drain(why)
		}
		return m.drain(why)
	}
	plan := m.planAssigned(a)
	if a.setsCompanion() && (plan.Class == AdditiveBase || plan.Class == PassThrough) {
		// On the base row its value would be older than the slots'.
		return m.drain("the statement sets companion " + a.companionName() + because(a.held, plan.Reason))
	}
	return m.changed(plan, m.table)
}

// because joins the reasons why a companion's statement is not slotted.
func because(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return ": " + r
		}
	}
	return ""
}

// planAssigned plans an UPDATE by its assignments.
func (m *dml) planAssigned(a assigned) *Plan {
	t := m.table
	if len(a.increments) == 0 {
		return &Plan{Class: PassThrough}
	}
	plan := m.base(a.increments, t)
	if plan.Class == Drain {
		return plan
	}
	if why := m.notSlotted(a); why != "" {
		plan.Reason = why
		return plan
	}
	rows := m.fixedRows(m.sc, m.target, m.st.Where)
	if len(t.Counter.Key) == 0 && m.st.Where == nil {
		rows = &rowset{binding: m.target, where: literal("1=1"), single: true}
	}
	if rows == nil || !rows.single {
		plan.Reason = "WHERE does not fix one row by a unique key"
		return plan
	}
	where := literal("1=1")
	if m.st.Where != nil {
		where = m.src.cut(m.st.Where.Span)
	}
	return m.slotted(plan, a, rows, where)
}

// assigned is SET, sorted.
type assigned struct {
	increments []increment
	companions []companionSet
	except     map[*ast.Expr]bool // values whose reading of a slotted column is taken care of
	plain      bool               // an ordinary column is set
	held       string             // why a companion cannot be set in a slot
	heldName   string             // which
}

func (a *assigned) setsCompanion() bool { return a.heldName != "" || len(a.companions) > 0 }

func (a *assigned) companionName() string {
	if a.heldName != "" {
		return a.heldName
	}
	return a.companions[0].column.Name
}

// assignments sorts SET into increments of counters and the rest; why names
// what makes the statement a drain.
func (m *dml) assignments(set []ast.Assignment) (out assigned, why string) {
	out.except = map[*ast.Expr]bool{}
	for _, a := range set {
		name, has := columnNamed(m.d, m.table, a.Column[len(a.Column)-1])
		switch {
		case !has || !m.qualifies(m.target, a.Column):
			return out, "cannot tell which column " + a.Column[len(a.Column)-1].Name + " is"
		case m.setsNothing(a.Value, name):
			out.plain = true
			out.except[a.Value] = true
			continue
		case m.table.ChangesKey(name):
			return out, "the statement changes a key"
		case m.table.Companion(name) != nil:
			if out.has(name) {
				return out, "the statement assigns companion " + name + " twice"
			}
			s, why := m.companionSet(m.table.Companion(name), a.Value)
			if why != "" {
				out.held, out.heldName = why, name
				continue
			}
			out.companions = append(out.companions, s)
			out.except[a.Value] = true
			continue
		case !m.table.IsCounter(name):
			out.plain = true
			continue
		case m.table.Counter.Unslotted.IsRetired(name):
			return out, retired(name)
		}
		ops, ok := m.additive(m.sc, a.Value, m.table, name)
		if !ok || len(ops) == 0 {
			return out, "the statement sets counter " + name
		}
		for _, i := range out.increments {
			if i.column.Name == name {
				return out, "the statement assigns counter " + name + " twice"
			}
		}
		out.increments = append(out.increments, increment{m.table.Column(name), ops, a.Value})
		out.except[a.Value] = true
	}
	m.implied(&out)
	return out, ""
}

// retired says why a change of a retired counter is drained for.
func retired(counter string) string {
	return "counter " + counter + " is no longer slotted, and slots may still hold part of it"
}

// setsNothing recognises c = c for a counter or a column that makes the key, which changes
// nothing: the base row keeps what it has, and the slots theirs. ON DUPLICATE
// KEY UPDATE id = id is how programs on MySQL allow for a row that is there
// already. The query of INSERT ... SELECT may have a column of that name.
func (m *dml) setsNothing(value *ast.Expr, name string) bool {
	if value == nil || m.st.Select != nil || !m.table.IsCounter(name) && !m.table.ChangesKey(name) {
		return false
	}
	e := ast.Unparen(value)
	return e.Kind == ast.ColumnRef && m.targetColumn(m.sc, m.target, e.Name) == name
}

func (a *assigned) has(companion string) bool {
	for _, s := range a.companions {
		if s.column.Name == companion {
			return true
		}
	}
	return a.heldName == companion
}

// base plans increments that run on the base row as they are.
func (m *dml) base(incs []increment, t *Table) *Plan {
	plan := &Plan{Class: AdditiveBase, Tables: []string{t.Name}}
	for _, inc := range incs {
		require, why := m.onBase(m.sc, m.target, outerJoins(m.st.From), inc.column, inc.ops)
		if why != "" {
			return m.drain(why)
		}
		plan.Base.Require = append(plan.Base.Require, require...)
	}
	plan.Base.Cover = m.covers
	if !plan.AsIs() {
		plan.Drain.Tables = m.drain("").Drain.Tables
	}
	return plan
}

// notSlotted says why a statement of increments only cannot be a slotted
// upsert, or "".
func (m *dml) notSlotted(a assigned) string {
	st := m.st
	for _, inc := range a.increments {
		if m.table.Counter.Unslotted.IsPassive(inc.column.Name) {
			return "counter " + inc.column.Name + " is passive in this process: its totals include what other processes count in slots"
		}
	}
	if why := m.forbidden(a); why != "" {
		return why
	}
	switch {
	case a.held != "":
		return a.held
	case a.plain:
		return "the statement also sets ordinary columns"
	case len(st.Returning) > 0:
		return "RETURNING needs the base row"
	case len(st.From) > 0 || len(st.With) > 0:
		return "an increment through a join runs on the base table"
	case len(st.OrderBy) > 0 || len(st.Limit) > 0 && !m.limitsNothing():
		return "ORDER BY or LIMIT needs the base row"
	case st.Modifier:
		return "a modifier or index hint needs the base row"
	}
	if why := m.volatile(m.sc, st.Where); why != "" {
		return "WHERE " + why
	}
	if m.d.Traits().SelfSubqueryFails && m.readsItself(st.Where) {
		return "WHERE has a subquery of the table itself, which an UPDATE cannot have"
	}
	return ""
}

// limitsNothing reports whether LIMIT takes at least one row: of a statement whose
// WHERE fixes one row it takes that, and one that has no such WHERE is not
// slotted anyway.
func (m *dml) limitsNothing() bool {
	e := m.st.Limit[0]
	return len(m.st.Limit) == 1 && e.Kind == ast.Number && strings.Trim(m.noted(m.src.sql[e.Start:e.End]), "0123456789") == "" &&
		strings.Trim(m.src.sql[e.Start:e.End], "0") != ""
}

// slotted turns a base plan into a slotted upsert, with a drain of the same
// row as its fallback.
func (m *dml) slotted(base *Plan, a assigned, rows *rowset, where fragment) *Plan {
	t := m.table
	if why := m.mistyped(m.typeAt(a.increments)); why != "" {
		base.Reason = why
		return base
	}
	a.increments = t.Counter.ordered(a.increments)
	var tp template
	in := IncrementSQL{
		Ref:       m.baseRef(t, rows.binding),
		Qualifier: m.qualifier(rows.binding),
		Where:     tp.mark(where),
		Slot:      tp.mark(bound(Arg{Slot: true})),
		Clustered: rows.primary,
		Inserts:   m.inserts(),
		Holds:     rows.binding == m.target && m.st.Where != nil && !rows.only,
	}
	in.Companions = companionSQL(a.companions, &tp)
	out := &Increment{Table: t, Companions: len(a.companions) > 0, Latest: a.setsLatest()}
	out.adds, out.base = len(base.Base.Cover) == 0, base.Base.Require
	out.onBase = out.adds && !out.Latest
	out.plain = out.onBase && len(base.Base.Require) == 0
	for _, s := range a.companions {
		if s.arg != nil {
			out.Inserted = append(out.Inserted, *s.arg)
		}
	}
	for _, inc := range a.increments {
		if plan := m.addDelta(base, inc, &in, out, &tp); plan != nil {
			return plan
		}
	}
	for _, k := range rows.args {
		if !numericColumn(k.column) {
			out.NotNumber = append(out.NotNumber, k.arg)
		}
	}
	compared, ok := m.comparedForms()
	if !ok {
		base.Reason = "a time, a UUID or an address is compared with a string of another form"
		return base
	}
	out.Forms = append(m.forms(rows.args), compared...)
	out.Bound = tp.expand(m.d, m.d.Increment(t, in))
	out.Holding = m.holding(in, &tp, out.Bound)
	out.Add, out.Key = m.addSQL(&tp, in, rows, false)
	out.AddLocked, _ = m.addSQL(&tp, in, rows, true)
	out.Which, out.ByOther = rows.which(t)
	out.Coalesced = m.coalesced(a, in, &tp, rows)
	out.Row = m.drainTable(t, rowsOrAll(t, rows))
	plan := &Plan{Class: Additive, Tables: []string{t.Name}, Increment: out, Drain: DrainPlan{Tables: []DrainTable{out.Row}}}
	m.latestOnBase(plan, a, in, rows, &tp)
	return plan
}

// addDelta adds a counter to a slotted upsert. It returns the plan of the statement where that does not take the delta.
func (m *dml) addDelta(base *Plan, inc increment, in *IncrementSQL, out *Increment, tp *template) *Plan {
	d, ok := m.deltaOf(inc.column, inc.ops)
	if !ok {
		base.Reason = "the delta is not a literal or a placeholder"
		return base
	}
	given, why := m.defaults(inc)
	if why != "" {
		base.Reason = why
		return base
	}
	out.Inserted = append(out.Inserted, given...)
	if d.literal == "" {
		largest, _ := limit(inc.column)
		require := d.demand(inc.column, largest)
		require.Side = m.table.Counter.Side(inc.column.Name)
		out.Deltas = append(out.Deltas, require)
		in.Deltas = append(in.Deltas, Delta{inc.column.Name, tp.mark(bound(d.arg))})
		return nil
	}
	fits, zero, negative := d.fits(inc.column)
	switch {
	case !fits:
		base.Reason = "the delta is too large or has too many digits"
		return base
	case negative && inc.column.Unsigned:
		return m.drain("the statement decrements unsigned counter " + inc.column.Name)
	case !zero && m.table.Counter.Side(inc.column.Name).Refuses(negative):
		base.Reason = "no slot of counter " + inc.column.Name + " takes such a number: its bounds keep slots on the other side of zero"
		return base
	}
	out.NonZero = out.NonZero || !zero
	in.Deltas = append(in.Deltas, Delta{inc.column.Name, tp.mark(literal(d.text(inc.column)))})
	return nil
}

// holding is the form of an upsert that keeps other sessions from changing the base row; nil if the
// upsert does that anyway.
func (m *dml) holding(in IncrementSQL, tp *template, upsert Bound) *Bound {
	in.Holds = true
	b := tp.expand(m.d, m.d.Increment(m.table, in))
	if b.SQL == upsert.SQL {
		return nil
	}
	return &b
}

// addSQL is the short form of an increment by the slots' own key, and the values of that
// key. There is none in a journal, where no row is added to twice. With locks it is the
// form for a transaction.
func (m *dml) addSQL(tp *template, in IncrementSQL, rows *rowset, locks bool) (bound *Bound, values []KeyValue) {
	key := m.table.Counter.Key
	switch {
	case m.table.Counter.Options.Placement == PlacementSkipLocked, m.table.Counter.Layout == LayoutJournal:
		return nil, nil
	case m.table.Counter.Single():
		// The slots are the row's as long as there is one row: a drain comes
		// before every other number of rows.
		if m.st.Where != nil {
			return nil, nil
		}
	case rows.key == nil || !rows.only || !rows.single || len(rows.key.Columns) != len(key):
		return nil, nil
	}
	for _, c := range in.Companions {
		if c.Merge != Latest {
			return nil, nil
		}
	}
	short := AddSQL{Slot: in.Slot, Deltas: in.Deltas, Companions: in.Companions, CheckBase: m.checkBase(), Inserts: in.Inserts, Locks: locks}
	for _, k := range key {
		v, ok := rows.values[k]
		if !ok {
			return nil, nil
		}
		short.Key = append(short.Key, tp.mark(v))
		values = append(values, v.keyValue())
	}
	sql := m.d.Add(m.table, short)
	if sql == "" {
		return nil, values
	}
	b := tp.expand(m.d, sql)
	return &b, values
}

// checkBase reports whether a slot row does not prove that its base row is there, and
// takes slots: an increment of another counter may have made it, or a program that
// has deleted the base row may have left it.
func (m *dml) checkBase() bool {
	return m.table.Counter.SharesSlotRows() || !m.table.Counter.Single() && !m.cascadesDelete(m.table)
}

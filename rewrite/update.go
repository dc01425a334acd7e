package rewrite

import (
	"cmp"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

func (p *planning) planUpdate(st *ast.Statement) *Plan {
	if st.Opaque != "" {
		return p.drains.drainAll(p.mentions.tables(), st.Opaque)
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
	column *schema.Column
	ops    []operand
	value  *ast.Expr // the whole
}

func (m *dml) planTarget() *Plan {
	if m.st.Replace {
		return m.p.drains.drainAll(m.p.mentions.tables(), mayReplace)
	}
	a, why := m.assignments(m.st.Set)
	if why != "" {
		return m.drain(why)
	}
	if reads, why := m.reads(a.except); reads {
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
	rows := m.p.keys.fixedRows(m.sc, m.target, m.st.Where)
	if len(t.Counter.Key) == 0 && m.st.Where == nil {
		rows = &rowset{binding: m.target, where: literal("1=1"), single: true}
	}
	if rows == nil || !rows.single {
		plan.Reason = notOneRow
		return plan
	}
	where := literal("1=1")
	if m.st.Where != nil {
		where = m.p.src.cut(m.st.Where.Span)
	}
	return slotWriterOf(m).slotted(plan, a, rows, where)
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
		name, has := names.Column(m.p.d, m.table, a.Column[len(a.Column)-1])
		switch {
		case !has || !m.p.names.Qualifies(m.target, a.Column):
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
		ops, ok := m.p.additive(m.sc, a.Value, m.table, name)
		if !ok || len(ops) == 0 {
			return out, setsCounter + name
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
	return e.Kind == ast.ColumnRef && m.p.names.TargetColumn(m.sc, m.target, e.Name) == name
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
func (m *dml) base(incs []increment, t *schema.Table) *Plan {
	plan := &Plan{Class: AdditiveBase, Tables: []string{t.Name}}
	for _, inc := range incs {
		require, why := m.onBase(m.sc, m.target, outerJoins(m.st.From), inc.column, inc.ops)
		if why != "" {
			return m.drain(why)
		}
		plan.Base.Require = append(plan.Base.Require, require...)
	}
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
			return cmp.Or(schema.Doubt(m.table), "counter "+inc.column.Name+" is passive in this process: its totals include what other processes count in slots")
		}
	}
	if why := m.forbidden(a); why != "" {
		return why
	}
	switch {
	case a.held != "":
		return a.held
	case a.plain:
		return alsoSets
	case len(st.Returning) > 0:
		return "RETURNING needs the base row"
	case len(st.From) > 0 || len(st.With) > 0:
		return "an increment through a join runs on the base table"
	case len(st.OrderBy) > 0 || len(st.Limit) > 0 && !m.limitsNothing():
		return "ORDER BY or LIMIT needs the base row"
	case st.Modifier:
		return "a modifier or index hint needs the base row"
	}
	if why := m.p.volatility.reason(m.sc, st.Where); why != "" {
		return "WHERE " + why
	}
	if m.p.d.Traits().SelfSubqueryFails && m.readsItself(st.Where) {
		return "WHERE has a subquery of the table itself, which an UPDATE cannot have"
	}
	return ""
}

// limitsNothing reports whether LIMIT takes at least one row: of a statement whose
// WHERE fixes one row it takes that, and one that has no such WHERE is not
// slotted anyway.
func (m *dml) limitsNothing() bool {
	e := m.st.Limit[0]
	return len(m.st.Limit) == 1 && e.Kind == ast.Number && strings.Trim(m.p.consts.noted(m.p.src.sql[e.Start:e.End]), "0123456789") == "" &&
		strings.Trim(m.p.src.sql[e.Start:e.End], "0") != ""
}

package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// planMultiUpdate plans UPDATE a JOIN b: additive ones run as they are.
//
//nolint:funlen // a list of rules, each with its reason
func (m *dml) planMultiUpdate() *Plan {
	except := map[*ast.Expr]bool{}
	var tables, changed []*schema.Table
	var require []DeltaArg
	writes := false // any column of a counter table
	for _, a := range m.st.Set {
		var owner *names.Binding
		column := a.Column[len(a.Column)-1]
		for _, b := range m.sc.Bindings {
			if !b.Counts || len(a.Column) > 1 && !m.p.names.SameLabel(a.Column[len(a.Column)-2], b.Label) {
				continue
			}
			if _, has := names.Column(m.p.d, b.Table, column); has {
				if owner != nil {
					return m.drain("cannot tell which table " + column.Name + " belongs to")
				}
				owner = b
			}
		}
		if owner == nil {
			continue
		}
		writes = true
		if !slices.Contains(changed, owner.Table) {
			changed = append(changed, owner.Table)
		}
		name, _ := names.Column(m.p.d, owner.Table, column)
		switch {
		case owner.Table.ChangesKey(name):
			return m.drain("the statement changes a key")
		case owner.Table.Companion(name) != nil:
			return m.drain("the statement sets companion " + name + " through a join")
		case !owner.Table.IsCounter(name):
			continue
		case owner.Table.Counter.Unslotted.IsRetired(name):
			return m.drain(retired(name))
		}
		// additive looks at the first binding: give it a scope in which the
		// owner is the first.
		others := slices.DeleteFunc(slices.Clone(m.sc.Bindings), func(b *names.Binding) bool { return b == owner })
		sc := &names.Scope{Parent: m.sc.Parent, Bindings: append([]*names.Binding{owner}, others...)}
		ops, ok := m.p.additive(sc, a.Value, owner.Table, name)
		if !ok {
			return m.drain("the statement sets a counter")
		}
		more, why := m.onBase(m.sc, owner, outerJoins(m.st.From), owner.Table.Column(name), ops)
		if why != "" {
			return m.drain(why)
		}
		require = append(require, more...)
		except[a.Value] = true
		tables = append(tables, owner.Table)
	}
	if !writes {
		return m.planOther()
	}
	if reads, why := m.reads(except); reads {
		return m.drain(why)
	}
	for _, a := range m.st.Set {
		for _, b := range m.sc.Bindings {
			if b.Counts && b.Table.TouchesCompanion() && (len(a.Column) == 1 || m.p.names.SameLabel(a.Column[len(a.Column)-2], b.Label)) {
				return m.drain("an UPDATE of " + b.Table.Name + " sets a companion")
			}
		}
	}
	if len(tables) == 0 {
		return m.changedJoined(&Plan{Class: PassThrough}, changed)
	}
	plan := &Plan{
		Class:  AdditiveBase,
		Tables: tableNames(tables),
		Base:   BasePlan{Require: require},
		Reason: "an increment through a join runs on the base table",
	}
	if !plan.AsIs() {
		plan.Drain.Tables = m.drain("").Drain.Tables
	}
	return m.changedJoined(plan, changed)
}

// joined returns the only source of an UPDATE of several tables that is a counter table; nil for
// other statements.
func (m *dml) joined() (found *names.Binding) {
	if m.st.Kind != ast.KindUpdate || m.st.Target != nil || !m.once {
		return nil
	}
	for _, b := range m.sc.Bindings {
		if b.Counts {
			found = b
		}
	}
	return found
}

// joinedOn is the conjunction of WHERE and of what inner joins ask. Each row of a table that such
// an UPDATE changes meets all of it: where an outer join around an inner one
// leaves the latter's rows out, there is no row to change.
func joinedOn(from []*ast.Source, where *ast.Expr) *ast.Expr {
	for _, s := range from {
		if s == nil || s.Left == nil && s.Right == nil {
			continue
		}
		where = joinedOn([]*ast.Source{s.Left, s.Right}, where)
		switch {
		case s.On == nil || s.LeftOuter || s.RightOuter:
		case where == nil:
			where = s.On
		default:
			where = &ast.Expr{Kind: ast.Binary, Op: "AND", Args: []*ast.Expr{where, s.On}}
		}
	}
	return where
}

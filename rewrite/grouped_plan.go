package rewrite

import (
	"cmp"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file decides whether executions of an UPDATE may share a statement on the base
// row, and splices that statement: the application's own SQL with sums in the place of
// what it adds, and bounds in the place of those that it holds counters against. All
// else stays as it is, byte for byte.
//
// It does not matter how the statement is planned otherwise: a group is about the base
// row, and asks no more of a counter than that its addition is exact.

// grouper plans the group of one UPDATE. Its table is as groups see it: every counter
// that the configuration names counts, and nothing is in slots.
type grouper struct {
	m     *dml
	p     *planning
	real  *schema.Table // with what is slotted
	group *Group
	rows  *rowset
	overwriting
	tp    template
	edits []edit
	also  []string // what else WHERE has to demand
	// implied are the guards of clamps, which WHERE has beside the application's: comparisons
	// of pieces of the statement.
	implied []*ast.Expr

	counts []counting
	// varies holds the columns that one execution may see otherwise than the one
	// before it; counted, those of them that do so because of what is added.
	varies, counted map[string]bool
	assigns         []assigning     // of ordinary columns
	returned        map[string]bool // ordinary columns that RETURNING reads
	uses            map[Arg][]string
}

// overwriting describes a shared statement that stores the values of one member only.
type overwriting struct {
	touch bool // it only sets touched columns
	// ownSQL reports whether the group's statement is one member's own, which may have literals of its own.
	ownSQL   bool
	literals []edit
}

// counting is one counter = counter + something.
type counting struct {
	column    *schema.Column
	delta     delta
	operand   operand
	first     *delta // what a new row begins with, where that is not what is added
	coalesced bool   // COALESCE(counter, 0) + something
}

// assigning is an assignment of an ordinary column.
type assigning struct {
	column *schema.Column
	value  *ast.Expr
}

// planGroup adds to a plan the form that executions of the statement share, or why
// there is none.
func (p *planning) planGroup(plan *Plan, st *ast.Statement) *Plan {
	switch plan.Class {
	case PassThrough, AdditiveBase, Additive, Drain:
	default:
		return plan
	}
	if st.Opaque != "" || st.Target == nil || st.Replace {
		return plan
	}
	m := p.newDML(st)
	if m.table == nil {
		return plan
	}
	g := newGrouper(m)
	compares := (ranAsIs(plan) || g.real.Counter.Slots == 0) && swapsOf(g).found()
	if g.touch = g.touches(); !compares && !g.touch && !g.increments() || !g.ofOneRow() {
		m.planClamp(plan)
		return plan
	}
	g.ownSQL = ranAsIs(plan) && (g.touch || g.group.CompareAndSet != nil)
	if plan.GroupReason = g.plan(); plan.GroupReason != "" {
		return plan
	}
	boundedOf(g).planBounded(plan)
	if !g.real.Counter.Options.Coalesce {
		plan.GroupReason = "coalesce: false"
		return plan
	}
	return g.planned(plan)
}

// planned adds the group to a plan.
func (g *grouper) planned(plan *Plan) *Plan {
	plan.Group = g.group
	asIs := ranAsIs(plan)
	if !asIs && g.real.Counter.Slots > 0 {
		return plan // slots of it are left over, and the total is more than the base row has
	}
	if g.group.Lease.Block = g.block(); g.group.Lease.Block > 0 {
		g.group.Lease.TryLock = g.tryLock()
	}
	if why := g.group.reason(); why != runsGrouped && asIs {
		plan.Class, plan.Reason, plan.Tables = AdditiveBase, why, tableNames([]*schema.Table{g.real})
	}
	return plan
}

// ranAsIs reports whether a statement runs as it is written, whatever is in slots.
func ranAsIs(plan *Plan) bool { return plan.Class == PassThrough || plan.Class == AdditiveBase }

func newGrouper(m *dml) *grouper {
	t, c, b := *m.table, *m.table.Counter, *m.target
	if c.Counted != nil {
		c.Counters = c.Counted
	}
	c.Companions = nil
	t.Counter, b.Table, b.Counts = &c, &t, true
	sc := &names.Scope{Bindings: []*names.Binding{&b}}
	b.Scope = sc
	return &grouper{
		p:        m.p,
		m:        &dml{p: m.p, st: m.st, sc: sc, target: &b, table: &t, once: true},
		real:     m.table,
		group:    &Group{Table: m.table},
		varies:   map[string]bool{},
		counted:  map[string]bool{},
		returned: map[string]bool{},
		uses:     map[Arg][]string{},
	}
}

// increments reports whether the statement increments a counter.
func (g *grouper) increments() bool {
	found := false
	for _, a := range g.m.st.Set {
		name, has := names.Column(g.p.d, g.m.table, a.Column[len(a.Column)-1])
		if !has || !g.m.table.IsCounter(name) || a.Value == nil {
			continue
		}
		ops, ok := g.p.additive(g.m.sc, g.insertID(a.Value), g.m.table, name)
		found = found || ok && len(ops) > 0
	}
	return found
}

// ofOneRow reports whether the statement changes one row, which its key names.
func (g *grouper) ofOneRow() bool {
	if len(g.m.st.From) > 0 {
		return false
	}
	if g.m.st.Where == nil {
		g.rows = &rowset{binding: g.m.target, single: true}
		return g.m.table.Counter.Single()
	}
	g.rows = g.p.keys.fixedRows(g.m.sc, g.m.target, g.m.st.Where)
	return g.rows != nil && g.rows.single
}

// insertID returns n + 1 of LAST_INSERT_ID(n + 1), and any other expression itself.
func (g *grouper) insertID(e *ast.Expr) *ast.Expr {
	if x := ast.Unparen(e); x.Kind == ast.Call && len(x.Args) == 1 && x.Op != "" && x.Op == g.p.d.Traits().InsertIDCall {
		return x.Args[0]
	}
	return e
}

// plan makes the group; why names what is in the way.
func (g *grouper) plan() (why string) {
	if why := g.excluded(); why != "" {
		return why
	}
	steps := []func() string{g.set, g.returning, g.assigned, g.where, g.arguments}
	if g.group.CompareAndSet != nil {
		steps = []func() string{swapsOf(g).plan, g.where, g.arguments}
	}
	for _, step := range steps {
		if why := step(); why != "" {
			return why
		}
	}
	for _, k := range g.rows.args {
		if !numericColumn(k.column) {
			g.group.NotNumber = append(g.group.NotNumber, k.arg)
		}
	}
	g.group.Bound = g.text()
	if g.touch && g.p.d.Traits().CountsChanged {
		if g.group.Unchanged = unchanged(g); g.group.Unchanged == nil {
			return "the statement sets a column to its default"
		}
	}
	if len(g.also) > 0 {
		one := g.group.Bound
		g.group.One = &one
		if why := g.demand(); why != "" {
			return why
		}
		g.group.Bound = g.text()
	}
	if len(g.literals) > 0 {
		g.edits = append(g.edits, g.literals...)
		g.group.SameSQL = g.text().SQL
	}
	g.many()
	return ""
}

// text is the statement with the edits.
func (g *grouper) text() Bound {
	f := g.p.src.cutEdited(ast.Span{Start: 0, End: len(g.p.src.sql)}, g.edits)
	return g.tp.expand(g.p.d, g.tp.expandSQL(g.tp.mark(f)))
}

// excluded names what of the table or the statement's form excludes every group.
func (g *grouper) excluded() string {
	t, st := g.real, g.m.st
	switch {
	case t.Triggers.Ruled || t.Triggers.UpdateRule:
		return "row-level security or a rewrite rule decides what an UPDATE of the table does"
	case t.Triggers.Update && (!t.Counter.Options.DeferTriggers || g.group.CompareAndSet != nil): // it may change the version
		return cmp.Or(t.Triggers.Unseen, "a trigger fires on UPDATE of the table")
	case t.Storage.Versioned:
		return "the table keeps every version of its rows"
	case t.IsView || t.Temporary:
		return "it is not a permanent table"
	case t.Storage.NoTransactions != "":
		return "the table's storage engine has no transactions"
	case len(st.With) > 0:
		return "the statement has WITH queries"
	case len(st.OrderBy) > 0 || len(st.Limit) > 0 && !g.m.limitsNothing():
		return "the statement has ORDER BY or LIMIT"
	case st.Modifier:
		return "the statement has a modifier or an index hint"
	}
	return ""
}

// edit replaces a piece of the statement by SQL that may have markers in it.
func (g *grouper) edit(sp ast.Span, sql string) { g.edits = append(g.edits, edit{sp, sql}) }

// arguments holds what is bound in several places against the engine's typing: where
// a placeholder has one type, which each of its places decides, the group has one for
// each place, and would run what the engine refuses.
func (g *grouper) arguments() string {
	if !g.p.d.Traits().TypedConstants {
		return ""
	}
	places := map[Arg]int{}
	for _, p := range g.p.src.params {
		places[p.arg]++
	}
	for arg, n := range places {
		types := g.uses[arg]
		for i := range types {
			if types[i] != types[0] {
				types = nil
				break
			}
		}
		if n > 1 && len(types) != n {
			return "an argument is used in several places"
		}
	}
	return ""
}

// unlike names why an expression need not have the same value for every member of a
// group; own are columns that it may read though they vary.
func (g *grouper) unlike(e *ast.Expr, own func(column string) bool) (why string) {
	e.Walk(func(x *ast.Expr) bool {
		if why != "" {
			return false
		}
		switch x.Kind {
		case ast.Subquery:
			why = "has a subquery"
		case ast.Star, ast.Excluded:
			why = "is of a form that slotsql does not analyze"
		case ast.ColumnRef:
			name := g.p.names.TargetColumn(g.m.sc, g.m.target, x.Name)
			switch {
			case name == "":
				why = "names " + nameText(x.Name) + ", which is no column of the table"
			case g.varies[name] && !own(name):
				why = "reads " + name + ", which the statement changes"
			}
		case ast.Call:
			if x.Aggregate || ofSession[x.Op] {
				why = "calls " + x.Op + "()"
			}
		}
		return why == ""
	})
	if why == "" {
		why = g.p.volatility.reasonBesides(g.m.sc, e, clocks)
	}
	return why
}

// ofSession are stable functions whose result is each session's own, even where all that the server
// tells of the sessions is alike: custom settings are in no list.
var ofSession = map[string]bool{"connection_id": true, "current_setting": true}

func none(string) bool { return false }

// share returns the number of the share that is added to a column, -1 for none.
func (g *grouper) share(column string) int {
	for i := range g.counts {
		if g.counts[i].column.Name == column {
			return i
		}
	}
	return -1
}

// sumText writes a sum or a bound of a column's numbers, as the engine takes it.
func (g *grouper) sumText(c *schema.Column, arg Arg) string {
	sql := g.tp.mark(bound(arg))
	if d, ok := g.p.d.(GroupingDialect); ok {
		return d.Amount(c, sql)
	}
	return sql
}

// reference writes the name of a column of the target.
func (g *grouper) reference(c *schema.Column) string {
	return g.p.names.Qualifier(g.m.target) + "." + g.p.d.Quote(c.Name)
}

// demand adds further conditions to WHERE, behind all other edits.
func (g *grouper) demand() string {
	sql := strings.Join(g.also, " AND ")
	if w := g.m.st.Where; w != nil {
		g.edits = append([]edit{{ast.At(w.Start), "("}}, g.edits...)
		g.edit(ast.At(w.End), ") AND "+sql)
		return ""
	}
	end := g.m.st.Set[len(g.m.st.Set)-1].Value
	if end == nil {
		return "the statement sets a column to its default"
	}
	rest := g.p.src.sql[g.p.src.nextToken(end.End):]
	if word := "RETURNING"; rest != "" && (len(rest) < len(word) || !equalFold(rest[:len(word)], word)) {
		return "cannot tell where SET ends"
	}
	g.edit(ast.At(end.End), " WHERE "+sql)
	return ""
}

package rewrite

import (
	"math"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A CompareAndSet is what the group of a compare and set has: an UPDATE of one row whose WHERE expects a value of a version column, which
// SET changes. Executions with the same WHERE overlap, so one of them, the first, is sent as it is written. If it affects no row, the row
// did not satisfy WHERE at a moment at which all of them were under way: any of them could have found that. If it affects the row, and the
// row does not satisfy WHERE any more, the others could have come just after it. Either way they affect no row.
type CompareAndSet struct {
	// Step is what becomes of the version; nil where that is not known to be a whole number.
	Step *VersionStep
	// Still reads the row if it satisfies WHERE: it is asked where the first one's result and Step do not tell.
	Still Bound
}

// A VersionStep is the value that an execution expects of a whole number, and the one that it sets. If they differ, and the column holds
// the second, then who affects the row has changed the version, and who finds the row affects it.
type VersionStep struct {
	Expects, Sets Term
	Adds          bool // Sets is added to what is expected
	Low, High     int64
}

// compares reports whether the statement is a compare and set, and notes its version column and what it expects.
func (g *grouper) compares() bool {
	if g.m.st.Where == nil {
		return false
	}
	for _, e := range equalities(g.m.st.Where) {
		column, values := g.p.keys.equated(g.m.sc, g.m.target, e)
		if column == nil || column.Kind != ast.ColumnRef || len(values) != 1 || !ast.Constant(values[0]) {
			continue
		}
		name := g.p.names.TargetColumn(g.m.sc, g.m.target, column.Name)
		set := g.assignmentOf(name)
		if set == nil || !slices.Contains(g.m.table.Counter.Versions, name) {
			continue
		}
		g.group.CompareAndSet = &CompareAndSet{Step: g.step(g.m.table.Column(name), values[0], set)}
		return true
	}
	return false
}

// assignmentOf returns what SET gives a column; nil for nothing, or its default.
func (g *grouper) assignmentOf(column string) *ast.Expr {
	for _, a := range g.m.st.Set {
		if name, has := names.Column(g.p.d, g.m.table, a.Column[len(a.Column)-1]); has && name == column {
			return a.Value
		}
	}
	return nil
}

// step returns what becomes of a version; nil if it is not known to be a whole number.
func (g *grouper) step(c *schema.Column, expects, sets *ast.Expr) *VersionStep {
	takes := g.p.consts.takes(c)
	if !takes.Integer || c.Domain != "" {
		return nil
	}
	s := &VersionStep{Low: takes.Low, High: int64(min(takes.High, math.MaxInt64))}
	change, counter := operand{expr: sets}, g.m.table.Counter
	counter.Counters = slices.Concat(counter.Counters, []string{c.Name}) // so that it is told what is added to it
	if ops, ok := g.p.additive(g.m.sc, sets, g.m.table, c.Name); ok {
		if len(ops) != 1 {
			return nil
		}
		s.Adds, change = true, ops[0]
	}
	var ok, also bool
	s.Expects, ok = g.term(c, operand{expr: expects})
	s.Sets, also = g.term(c, change)
	if !ok || !also {
		return nil
	}
	return s
}

// term reads a whole number that is compared with a column, added to it, or set.
func (g *grouper) term(c *schema.Column, op operand) (Term, bool) {
	d, ok := g.p.consts.deltaOf(c, []operand{op})
	if !ok || d.max > 0 {
		return Term{}, false
	}
	g.used(c, op.expr, d)
	if d.literal == "" {
		return Term{Arg: &d.arg}, true
	}
	n, ok := g.literalUnits(c, d)
	return Term{Literal: Literal{same: n}}, ok
}

// swap plans the statement of a compare and set. Only the first execution's values are ever stored, so that SET may be anything, but the
// engine might refuse another one's arguments though no row is found.
func (g *grouper) swap() string {
	if len(g.m.st.Returning) > 0 {
		return "the statement has RETURNING"
	}
	set := map[string]bool{}
	for _, a := range g.m.st.Set {
		name, has := names.Column(g.p.d, g.m.table, a.Column[len(a.Column)-1])
		twice := set[name]
		set[name] = true
		switch {
		case twice:
			return "the statement assigns " + name + " twice"
		case !has || !g.p.names.Qualifies(g.m.target, a.Column):
			return "cannot tell which column " + a.Column[len(a.Column)-1].Name + " is"
		case g.m.table.ChangesKey(name):
			return "the statement changes a key"
		case a.Value != nil && g.insertID(a.Value) != a.Value:
			return "the statement sets the last insert ID"
		case a.Value == nil || g.group.CompareAndSet.Step != nil && a.Value == g.assignmentOf(name) && slices.Contains(g.m.table.Counter.Versions, name):
			continue
		}
		if why := g.vary(assigning{g.m.table.Column(name), a.Value}); why != "" {
			return why
		}
	}
	still := "SELECT 1 FROM " + g.p.src.sql[g.m.st.Target.Start:g.m.st.Target.End] + " WHERE " + g.tp.mark(g.p.src.cut(g.m.st.Where.Span))
	if g.p.d.Traits().CountsChanged {
		still += " FOR UPDATE" // not what another transaction may roll back
	}
	g.group.CompareAndSet.Still = g.tp.expand(g.p.d, g.tp.expandSQL(still))
	return ""
}

// bindable returns the argument that an ordinary column is set to, and what it must be for the engine to take it where no row is found,
// whether or not the column does.
func (g *grouper) bindable(a assigning) *InsertedArg {
	arg, ok := g.p.src.paramAt(ast.Unparen(a.value).Span)
	text := InsertedArg{Arg: arg, Nullable: true, Length: maxBindable}
	switch typ := strings.ToLower(a.column.Type); {
	case !ok || ast.Unparen(a.value).Kind != ast.Param || a.column.Domain != "":
		return nil
	case !g.p.d.Traits().TypedConstants:
		text.Integer, text.Low, text.High, text.Time, text.Number = true, math.MinInt64, math.MaxInt64, true, true
		return &text
	case typ == "json" || typ == "jsonb":
		text.JSON = true
		return &text
	}
	given, _ := g.p.consts.checkInserted(a.column, a.value)
	if given != nil {
		given.Nullable = true
	}
	return given
}

// maxBindable bounds the text, in characters, that one execution may have and another one not.
const maxBindable = 16000

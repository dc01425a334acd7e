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
	Version string // the column
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

// swaps plans the group of a compare and set.
type swaps struct {
	g *grouper
	p *planning
}

func swapsOf(g *grouper) swaps { return swaps{g, g.p} }

// found reports whether the statement is a compare and set, and notes its version column and what it expects.
func (sw swaps) found() bool {
	g := sw.g
	if g.m.st.Where == nil {
		return false
	}
	for _, e := range equalities(g.m.st.Where) {
		column, values := sw.p.keys.equated(g.m.sc, g.m.target, e)
		if column == nil || column.Kind != ast.ColumnRef || len(values) != 1 || !ast.Constant(values[0]) {
			continue
		}
		name := sw.p.names.TargetColumn(g.m.sc, g.m.target, column.Name)
		set := sw.assigned(name)
		if set == nil || !slices.Contains(g.m.table.Counter.Versions, name) {
			continue
		}
		g.group.CompareAndSet = &CompareAndSet{Version: name, Step: sw.step(g.m.table.Column(name), values[0], set)}
		return true
	}
	return false
}

// assigned returns what SET gives a column; nil for nothing, or its default.
func (sw swaps) assigned(column string) *ast.Expr {
	for _, a := range sw.g.m.st.Set {
		if name, has := names.Column(sw.p.d, sw.g.m.table, a.Column[len(a.Column)-1]); has && name == column {
			return a.Value
		}
	}
	return nil
}

// step returns what becomes of a version; nil if it is not known to be a whole number.
func (sw swaps) step(c *schema.Column, expects, sets *ast.Expr) *VersionStep {
	g, takes := sw.g, sw.p.consts.takes(c)
	if !takes.Integer || c.Domain != "" {
		return nil
	}
	s := &VersionStep{Low: takes.Low, High: int64(min(takes.High, math.MaxInt64))}
	change, counter := operand{expr: sets}, g.m.table.Counter
	counter.Counters = slices.Concat(counter.Counters, []string{c.Name}) // so that it is told what is added to it
	if ops, ok := sw.p.additive(g.m.sc, sets, g.m.table, c.Name); ok {
		if len(ops) != 1 || ops[0].sometimes {
			return nil
		}
		s.Adds, change = true, ops[0]
	}
	var ok, also bool
	s.Expects, ok = sw.term(c, operand{expr: expects})
	s.Sets, also = sw.term(c, change)
	if !ok || !also {
		return nil
	}
	return s
}

// term reads a whole number that is compared with a column, added to it, or set.
func (sw swaps) term(c *schema.Column, op operand) (Term, bool) {
	d, ok := sw.p.consts.deltaOf(c, []operand{op})
	if !ok || d.max > 0 {
		return Term{}, false
	}
	sw.g.used(c, op.expr, d)
	if d.literal == "" {
		return Term{Arg: &d.arg}, true
	}
	n, ok := sw.g.literalUnits(c, d)
	return Term{Literal: Literal{same: n}}, ok
}

// plan plans the statement of a compare and set. Only the first execution's values are ever stored, so that SET may be anything, but the
// engine might refuse another one's arguments though no row is found.
func (sw swaps) plan() string {
	g, st, cs := sw.g, sw.g.m.st, sw.g.group.CompareAndSet
	if len(st.Returning) > 0 {
		return "the statement has RETURNING"
	}
	set := map[string]bool{}
	for _, a := range st.Set {
		name, has := names.Column(sw.p.d, g.m.table, a.Column[len(a.Column)-1])
		twice, version := set[name], cs.Step != nil && name == cs.Version
		set[name] = true
		switch {
		case !has || !sw.p.names.Qualifies(g.m.target, a.Column):
			return "cannot tell which column " + a.Column[len(a.Column)-1].Name + " is"
		case twice:
			return "the statement assigns " + name + " twice"
		case g.m.table.ChangesKey(name):
			return "the statement changes a key"
		case a.Value == nil || version:
			continue
		case g.insertID(a.Value) != a.Value:
			return "the statement sets the last insert ID"
		}
		if why := differ(g, assigning{g.m.table.Column(name), a.Value}, false); why != "" {
			return why
		}
	}
	still := "SELECT 1 FROM " + sw.p.src.sql[st.Target.Start:st.Target.End] + " WHERE " + g.tp.mark(sw.p.src.cut(st.Where.Span))
	if sw.p.d.Traits().CountsChanged {
		still += " FOR UPDATE" // not what another transaction may roll back
	}
	cs.Still = g.tp.expand(sw.p.d, g.tp.expandSQL(still))
	return ""
}

// bindable returns the argument that an ordinary column is set to, and what it must be for the engine to take it where no row is found,
// whether or not the column does.
func (sw swaps) bindable(a assigning) *InsertedArg {
	arg, ok := sw.p.src.paramAt(ast.Unparen(a.value).Span)
	text := InsertedArg{Arg: arg, Nullable: true, Length: maxBindable}
	switch typ := strings.ToLower(a.column.Type); {
	case !ok || ast.Unparen(a.value).Kind != ast.Param || a.column.Domain != "":
		return nil
	case !sw.p.d.Traits().TypedConstants:
		text.Integer, text.Low, text.High, text.Time, text.Number = true, math.MinInt64, math.MaxInt64, true, true
		return &text
	case typ == "json" || typ == "jsonb":
		text.JSON = true
		return &text
	}
	given, _ := sw.p.consts.checkInserted(a.column, a.value)
	if given != nil {
		given.Nullable = true
	}
	return given
}

// maxBindable bounds the text, in characters, that one execution may have and another one not.
const maxBindable = 16000

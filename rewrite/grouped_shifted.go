package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans guards on what is left of a counter, or is left over by it: a counter
// beside other columns, as in stock - reserved >= ?. The greater the counter, the greater
// is what it is added to and the smaller what it is subtracted from, rounded or not. So the
// guard holds for every member if it holds for the one that meets the counter at its worst.

// shiftedGuard plans l op r, where l is an incremented counter plus or minus what is the same
// for all members, as r is.
func (gg groupGuards) shiftedGuard(name string, counter, l *ast.Expr, op string, r *ast.Expr) string {
	computes := "computes with counter " + name
	negative, ok := gg.shift(l)
	if !ok || gg.g.unlike(r, none) != "" || ast.Constant(r) && !gg.isNumber(r) {
		return computes
	}
	i := gg.g.share(name)
	n := &gg.g.counts[i]
	if counter.Kind == ast.Call && n.column.Nullable && !n.coalesced {
		return "takes counter " + name + " for a number where it is NULL"
	}
	if gg.sameType(l, n.column) && ast.Unparen(r).Kind == ast.Param {
		d, _ := gg.p.consts.deltaOf(n.column, []operand{{expr: r}})
		gg.g.used(n.column, r, d)
	}
	guard := Guard{Share: i, AtLeast: (op[0] == '>') != negative, Max: guardMax(n.column)}
	if !gg.underflows(l) {
		gg.subtract(n.column, guard, counter)
		return ""
	}
	// It has to hold for the member that meets the counter at its best as well, of which it might be an error. What can be computed at
	// both ends can be computed between them.
	comparison, best := ast.Span{Start: min(l.Start, r.Start), End: max(l.End, r.End)}, guard
	best.AtLeast = !guard.AtLeast
	also := gg.p.src.cutEdited(comparison, gg.lessBound(n.column, best, counter))
	gg.g.edit(ast.At(comparison.Start), "("+gg.g.tp.expandSQL(gg.g.tp.mark(also))+" AND ")
	gg.subtract(n.column, guard, counter)
	gg.g.edit(ast.At(comparison.End), ")")
	return ""
}

// underflows reports whether an expression may be less than zero where the engine refuses that: a difference of unsigned numbers.
func (gg groupGuards) underflows(e *ast.Expr) bool {
	unsigned, subtracts := false, false
	e.Walk(func(x *ast.Expr) bool {
		subtracts = subtracts || x.Kind == ast.Binary && x.Op == "-"
		if x.Kind == ast.ColumnRef {
			c := gg.g.m.table.Column(gg.p.names.TargetColumn(gg.g.m.sc, gg.g.m.target, x.Name))
			unsigned = unsigned || c == nil || c.Unsigned
		}
		return true
	})
	return unsigned && subtracts
}

// isNumber reports whether a constant is a number or a placeholder for one.
func (gg groupGuards) isNumber(e *ast.Expr) bool {
	e, _ = ast.Signed(e, false)
	return e.Kind == ast.Number || e.Kind == ast.Param
}

// shift reports whether an expression is a counter plus or minus numbers that are the same for
// all members, and whether the counter is subtracted.
func (gg groupGuards) shift(e *ast.Expr) (negative, ok bool) {
	e = ast.Unparen(e)
	if e.Kind == ast.ColumnRef || gg.p.consts.coalesces(e) && ast.Constant(e.Args[1]) {
		return false, gg.g.countedIn(e) != ""
	}
	if e.Kind != ast.Binary || len(e.Args) != 2 || e.Op != "+" && e.Op != "-" {
		return false, false
	}
	l, r := e.Args[0], e.Args[1]
	switch {
	case gg.sameNumber(r):
		return gg.shift(l)
	case gg.sameNumber(l):
		negative, ok = gg.shift(r)
		return negative != (e.Op == "-"), ok
	}
	return false, false
}

// sameNumber reports whether an expression is a number of constants and columns that the
// statement leaves as they are.
func (gg groupGuards) sameNumber(e *ast.Expr) bool {
	if gg.g.unlike(e, none) != "" {
		return false
	}
	ok := true
	e.Walk(func(x *ast.Expr) bool {
		switch x.Kind {
		case ast.Paren, ast.Number, ast.Param:
		case ast.Binary:
			ok = ok && slices.Contains([]string{"+", "-", "*"}, x.Op)
		case ast.Call:
			ok = ok && gg.p.consts.coalesces(x)
		case ast.ColumnRef:
			ok = ok && numericColumn(gg.g.m.table.Column(gg.p.names.TargetColumn(gg.g.m.sc, gg.g.m.target, x.Name)))
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// sameType reports whether an expression is made of columns of a counter's type alone, so that it
// gives a placeholder beside it that type.
func (gg groupGuards) sameType(e *ast.Expr, c *schema.Column) bool {
	same := true
	e.Walk(func(x *ast.Expr) bool {
		switch x.Kind {
		case ast.Paren, ast.Binary:
		case ast.ColumnRef:
			other := gg.g.m.table.Column(gg.p.names.TargetColumn(gg.g.m.sc, gg.g.m.target, x.Name))
			same = same && other != nil && other.Type == c.Type
		default:
			same = false
		}
		return same
	})
	return same
}

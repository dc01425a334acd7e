package rewrite

import (
	"slices"
	"strings"
)

// This file judges expressions for aggregates by difference: whether they have a value for every base value, and whether
// these are exact numbers.

// safe reports whether an expression has a value for any base value: as cannotFail, with CASE, and with queries of one
// value, which name no counter of the block.
func (d *differ) safe(e *Expr) bool {
	x := unparen(e)
	if tested := nullTest(x); tested != nil {
		return d.safe(tested)
	}
	switch x.Kind {
	case Subquery:
		return slices.Contains(d.queries, x.Span)
	case ColumnRef:
		return d.ownColumn(x.Name) && (d.counter(x) != nil || !d.edited(x.Span))
	case Number, String, Param, Null:
		return true
	case In:
	case Binary:
		if x.Op != "AND" && x.Op != "OR" && !comparison[x.Op] {
			return false
		}
	case Unary:
		if x.Op != "NOT" && x.Op != "-" || x.Op == "-" && unparen(x.Args[0]).Kind != Number {
			return false
		}
	case Call:
		if x.Op != "coalesce" {
			return false
		}
	case Opaque:
		if x.Case == nil && !isRow(x) && !equalFold(x.Op, "between") {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(x.Args, func(a *Expr) bool { return !d.safe(a) })
}

// exact reports whether the values of an expression are exact numbers: their sum has no order.
func (d *differ) exact(e *Expr) bool {
	x := unparen(e)
	switch {
	case x.Kind == Null, isCondition(x):
		return true
	case x.Kind == Number:
		return !strings.ContainsAny(d.src.sql[x.Start:x.End], "eExX.")
	case x.Kind == ColumnRef:
		c := d.b.table.Column(d.targetColumn(d.sc, d.b, x.Name))
		return c != nil && (c.Numeric == Integer || c.Numeric == Decimal) && (d.counter(x) != nil || !d.d.Traits().AnyType)
	case x.Kind == Unary && x.Op == "-":
		return d.exact(x.Args[0])
	case x.Kind == Call && x.Op == "coalesce":
		return !slices.ContainsFunc(x.Args, func(a *Expr) bool { return !d.exact(a) })
	case x.Kind == Opaque && x.Case != nil:
		return (x.Case.Else == nil || d.exact(x.Case.Else)) &&
			!slices.ContainsFunc(x.Case.Whens, func(w When) bool { return !d.exact(w.Then) })
	}
	return false
}

// isCondition reports whether an expression is true, false or NULL: where that can be summed, it is 1 or 0.
func isCondition(x *Expr) bool {
	switch x.Kind {
	case In:
		return true
	case Binary:
		return x.Op == "AND" || x.Op == "OR" || x.Op != "" && comparison[x.Op] || nullTest(x) != nil
	case Unary:
		return x.Op == "NOT"
	case Opaque:
		return nullTest(x) != nil || equalFold(x.Op, "between")
	}
	return false
}

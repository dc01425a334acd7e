package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file is written.go for rows that come as arrays, one for each column:
//
//	FROM unnest($1::bigint[], $2::int[]) AS v (id, d)
//
// What the arrays hold is known when they are bound. If one is shorter than another,
// unnest fills it up with NULL.

// An arrayColumn is a column that unnest makes of an array.
type arrayColumn struct {
	array  *ast.Expr // a placeholder cast to an array type
	typ    string
	arg    Arg
	beside []Arg // the arrays of the other columns
}

// arrayOf returns the array that the column which e names is made of; nil where it is
// made of something else.
func (ws *writtenSources) arrayOf(sc *names.Scope, e *ast.Expr) *arrayColumn {
	b := ws.sourceOf(sc, e)
	if b == nil || b.Optional || b.Source.Func == nil {
		return nil
	}
	f := b.Source.Func
	at := ws.writtenAt(b, e.Name[len(e.Name)-1])
	if f.Kind != ast.Call || f.Op != "unnest" || f.Aggregate || at < 0 || at >= len(f.Args) {
		return nil
	}
	out := &arrayColumn{}
	for i, a := range f.Args {
		x := ast.Unparen(a)
		if x.Kind != ast.Opaque || x.Op != "cast" || len(x.Args) != 1 {
			return nil
		}
		typ, isArray := strings.CutSuffix(ws.consts.castType(x), "[]")
		arg, bound := ws.consts.src.paramAt(ast.Unparen(x.Args[0]).Span)
		if !isArray || !bound || ast.Unparen(x.Args[0]).Kind != ast.Param {
			return nil
		}
		if i == at {
			out.array, out.typ, out.arg = x, typ, arg
		} else {
			out.beside = append(out.beside, arg)
		}
	}
	return out
}

// arrayDelta is what an operand that is such a column demands of the arrays; nil for other
// operands.
func (ws *writtenSources) arrayDelta(sc *names.Scope, c *schema.Column, op operand) *DeltaArg {
	e, negative := ast.Signed(op.expr, op.negative)
	a := ws.arrayOf(sc, e)
	if a == nil {
		return nil
	}
	bits, ok := ws.consts.d.Traits().NumberCasts[a.typ]
	if !ok || bits == 0 && c.Numeric == schema.Integer {
		return nil // an array of numbers with digits after the point may have to be rounded
	}
	a.arg.Negate = negative
	_, scale := limit(c)
	return &DeltaArg{Arg: a.arg, NonNegative: c.Unsigned, Max: baseLimit(c), Scale: scale, Each: true, Beside: a.beside}
}

// anyOf writes column = ANY (array).
func (kf *keyFinder) anyOf(b *names.Binding, column string, array *ast.Expr) fragment {
	f := kf.src.cut(array.Span)
	f.parts[0] = kf.names.Qualifier(b) + "." + kf.d.Quote(column) + " = ANY (" + f.parts[0]
	f.parts[len(f.parts)-1] += ")"
	return f
}

package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file reads CASE as an increment that differs by row:
//
//	c = CASE id WHEN ? THEN c + ? WHEN ? THEN c + ? ELSE c END
//	c = c + CASE WHEN id = ? THEN 1 ELSE 0 END
//
// Each row gets the counter plus what its branch adds. On the base row that is
// exact when it is for every branch, as long as choosing one reads no counter.
// Without ELSE the value of all other rows is NULL: such a statement drains.

// additiveCase recognises a CASE each of whose branches is the counter plus
// something.
func (p *planning) additiveCase(sc *names.Scope, e *ast.Expr, t *schema.Table, column string) ([]operand, bool) {
	c := e.Case
	if c == nil || c.ElseNull() || c.Operand != nil && !p.counterFree(sc, c.Operand) {
		return nil, false
	}
	var out []operand
	for _, w := range c.Whens {
		ops, ok := p.additive(sc, w.Then, t, column)
		if !ok || !p.counterFree(sc, w.When) {
			return nil, false
		}
		out = append(out, ops...)
	}
	ops, ok := p.additive(sc, c.Else, t, column)
	if !ok {
		return nil, false
	}
	out = append(out, ops...)
	for i := range out {
		out[i].sometimes = true
	}
	return out, true
}

// branches returns what a CASE that is an operand itself adds.
func branches(op operand) []operand {
	c := op.expr.Case
	var out []operand
	for _, w := range c.Whens {
		out = append(out, operand{expr: w.Then, negative: op.negative})
	}
	return append(out, operand{expr: c.Else, negative: op.negative})
}

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
// exact when it is for every branch, as long as choosing one reads no counter,
// and as long as some branch is chosen: without ELSE the value of all other
// rows is NULL, and a base value of NULL would take the slots' part of the
// total with it. So a CASE without ELSE has to be shown to meet no other rows:
// each value that WHERE allows a column must be one that a WHEN names.

// additiveCase recognises a CASE each of whose branches is the counter plus
// something.
func (p *planning) additiveCase(sc *names.Scope, e *ast.Expr, t *schema.Table, column string) ([]operand, bool) {
	c := e.Case
	if c == nil || c.Operand != nil && !p.counterFree(sc, c.Operand) {
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
	if !c.ElseNull() {
		ops, ok := p.additive(sc, c.Else, t, column)
		if !ok {
			return nil, false
		}
		out = append(out, ops...)
	} else {
		out = append(out, operand{unless: e})
	}
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
	if c.ElseNull() {
		return append(out, operand{unless: op.expr})
	}
	return append(out, operand{expr: c.Else, negative: op.negative})
}

// Cover is what a CASE without ELSE, or with ELSE NULL, demands of bound arguments: that Arg is one
// of In. Number reports whether they are compared with a numeric column, and have to
// be integers; else strings.
type Cover struct {
	Arg    Arg
	In     []Arg
	Number bool
}

// coversAll reports whether a WHEN of the CASE is true for each row that WHERE selects, and what
// that demands of arguments.
func (m *dml) coversAll(e *ast.Expr) (covers []Cover, ok bool) {
	column, whens := m.chosenBy(e.Case)
	if column == "" || m.st.Where == nil {
		return nil, false
	}
	var values []*ast.Expr
	for _, c := range ast.Conjuncts(m.st.Where, nil) {
		name, list := m.equality(c)
		if name == column && (values == nil || len(list) < len(values)) {
			values = list
		}
	}
	if values == nil {
		return nil, false
	}
	number := numericColumn(m.table.Column(column))
	for _, v := range values {
		c := Cover{Number: number}
		arg, bound := m.p.consts.constantArg(v)
		found := false
		for _, w := range whens {
			a, ok := m.p.consts.constantArg(w)
			if bound && ok {
				found = found || a == arg
				c.In = append(c.In, a)
			}
			found = found || v.Kind == ast.String && w.Kind == ast.String && m.p.consts.noted(v.Text) == m.p.consts.noted(w.Text) && !number
		}
		if found {
			continue
		}
		if !bound || len(c.In) == 0 {
			return nil, false
		}
		c.Arg = arg
		covers = append(covers, c)
	}
	return covers, true
}

// chosenBy returns the column of the target that a CASE compares, and with
// what.
func (m *dml) chosenBy(c *ast.Case) (column string, values []*ast.Expr) {
	for i, w := range c.Whens {
		name, list := "", []*ast.Expr{ast.Unparen(w.When)}
		if c.Operand == nil {
			if name, list = m.equality(w.When); len(list) > 1 {
				return "", nil
			}
		} else if o := ast.Unparen(c.Operand); o.Kind == ast.ColumnRef {
			name = m.p.names.TargetColumn(m.sc, m.target, o.Name)
		}
		if name == "" || i > 0 && name != column {
			return "", nil
		}
		column = name
		values = append(values, list...)
	}
	return column, values
}

// equality reads column = value and column IN (values).
func (m *dml) equality(e *ast.Expr) (column string, values []*ast.Expr) {
	e = ast.Unparen(e)
	switch {
	case m.target == nil || m.table == nil:
		return "", nil
	case e.Kind == ast.Binary && e.Op == "=" && len(e.Args) == 2:
		l, r := ast.Unparen(e.Args[0]), ast.Unparen(e.Args[1])
		if l.Kind != ast.ColumnRef {
			l, r = r, l
		}
		if l.Kind == ast.ColumnRef {
			return m.p.names.TargetColumn(m.sc, m.target, l.Name), []*ast.Expr{r}
		}
	case e.Kind == ast.In && !e.Negated && len(e.Args) > 1 && ast.Unparen(e.Args[0]).Kind == ast.ColumnRef:
		for _, v := range e.Args[1:] {
			values = append(values, ast.Unparen(v))
		}
		return m.p.names.TargetColumn(m.sc, m.target, ast.Unparen(e.Args[0]).Name), values
	}
	return "", nil
}

// constantArg returns a placeholder's argument, or a whole number as one.
func (cs *constants) constantArg(e *ast.Expr) (Arg, bool) {
	switch e.Kind {
	case ast.Param:
		return cs.src.paramAt(e.Span)
	case ast.Number:
		d, ok := cs.simpleDelta([]operand{{expr: e}})
		for i := 0; ok && i < len(d.literal); i++ {
			ok = d.literal[i] != '.'
		}
		return Arg{Index: -1, Number: cs.noted(d.literal)}, ok && len(d.literal) < 19
	}
	return Arg{}, false
}

package ast

// Conjuncts appends the operands of the ANDs at the top of a condition to out.
func Conjuncts(e *Expr, out []*Expr) []*Expr {
	x := e
	for x.Kind == Paren {
		x = x.Args[0]
	}
	if x.Kind == Binary && x.Op == "AND" {
		for _, a := range x.Args {
			out = Conjuncts(a, out)
		}
		return out
	}
	return append(out, e)
}

// ElseNull reports whether a CASE none of whose WHENs is true is NULL: it has no ELSE, or ELSE NULL.
func (c *Case) ElseNull() bool { return c.Else == nil || Unparen(c.Else).Kind == Null }

// Subqueries returns the outermost subqueries of an expression.
func Subqueries(e *Expr) (out []*Expr) {
	if e == nil {
		return nil
	}
	e.Walk(func(x *Expr) bool {
		if x.Kind == Subquery {
			out = append(out, x)
			return false
		}
		return true
	})
	return out
}

// HasQuery reports whether a subquery is in an expression.
func HasQuery(e *Expr) bool {
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || x.Kind == Subquery
		return !found
	})
	return found
}

// Unparen takes the parentheses around an expression off.
func Unparen(e *Expr) *Expr {
	for e.Kind == Paren && len(e.Args) == 1 {
		e = e.Args[0]
	}
	return e
}

// Conditions appends the ON conditions of a join.
func (s *Source) Conditions(list []*Expr) []*Expr {
	if s == nil {
		return list
	}
	list = s.Right.Conditions(s.Left.Conditions(list))
	if s.On != nil {
		list = append(list, s.On)
	}
	return list
}

// Signed takes parentheses and signs off an expression, and reports whether the signs negate what is left; negative
// is what is known of it before.
func Signed(e *Expr, negative bool) (*Expr, bool) {
	for {
		switch {
		case e.Kind == Paren:
			e = e.Args[0]
		case e.Kind == Unary && e.Op == "-":
			e, negative = e.Args[0], !negative
		case e.Kind == Unary && e.Op == "+":
			e = e.Args[0]
		default:
			return e, negative
		}
	}
}

// Constant reports whether e has one value for the whole statement, known before it
// starts: literals, placeholders, and casts and signs of them.
func Constant(e *Expr) bool {
	if e == nil {
		return false
	}
	switch e.Kind {
	case Number, String, Null, Param:
		return true
	case Paren:
		return Constant(e.Args[0])
	case Unary:
		return (e.Op == "-" || e.Op == "+") && Constant(e.Args[0])
	case Opaque:
		return e.Op == "cast" && len(e.Args) == 1 && Constant(e.Args[0])
	}
	return false
}

// HasColumn reports whether an expression names a column.
func HasColumn(e *Expr) bool {
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || x.Kind == ColumnRef
		return !found
	})
	return found
}

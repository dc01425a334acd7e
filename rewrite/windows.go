package rewrite

import (
	"slices"
	"strings"
)

// This file finds the bounds that a block's conditions set to a counter.

// conditions finds the conditions that have windows, and those that W can be
// taken by.
func (c *candidates) conditions() {
	if c.q.Where == nil {
		return
	}
	for _, e := range conjuncts(c.q.Where, nil) {
		if c.repeatable(e) {
			c.rest = append(c.rest, "("+c.asWritten(e.Span)+")")
			continue
		}
		n := len(c.windows)
		if c.bounded(e, false) && len(c.windows) > n && len(c.windows) <= maxWindows {
			for i := n; i < len(c.windows); i++ {
				c.windows[i].before = slices.Clone(c.near)
			}
			c.near = append(c.near, "("+c.asWritten(e.Span)+")")
			if w, x := c.windows[n], unparen(e); w.implied != "" && x.Op != "AND" && x.Op != "OR" && x.Op != "NOT" {
				c.near = append(c.near, w.implied)
			}
			continue
		}
		c.windows = c.windows[:n]
	}
}

// asWritten is a piece of the block, by base values.
func (c *candidates) asWritten(sp Span) string { return c.tp.mark(c.src.cut(sp)) }

// byTotal is a piece of the block's conditions with totals.
func (c *candidates) byTotal(sp Span) string { return c.tp.mark(c.src.cutEdited(sp, c.edits)) }

// anySum notes that a row may meet a condition whatever its slots hold: the values
// of a long list may be anywhere.
func (c *candidates) anySum(e *Expr) bool {
	for _, a := range e.Args[1:] {
		if !constant(a) {
			return false
		}
	}
	c.windows = append(c.windows, window{column: c.counter(e.Args[0]), op: everySum})
	return true
}

// everySum stands for the comparison of a window that takes every row with slots.
const everySum = "any"

// maxListed is how many values of a list have windows of their own.
const maxListed = 3

// maxWindows bounds the windows of one source.
const maxWindows = 16

// repeatable reports whether a condition reads no counter and may be written in
// a query of the source alone.
func (c *candidates) repeatable(e *Expr) bool {
	return !c.edited(e.Span) && c.volatile(c.sc, e) == "" && c.own(e)
}

// edited reports whether anything has been replaced inside a span.
func (c *candidates) edited(sp Span) bool {
	c.work += len(c.edits)
	for _, e := range c.edits {
		if e.within(sp) {
			return true
		}
	}
	return c.work > maxWork
}

// bounded collects the windows of a condition, or of what NOT makes of it: where it is met by
// totals and not by base values, the row has base values and sums that one of them finds. It
// reports false for a condition of which that cannot be said.
//
// NOT is met where its operand is false. A base value is NULL where the total is, so what is false
// by totals and not by base values is, in one of its parts, false by totals and true by base values.
func (c *candidates) bounded(e *Expr, not bool) bool {
	e = unparen(e)
	if c.volatile(c.sc, e) != "" || !c.own(e) {
		return false
	}
	switch {
	case !c.edited(e.Span):
		return true // as true by base values as by totals
	case e.Kind == Binary && (e.Op == "AND" || e.Op == "OR"):
		for _, a := range e.Args {
			if !c.bounded(a, not) {
				return false
			}
		}
		return true
	case e.Kind == Unary && e.Op == "NOT" && len(e.Args) == 1:
		return c.bounded(e.Args[0], !not)
	case not:
		return c.missed(e)
	}
	return c.compared(e)
}

// missed collects the windows of a comparison that has to be false.
func (c *candidates) missed(e *Expr) bool {
	switch {
	case e.Kind == Binary && len(e.Args) == 2:
		return c.comparison(e.Args[0], negated[e.Op], e.Args[1]) || c.comparison(e.Args[1], exchanged(negated[e.Op]), e.Args[0])
	case c.between(e):
		return c.comparison(e.Args[0], "<", e.Args[1]) && c.comparison(e.Args[0], ">", e.Args[2])
	}
	return false
}

// compared collects the windows of a condition that compares a counter with constants.
func (c *candidates) compared(e *Expr) bool {
	switch {
	case e.Kind == Binary && len(e.Args) == 2:
		return c.comparison(e.Args[0], e.Op, e.Args[1]) || c.comparison(e.Args[1], exchanged(e.Op), e.Args[0]) || c.rows(e)
	case e.Kind == In && !e.Negated && len(e.Args) > 1:
		if _, ok := c.bound(c.counter(e.Args[0]), e.Args[1]); ok && len(e.Args) > maxListed {
			return c.anySum(e)
		}
		for _, a := range e.Args[1:] {
			if !c.comparison(e.Args[0], "=", a) {
				return false
			}
		}
		return true
	case c.between(e):
		return c.comparison(e.Args[0], ">=", e.Args[1]) && c.comparison(e.Args[0], "<=", e.Args[2])
	}
	return false
}

// between reports whether an expression is BETWEEN without NOT.
func (c *candidates) between(e *Expr) bool {
	return e.Kind == Opaque && strings.EqualFold(e.Op, "between") && len(e.Args) == 3 && c.only(e.Args[0].End, e.Args[1].Start, "BETWEEN")
}

// only reports whether a word is all that stands between two places.
func (c *candidates) only(from, to int, word string) bool {
	i := c.src.tokenAt(from)
	return c.src.is(i, word) && i+1 < len(c.src.tokens) && c.src.tokens[i+1].Start >= to
}

// turned is each comparison with its operands exchanged, negated with its result
// negated.
var (
	turned  = map[string]string{">": "<", ">=": "<=", "<": ">", "<=": ">="}
	negated = map[string]string{">": "<=", ">=": "<", "<": ">=", "<=": ">"}
)

// comparison adds the windows of `counter op constant`.
func (c *candidates) comparison(counter *Expr, op string, constant *Expr) bool {
	col := c.counter(counter)
	bound, ok := c.bound(col, constant)
	switch {
	case !ok:
		return false
	case op == "=":
		c.window(col, "<", ">=", bound)
		c.window(col, ">", "<=", bound)
	case turned[op] == "":
		return false
	default:
		c.window(col, negated[op], op, bound)
	}
	return true
}

// exchanged is a comparison with its operands exchanged.
func exchanged(op string) string {
	if op == "=" {
		return op
	}
	return turned[op]
}

// rows adds the window of `(counter, ...) < (constant, ...)`: what meets it has a
// counter of at most that constant, and what does not of at least.
func (c *candidates) rows(e *Expr) bool {
	l, r := unparen(e.Args[0]), unparen(e.Args[1])
	if !isRow(l) || !isRow(r) || len(l.Args) != len(r.Args) || turned[e.Op] == "" {
		return false
	}
	op := e.Op
	if c.counter(l.Args[0]) == nil {
		l, r, op = r, l, turned[op]
	}
	col := c.counter(l.Args[0])
	bound, ok := c.bound(col, r.Args[0])
	if !ok {
		return false
	}
	if op[0] == '>' {
		c.window(col, "<=", ">=", bound)
	} else {
		c.window(col, ">=", "<=", bound)
	}
	w := &c.windows[len(c.windows)-1]
	w.implied = c.base(col) + " " + w.op + " " + bound
	return true
}

func (c *candidates) window(col *Column, edge, op, bound string) {
	edge = c.base(col) + " " + edge + " " + bound
	c.windows = append(c.windows, window{column: col, down: op[0] == '>', edge: edge, op: op, bound: bound})
}

// base writes the base value of a counter.
func (c *candidates) base(col *Column) string { return c.qualifier(c.b) + "." + c.d.Quote(col.Name) }

// counter returns the counter of the source that an expression is, or nil.
func (c *candidates) counter(e *Expr) *Column {
	if e = unparen(e); e.Kind != ColumnRef {
		return nil
	}
	t, err := c.resolve(c.sc, e.Name)
	if err != nil || t == nil || t.binding != c.b || t.column == nil || !c.b.table.IsCounter(t.column.Name) {
		return nil
	}
	if c.d.Traits().AnyType && t.column.Numeric != Integer {
		return nil
	}
	return t.column
}

// bound writes a constant as it compares with the counter, beside an expression
// that has no type of a column's.
func (c *candidates) bound(col *Column, e *Expr) (string, bool) {
	switch {
	case col == nil:
		return "", false
	case !constant(e):
		return "", false
	}
	sql := c.tp.mark(c.src.cut(e.Span))
	typed := c.d.Traits().ConstantType
	switch e = unparen(e); {
	case e.Kind == Null:
		return "", false
	case typed == nil || e.Kind != Param && e.Kind != String:
		return sql, true
	}
	return "CAST(" + sql + " AS " + typed(col) + ")", true
}

// own reports whether all columns that an expression names are certainly the source's, and there is no query in it.
func (c *candidates) own(e *Expr) bool { return namesOnly(e, c.ownColumn, nil) }

// namesOnly reports whether an expression names only columns of a kind, and has only queries of a
// kind in it, none where that is nil.
func namesOnly(e *Expr, column func(name []Ident) bool, query func(*Expr) bool) bool {
	ok := true
	e.Walk(func(x *Expr) bool {
		switch x.Kind {
		case ColumnRef:
			ok = ok && column(x.Name)
		case Subquery:
			ok = ok && query != nil && query(x)
		case Star, Excluded:
			ok = false
		}
		return ok
	})
	return ok
}

func (c *candidates) ownColumn(name []Ident) bool {
	has, err := c.hasColumn(c.b, name[len(name)-1])
	return err == nil && has == yes && len(name) <= 2 && (len(name) == 1 || c.sameLabel(name[0], c.b.label))
}

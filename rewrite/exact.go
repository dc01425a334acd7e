package rewrite

import (
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An increment that runs on the base row is exact only when base value + x
// differs from total + x by exactly what the slots hold: x must not be NULL
// (the base value would be, and a later COALESCE(c, 0) + 1 would start from it
// with the slots still there), and the sum must not be rounded, because
// rounding does not commute with adding. So x is a literal or an argument that
// the column stores as it is, a column of that kind that is never NULL, a column whose values the
// statement writes (written.go), or a number of rows.

// onBase reports whether an increment by these operands is exact on the base row,
// and what that demands of its arguments; why names what is in the way.
func (m *dml) onBase(sc *names.Scope, own *names.Binding, outer bool, c *schema.Column, ops []operand) (require []DeltaArg, why string) {
	for _, op := range ops {
		op.sometimes = false
		switch {
		case op.expr == nil:
			return nil, setsCounter + c.Name
		case ast.Unparen(op.expr).Case != nil:
			if op.expr = ast.Unparen(op.expr); op.expr.Case.ElseNull() {
				return nil, "a CASE without ELSE may set counter " + c.Name + " to NULL"
			}
			more, why := m.onBase(sc, own, outer, c, branches(op))
			if why != "" {
				return nil, why
			}
			require = append(require, more...)
			continue
		}
		if d, ok := m.p.consts.deltaOf(c, []operand{op}); ok {
			r, why := d.onBase(c)
			if why != "" {
				return nil, why
			}
			if r != nil {
				require = append(require, *r)
			}
			continue
		}
		if rows := m.p.written.writtenDeltas(sc, c, op); rows != nil {
			more, why := m.onBase(sc, own, outer, c, rows)
			if why != "" {
				return nil, why
			}
			require = append(require, more...)
			continue
		}
		if !wholeColumn(m.p, sc, own, outer, c, op) {
			return nil, "the delta of counter " + c.Name + " may be NULL or negative, or may have to be rounded"
		}
	}
	return require, ""
}

func (d delta) onBase(c *schema.Column) (*DeltaArg, string) {
	if d.literal == "" {
		require := d.demand(c, baseLimit(c))
		return &require, ""
	}
	_, scale := limit(c)
	whole, frac, _ := strings.Cut(strings.TrimPrefix(d.literal, "-"), ".")
	switch frac = strings.TrimRight(frac, "0"); {
	case len(frac) > scale && (c.Numeric != schema.Decimal || c.Precision != 0):
		return nil, "the delta of counter " + c.Name + " is rounded"
	case len(strings.TrimLeft(whole, "0")) > baseDigits(c):
		return nil, "the delta of counter " + c.Name + " is too large"
	case c.Unsigned && strings.HasPrefix(d.literal, "-"):
		return nil, "the statement decrements unsigned counter " + c.Name
	}
	return nil, ""
}

// baseLimit is how large a delta may be that goes to the base row: far enough
// from the end of the range for slots to stay inside.
func baseLimit(c *schema.Column) int64 {
	switch {
	case c.Numeric == schema.Decimal:
		largest, _ := limit(c)
		return largest
	case c.Bits >= 64:
		return 1 << 56
	}
	return 1 << 24
}

// baseDigits is how many digits a delta may have to be certainly within baseLimit.
func baseDigits(c *schema.Column) int { return len(strconv.FormatInt(baseLimit(c), 10)) - 1 }

// wholeColumn reports whether an operand is a column, or what the INSERT gives
// for one, that is never NULL and that c stores as it is. outer reports whether the
// statement has outer joins, which make NULLs of other tables' columns.
func wholeColumn(p *planning, sc *names.Scope, own *names.Binding, outer bool, c *schema.Column, op operand) bool {
	e := op.expr
	for e.Kind == ast.Paren {
		e = e.Args[0]
	}
	if op.negative && c.Unsigned || e.Kind != ast.ColumnRef && e.Kind != ast.Excluded {
		return e.Kind == ast.Subquery && !(op.negative && c.Unsigned) && countsAll(e.Query)
	}
	b := own
	if e.Kind == ast.ColumnRef && len(e.Name) > 1 {
		b = nil
		for _, x := range sc.Bindings {
			if p.names.SameLabel(e.Name[len(e.Name)-2], x.Label) {
				b = x
			}
		}
	} else if e.Kind == ast.ColumnRef && len(sc.Bindings) != 1 {
		return false
	}
	if b == nil || b.Opaque || len(b.Columns) > 0 || outer && b != own {
		return false
	}
	if b.Query != nil {
		return numberOfRows(p, b.Query, e.Name[len(e.Name)-1])
	}
	t := b.Table
	if t == nil {
		if t, _ = p.names.Lookup(b.Source.Name); t == nil {
			return false
		}
	}
	name, ok := names.Column(p.d, t, e.Name[len(e.Name)-1])
	if !ok {
		return false
	}
	o := t.Column(name)
	switch {
	case o.Nullable || o.Unsigned != c.Unsigned:
		return false
	case c.Numeric == schema.Decimal:
		return o.Numeric == schema.Integer || o.Numeric == schema.Decimal && (c.Precision == 0 || o.Precision > 0 && o.Scale <= c.Scale)
	}
	return o.Numeric == schema.Integer
}

// numberOfRows reports whether a column of a query in FROM is COUNT: it is a whole number, which is
// neither NULL nor negative.
func numberOfRows(p *planning, q *ast.Select, name ast.Ident) bool {
	var found *ast.Expr
	for _, it := range q.Items {
		switch {
		case it.Alias != nil && p.names.SameLabel(name, *it.Alias):
			if found != nil {
				return false
			}
			found = it.Expr
		case it.Alias == nil && (it.Expr == nil || it.Expr.Kind == ast.Star):
			return false
		}
	}
	return len(q.Operands) == 0 && isCount(found)
}

// countsAll reports whether a query used as a value is COUNT of all its rows: it has one row.
func countsAll(q *ast.Select) bool {
	return q != nil && len(q.Operands) == 0 && len(q.Items) == 1 && isCount(q.Items[0].Expr) &&
		len(q.GroupBy) == 0 && q.Having == nil && len(q.Limit) == 0 && !q.Distinct
}

func isCount(e *ast.Expr) bool {
	return e != nil && ast.Unparen(e).Kind == ast.Call && ast.Unparen(e).Op == "count"
}

// outerJoins reports whether any source is an outer join.
func outerJoins(list []*ast.Source) bool {
	for _, s := range list {
		if s != nil && (s.LeftOuter || s.RightOuter || outerJoins([]*ast.Source{s.Left, s.Right})) {
			return true
		}
	}
	return false
}

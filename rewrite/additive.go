package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An operand is what an increment adds to its counter.
type operand struct {
	expr      *ast.Expr
	negative  bool
	sometimes bool // it is added to some rows only
	stored    bool // the INSERT stores it before it is added
}

// additive recognises value as counter plus something: c + x, x + c, c - x,
// COALESCE(c, 0) + x, CAST(c AS SIGNED) + x, in parentheses or not. The operands are the x. It is
// exact for NULL too: a NULL counter has no slots, so the base value is all
// there is to it.
func (p *planning) additive(sc *names.Scope, value *ast.Expr, t *schema.Table, column string) ([]operand, bool) {
	if value == nil {
		return nil, false
	}
	switch value.Kind {
	case ast.Paren:
		return p.additive(sc, value.Args[0], t, column)
	case ast.ColumnRef:
		return nil, p.names.IsColumn(sc, value, t, column)
	case ast.Call:
		if p.consts.coalesces(value) && p.names.IsColumn(sc, value.Args[0], t, column) && ast.Constant(value.Args[1]) {
			return nil, true
		}
	case ast.Opaque:
		if x, bits := p.consts.castNumber(value); x != nil {
			ops, ok := p.additive(sc, x, t, column)
			if len(ops) > 0 && p.consts.storesLike(t.Column(column), bits) {
				return ops, ok
			}
			return nil, ok && len(ops) == 0 && p.consts.keepsNumbers(t.Column(column), bits)
		}
		return p.additiveCase(sc, value, t, column)
	case ast.Binary:
		if len(value.Args) != 2 || value.Op != "+" && value.Op != "-" {
			return nil, false
		}
		l, r := value.Args[0], value.Args[1]
		if ops, ok := p.additive(sc, l, t, column); ok && p.counterFree(sc, r) {
			return append(ops, operand{expr: r, negative: value.Op == "-"}), true
		}
		if ops, ok := p.additive(sc, r, t, column); ok && value.Op == "+" && p.counterFree(sc, l) {
			return append(ops, operand{expr: l}), true
		}
	}
	return nil, false
}

// keepsNumbers reports whether a cast to a type of so many bits, of any number for 0, leaves every number
// of a column as it is. CAST(c AS SIGNED) - 1 is then c - 1, except that what is less than 0 is
// no error before it is stored. Where a column holds values of any type a cast may change one.
func (cs *constants) keepsNumbers(c *schema.Column, bits int) bool {
	switch {
	case c == nil || cs.d.Traits().AnyType:
		return false
	case c.Numeric == schema.Integer && c.Bits > 0 && bits > 0:
		return c.Bits < bits || c.Bits == bits && !c.Unsigned
	}
	return bits == 0 && (c.Numeric == schema.Integer || c.Numeric == schema.Decimal)
}

// storesLike reports whether a cast to a type of so many bits does to a sum what storing it in the
// column does: (c + 1)::integer of an integer is the number or the error that c + 1 is.
func (cs *constants) storesLike(c *schema.Column, bits int) bool {
	return cs.d.Traits().TypedConstants && c != nil && c.Numeric == schema.Integer && !c.Unsigned && c.Bits > 0 && c.Bits == bits &&
		c.Domain == ""
}

// counterFree reports whether evaluating e reads no counter.
func (p *planning) counterFree(sc *names.Scope, exprs ...*ast.Expr) bool {
	r := &reader{p: p}
	for _, e := range exprs {
		if err := r.in(sc, nil).expr(e, inPredicate); err != nil {
			return false
		}
	}
	return len(r.edits) == 0 && !r.found.locks && !r.found.writes
}

// A delta is the simple form of an increment's operand: a literal or a
// placeholder.
type delta struct {
	literal string // signed number; "" for a placeholder
	arg     Arg
	max     int64 // the greatest number that a cast of it takes; 0 for any
	// float: a string that is bound to it is added as a floating-point number, which may not have all digits of the sum.
	float bool
}

// demand returns what a bound delta of column c must be to be added exactly, in a slot, on a base row or in a group. Most
// is the largest magnitude.
func (d delta) demand(c *schema.Column, most int64) DeltaArg {
	_, scale := limit(c)
	if d.float {
		scale = 0
	}
	return DeltaArg{Arg: d.arg, NonNegative: c.Unsigned, Max: d.most(most), Scale: scale}
}

// most returns how large the bound delta may be, of which n is the limit.
func (d delta) most(n int64) int64 {
	if d.max > 0 {
		return min(n, d.max)
	}
	return n
}

func (cs *constants) simpleDelta(ops []operand) (delta, bool) {
	if len(ops) != 1 || ops[0].sometimes {
		return delta{}, false
	}
	e, negative := ops[0].expr, ops[0].negative
	if e == nil { // DEFAULT
		return delta{}, false
	}
	e, negative = ast.Signed(e, negative)
	switch e.Kind {
	case ast.Number:
		s := cs.src.sql[e.Start:e.End]
		if strings.HasPrefix(s, "-") {
			s, negative = s[1:], !negative
		}
		if strings.Trim(s, "0123456789.") != "" || strings.Count(s, ".") > 1 || strings.Trim(s, ".") == "" {
			return delta{}, false
		}
		if negative {
			s = "-" + s
		}
		return delta{literal: s}, true
	case ast.Param:
		a, ok := cs.src.paramAt(e.Span)
		a.Negate = negative
		return delta{arg: a}, ok
	}
	return delta{}, false
}

// limit returns how large a slotted delta of a column may be, and how many
// digits it may have behind the point.
func limit(c *schema.Column) (largest int64, scale int) {
	if c.Numeric == schema.Decimal {
		digits := c.Precision - c.Scale - 2
		if c.Precision == 0 || digits > 12 {
			digits = 12
		}
		largest = 1
		for ; digits > 0; digits-- {
			largest *= 10
		}
		return largest, c.Scale
	}
	if c.Bits >= 64 {
		return 1 << 40, 0
	}
	return 1 << 18, 0
}

// fits reports whether a literal delta can be slotted: a number of at most so
// many digits that the column stores as it is.
func (d delta) fits(c *schema.Column) (ok, zero, negative bool) {
	largest, scale := limit(c)
	s := d.literal
	if negative = strings.HasPrefix(s, "-"); negative {
		s = s[1:]
	}
	whole, frac, _ := strings.Cut(s, ".")
	if c.Numeric != schema.Decimal || c.Precision > 0 { // PostgreSQL's plain numeric keeps them: 6 + 10.00 is 16.00
		frac = strings.TrimRight(frac, "0")
	}
	whole = strings.TrimLeft(whole, "0")
	if len(frac) > scale || len(whole) > 18 {
		return false, false, negative
	}
	var n int64
	for i := 0; i < len(whole); i++ {
		n = n*10 + int64(whole[i]-'0')
	}
	return n <= largest, n == 0 && frac == "", negative
}

// text writes the literal so that it is read back without rounding.
func (d delta) text(c *schema.Column) string {
	if _, scale := limit(c); scale == 0 {
		whole, _, _ := strings.Cut(d.literal, ".")
		if whole == "" || whole == "-" {
			whole += "0"
		}
		return whole
	}
	return d.literal
}

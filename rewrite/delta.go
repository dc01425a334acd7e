package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// constants reads what a statement has in it as values: numbers, strings and placeholders, as an increment adds them,
// as a column stores them and as a key is compared with them.
type constants struct {
	d         Dialect
	src       *source
	sentinels *sentinels
}

// noted records that a decision depends on a piece of the statement, and returns the piece.
func (cs *constants) noted(s string) string { return cs.sentinels.noted(s) }

// This file recognises what a statement adds to a counter: a number or a
// placeholder, as it is or cast to a number, or a string of digits.

// deltaOf is simpleDelta of what is added to column c, for further forms that
// add the very same number.
//
// A cast to a type of number changes no number that the type holds: what is
// bound, and is not such a number, is refused when it is bound, and the original
// text then casts it. A string of
// digits is the integer that it spells, to every engine. MySQL adds it as a
// floating-point number, which is exact, and stored as it is, while the sum
// stays far below 2^53: in columns of 32 bits.
func (cs *constants) deltaOf(c *schema.Column, ops []operand) (delta, bool) {
	if d, ok := cs.simpleDelta(ops); ok {
		d.float = d.literal == "" && !ops[0].stored && cs.d.Traits().StringsAreFloats && c.Numeric == schema.Decimal && c.Precision > 15
		cs.noteDelta(c, d.literal)
		return d, true
	}
	if len(ops) != 1 || ops[0].sometimes || ops[0].expr == nil {
		return delta{}, false
	}
	e, negative := ast.Signed(ops[0].expr, ops[0].negative)
	if x, bits := cs.castNumber(e); x != nil && (bits == 0 || c.Numeric == schema.Integer) {
		e, negative = ast.Signed(x, negative)
		if e.Kind == ast.String {
			return cs.digits(e, negative)
		}
		d, ok := cs.simpleDelta([]operand{{expr: e, negative: negative}})
		cs.noted(d.literal)
		if bits == 32 {
			d.max = 1<<31 - 1
		}
		// A cast to an integer rounds a literal, and refuses one of ten digits
		// that is too large.
		return d, ok && !strings.Contains(d.literal, ".") && len(d.literal) < 10
	}
	if e.Kind == ast.String && (!cs.d.Traits().StringsAreFloats || c.Numeric == schema.Integer && c.Bits <= 32) {
		return cs.digits(e, negative)
	}
	return delta{}, false
}

// noteDelta notes that the planner decides by what is added to a counter, where that may
// be beyond a limit or have too many digits.
func (cs *constants) noteDelta(c *schema.Column, literal string) {
	if cs.sentinels == nil || literal == "" {
		return
	}
	largest, scale := limit(c)
	cs.sentinels.noteBehind(literal, scale)
	unit := pow10(scale)
	for _, n := range []int64{largest, pow10(baseDigits(c)) - 1, shareMax(c) / unit, guardMax(c) / unit, pow10(12) - 1} {
		cs.sentinels.noteAbove(literal, n)
	}
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// digits is the delta of a string that spells an integer of up to nine digits,
// with a sign or without.
func (cs *constants) digits(e *ast.Expr, negative bool) (delta, bool) {
	s := cs.noted(e.Text)
	if strings.HasPrefix(s, "-") {
		s, negative = s[1:], !negative
	}
	if s == "" || len(s) > 9 || strings.Trim(s, "0123456789") != "" {
		return delta{}, false
	}
	if negative {
		s = "-" + s
	}
	return delta{literal: s}, true
}

// insertedDelta is deltaOf for what the INSERT gives for the column of a number: a string is stored as
// the number that it spells, and what is computed of it is no floating-point number.
func (cs *constants) insertedDelta(c, of *schema.Column, op operand) (delta, bool) {
	if e := ast.Unparen(op.expr); e.Kind == ast.String && (of.Numeric == schema.Integer || of == c && c.Numeric == schema.Decimal) {
		return cs.spelled(e, op.negative)
	}
	op.stored = true
	return cs.deltaOf(c, []operand{op})
}

// spelled is the delta of a string that spells a number of up to fifteen digits.
func (cs *constants) spelled(e *ast.Expr, negative bool) (delta, bool) {
	s := cs.noted(e.Text)
	if e.End-e.Start != len(s)+2 {
		return delta{}, false // not between two quotes
	}
	if strings.HasPrefix(s, "-") {
		s, negative = s[1:], !negative
	}
	whole, frac, point := strings.Cut(s, ".")
	if whole == "" || point && frac == "" || len(s) > 15 || strings.Trim(whole+frac, "0123456789") != "" {
		return delta{}, false
	}
	if negative {
		s = "-" + s
	}
	return delta{literal: s}, true
}

// castNumber returns what e casts to a type of number, and the type's bits: 0
// where it holds any number.
func (cs *constants) castNumber(e *ast.Expr) (x *ast.Expr, bits int) {
	if e.Kind != ast.Opaque || !strings.EqualFold(e.Op, "cast") || len(e.Args) != 1 {
		return nil, 0
	}
	bits, ok := cs.d.Traits().NumberCasts[cs.castType(e)]
	if !ok {
		return nil, 0
	}
	return e.Args[0], bits
}

// castType returns the name of the type in CAST(x AS type) and x::type, in lower
// case, or "".
func (cs *constants) castType(e *ast.Expr) string {
	x := e.Args[0]
	if x.Start < e.Start || x.End <= x.Start || x.End > e.End {
		return ""
	}
	rest := strings.ToLower(strings.TrimSpace(cs.noted(cs.src.sql[x.End:e.End])))
	if name, ok := strings.CutPrefix(rest, "::"); ok {
		return strings.TrimSpace(name)
	}
	words := strings.Fields(strings.TrimSuffix(rest, ")"))
	if len(words) < 2 || words[0] != "as" || !strings.HasSuffix(rest, ")") {
		return ""
	}
	return strings.Join(words[1:], " ")
}

package rewrite

import (
	"strconv"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file is about deltas that a statement computes from constants: c + (2 - 1), c - 3 * 10,
// c + TRUE, c + (? - ?).

// computed returns the value of integer literals that +, - and * connect.
//
// An engine computes it in integers, as long as no part of it leaves the type of its literals,
// which is one of 32 bits at least. So c + (2 - 1) is c + 1 in every row, and the increment may go
// wherever that of a literal may. Division is left out: its result has another type.
func (cs *constants) computed(e *ast.Expr) (n int64, ok bool) {
	switch e.Kind {
	case ast.Paren:
		return cs.computed(e.Args[0])
	case ast.Unary:
		n, ok = cs.computed(e.Args[0])
		if e.Op == "-" {
			n = -n
		}
		return n, ok && (e.Op == "-" || e.Op == "+")
	case ast.Number:
		if !cs.integer(e) || e.End-e.Start > 9 {
			return 0, false
		}
		n, err := strconv.ParseInt(cs.noted(cs.src.sql[e.Start:e.End]), 10, 64)
		return n, err == nil
	case ast.Opaque:
		if !cs.d.Traits().TrueIsOne || len(e.Args) > 0 {
			return 0, false
		}
		if e.Op == "TRUE" {
			n = 1
		}
		return n, e.Op == "TRUE" || e.Op == "FALSE"
	case ast.Binary:
		if len(e.Args) != 2 {
			return 0, false
		}
		l, ok := cs.computed(e.Args[0])
		r, also := cs.computed(e.Args[1])
		if !ok || !also {
			return 0, false
		}
		n, ok = arithmetic(e.Op, l, r)
		return n, ok && -1<<31 < n && n < 1<<31
	}
	return 0, false
}

// arithmetic computes l op r.
func arithmetic(op string, l, r int64) (int64, bool) {
	switch op {
	case "+":
		return l + r, true
	case "-":
		return l - r, true
	case "*":
		return l * r, true
	}
	return 0, false
}

// computedArgs returns what c + e demands of the placeholders in e to be exact on the base row,
// where e is computed from placeholders and integers by +, - and *.
//
// The engine evaluates e itself. What it raises for e, as by an overflow, does not depend on the
// row, so it raises the same as plain. What it gives for integers is an integer, is not NULL, and is
// as small as onBase has it, if all placeholders are.
func (cs *constants) computedArgs(c *schema.Column, e *ast.Expr) (require []DeltaArg, ok bool) {
	if c.Unsigned || e.Kind != ast.Binary {
		return nil, false // its sign would depend on several arguments
	}
	args, ok := cs.computedFrom(c, e, nil)
	if !ok {
		return nil, false
	}
	for bits := 40; bits >= 4; bits-- {
		most := int64(1) << bits
		if cs.magnitude(e, float64(most)) > float64(baseLimit(c)) {
			continue
		}
		for _, a := range args {
			require = append(require, DeltaArg{Arg: a, Max: most})
		}
		return require, true
	}
	return nil, false
}

// computedFrom adds the placeholders that an integer is computed from.
//
// Where an engine adds strings as floating-point numbers, what it computes from placeholders alone may
// be one, too: that is exact in columns of 32 bits.
func (cs *constants) computedFrom(c *schema.Column, e *ast.Expr, args []Arg) (all []Arg, ok bool) {
	switch e.Kind {
	case ast.Paren:
		return cs.computedFrom(c, e.Args[0], args)
	case ast.Unary:
		if e.Op != "-" && e.Op != "+" {
			return nil, false
		}
		return cs.computedFrom(c, e.Args[0], args)
	case ast.Number:
		cs.noted(cs.src.sql[e.Start:e.End])
		return args, cs.integer(e) && e.End-e.Start < 18
	case ast.Param:
		a, ok := cs.src.paramAt(e.Span)
		narrow := c.Numeric == schema.Integer && c.Bits <= 32
		return append(args, a), ok && (narrow || !cs.d.Traits().StringsAreFloats)
	case ast.Opaque:
		x, _ := cs.castNumber(e)
		if x == nil || ast.Unparen(x).Kind != ast.Param {
			return nil, false
		}
		a, ok := cs.src.paramAt(ast.Unparen(x).Span)
		return append(args, a), ok
	case ast.Binary:
		if _, ok := arithmetic(e.Op, 0, 0); !ok || len(e.Args) != 2 {
			return nil, false
		}
		if args, ok = cs.computedFrom(c, e.Args[0], args); !ok {
			return nil, false
		}
		return cs.computedFrom(c, e.Args[1], args)
	}
	return nil, false
}

// magnitude is how large such an expression can be if no placeholder is larger than most.
func (cs *constants) magnitude(e *ast.Expr, most float64) float64 {
	switch e.Kind {
	case ast.Number:
		n, _ := strconv.ParseFloat(cs.src.sql[e.Start:e.End], 64)
		return n
	case ast.Binary:
		l, r := cs.magnitude(e.Args[0], most), cs.magnitude(e.Args[1], most)
		if e.Op == "*" {
			return l * r
		}
		return l + r
	case ast.Paren, ast.Unary:
		return cs.magnitude(e.Args[0], most)
	}
	return most
}

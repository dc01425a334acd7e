package rewrite

import "github.com/slotsql/slotsql/rewrite/lex"

// This file adds up limits.

// sum adds two limits; engines that take no expression there get one argument
// computed when it is bound.
func sum(a, b fragment) fragment {
	if len(a.args) == 0 && len(b.args) == 0 {
		return literal(addDecimal(a.parts[0], b.parts[0]))
	}
	one := func(f fragment) Arg {
		if len(f.args) > 0 {
			return f.args[0]
		}
		return Arg{Number: f.parts[0], Index: -1}
	}
	return bound(plus(one(a), one(b)))
}

func plus(x, y Arg) Arg {
	if x.Plus != nil {
		y = plus(*x.Plus, y)
	}
	x.Plus = &y
	return x
}

// addDecimal adds two non-negative whole numbers given as text; "" when they
// are not.
func addDecimal(a, b string) string {
	var x, y uint64
	for _, p := range []struct {
		s string
		n *uint64
	}{{a, &x}, {b, &y}} {
		for _, c := range []byte(p.s) {
			if !lex.IsDigit(c) || *p.n > 1<<58 {
				return ""
			}
			*p.n = *p.n*10 + uint64(c-'0')
		}
	}
	return formatUint(x + y)
}

func formatUint(n uint64) string {
	if n == 0 {
		return "0"
	}
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

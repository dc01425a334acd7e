package rewrite

import "strconv"

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
	x, err := strconv.ParseUint(a, 10, 60)
	y, other := strconv.ParseUint(b, 10, 60)
	if err != nil || other != nil {
		return ""
	}
	return strconv.FormatUint(x+y, 10)
}

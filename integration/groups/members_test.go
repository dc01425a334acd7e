package groups

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

func number(literal int64, arg *rewrite.Arg, args []any, scale int) int64 {
	if arg == nil {
		return literal
	}
	var n int64
	switch v := args[arg.Index].(type) {
	case int64:
		n = v
		for range scale {
			n *= 10
		}
	case string:
		n = units(v, scale)
	}
	if arg.Negate {
		n = -n
	}
	return n
}

func units(s string, scale int) int64 {
	whole, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", scale-len(frac)), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func value(n int64, negate bool, scale int) any {
	if negate {
		n = -n
	}
	if scale == 0 {
		return n
	}
	return decimal(n, scale)
}

func decimal(n int64, scale int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprintf("%0*d", scale+1, n)
	return sign + s[:len(s)-scale] + "." + s[len(s)-scale:]
}

func less(v any, later int64, scale int) any {
	switch v := v.(type) {
	case int64:
		return v - later
	case string:
		return decimal(units(v, scale)-later, scale)
	}
	return v
}

func drawRow(r *rand.Rand, dialect string) []any {
	small := func() int64 { return r.Int64N(30) }
	row := []any{int64(1), small(), 3 + small(), 32767 - small(), nil, decimal(r.Int64N(3000), 2), nil, "x", "a"}
	if dialect == "sqlite" {
		row[5] = small()
	}
	if r.IntN(3) > 0 {
		row[4] = small()
	}
	if r.IntN(4) > 0 {
		row[6] = small()
	}
	return row
}

// drawMembers draws executions that may share: what they add to a counter has one sign,
// and each adds something. Those that compare and set expect the same version.
func drawMembers(r *rand.Rand, f form, row []any) (list [][]any) {
	id := int64(1 + r.IntN(2))
	sign, k, low := 1-2*r.Int64N(2), r.Int64N(5), r.Int64N(10)-5
	small := row[3].(int64) - max(0, low-3) // mostly the row's
	for range 1 + r.IntN(5) {
		var args []any
		for _, kind := range f.args {
			switch kind {
			case "id":
				args = append(args, int64(1))
			case "row":
				args = append(args, id)
			case "same 0 note":
				args = append(args, fmt.Sprint("k", id))
			case "add":
				args = append(args, sign*(1+r.Int64N(6)))
			case "take":
				args = append(args, 1+r.Int64N(6))
			case "large":
				args = append(args, 1+r.Int64N(8))
			case "few":
				args = append(args, k)
			case "bound":
				args = append(args, r.Int64N(30))
			case "note":
				args = append(args, fmt.Sprint("note ", r.IntN(100)))
			case "version":
				args = append(args, small)
			case "next":
				args = append(args, small+k-1)
			case "note or x":
				args = append(args, []string{"x", "y", "z"}[r.IntN(3)])
			case "cents":
				args = append(args, decimal(1+r.Int64N(600), 2))
			case "same 0":
				args = append(args, args[0])
			}
		}
		list = append(list, args)
	}
	return list
}

// taken reports whether members have numbers that the columns certainly take.
func taken(g *rewrite.Group, members [][]any) bool {
	for _, args := range members {
		for _, given := range g.Inserted {
			if n, ok := args[given.Arg.Index].(int64); ok && given.Integer && n < given.Low {
				return false
			}
		}
	}
	return true
}

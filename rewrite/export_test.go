package rewrite

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// SamePlan is samePlan, of a plan that still has what only the planner needs.
func SamePlan(a, b *Plan) bool { return samePlan(a, b) }

// Vary writes another statement of a shape, with other literals except those that are known,
// and with other comments and white space.
func Vary(sh *lex.Shape, r *rand.Rand, known []bool) string {
	var b strings.Builder
	end := uint16(0)
	for i, h := range sh.Fields {
		if known[i] || r.IntN(4) == 0 {
			continue
		}
		b.WriteString(sh.SQL[end:h.Start])
		b.WriteString(vary(r, h.Kind))
		end = h.End
	}
	b.WriteString(sh.SQL[end:])
	return b.String()
}

func vary(r *rand.Rand, k lex.FieldKind) string {
	digits := func(least, most int) string {
		s := strconv.Itoa(1 + r.IntN(9))
		for n := least + r.IntN(most-least+1); len(s) < n; {
			s += strconv.Itoa(r.IntN(10))
		}
		return s
	}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	switch k {
	case lex.GapField:
		return pick(" ", "  ", "\n", "\t", "/* a */", " /*traceparent='00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'*/ ", " -- line\n", "\r\n ")
	case lex.SmallField:
		return digits(1, 4)
	case lex.MiddleField:
		return digits(5, 9)
	case lex.LargeField:
		return digits(10, 18)
	case lex.ShortField:
		return pick("''", "'1'", "'-5'", "'2026-01-02'", "'abc'", "'12:30:00'", "'now'", "'UTC'", "'1 day'", "'views'", "'id'", "'a \"b\" `c`'", "'%'", "'null'")
	case lex.StringField:
		return pick("'it''s'", "'\u00e9\u00e9'", "'"+strings.Repeat("long ", 20)+"'", "'two\nlines'")
	}
	return digits(1, 4) + "." + digits(1, 8)[:1] + strings.Repeat("0", int(k-lex.PointField)-1)
}

package rewrite

import "strings"

// The threshold.
//
// The hot side of a split looks every row with slots up, to learn its base
// value. Most of them cannot be in the result: their slots add too little. Let
// B be the rows with the greatest slot sums, so many of them, and s the least
// sum in B, or 0 where that is less or B holds every row with slots. A row
// outside of B has total <= base + s. So
//
//   - of the rows that pass total > k, those outside of B have base > k - s
//   - of the first n rows by total, those outside of B have base >= l - s, where
//     l is any lower bound of the n-th greatest total: the n-th greatest base
//     value, plus the least slot sum where that is negative
//
// and both are ranges of the base column's index. (For the other direction all
// of it holds with signs changed.) When slots have not been folded for long and
// hold more than the base values do, such a range can be most of the table; so
// it is counted first, up to a limit, and where it is longer the split runs as
// it is. The engine has to leave out an arm whose condition is a constant
// false, and to read a WITH query once.

// A band is what the threshold needs to know of a query.
type band struct {
	column *Column
	down   bool     // great totals are wanted: DESC, > or >=
	bound  string   // k, for a comparison
	rest   []string // the other conjuncts of WHERE, for a comparison
}

// bandOf finds the query's band; false when the split serves as it is.
func (s *splitter) bandOf(tp *template, ordered bool) (band, bool) {
	if !s.d.Traits().Lateral || len(s.b.table.Counter.Key) != 1 {
		return band{}, false
	}
	if ordered {
		if s.q.Where != nil && len(s.hotEdits(s.q.Where)) > 0 {
			return band{}, false
		}
		t, _ := s.resolve(s.sc, s.order[0].expr.Name)
		return band{column: t.column, down: strings.HasPrefix(s.order[0].tail, "DESC")}, !t.column.Nullable && s.b.table.IsCounter(t.column.Name)
	}
	var b band
	for _, c := range conjuncts(s.q.Where, nil) {
		if len(s.hotEdits(c)) == 0 {
			b.rest = append(b.rest, "("+tp.mark(s.src.cut(c.Span))+")")
			continue
		}
		e := c
		for e.Kind == Paren {
			e = e.Args[0]
		}
		if b.column != nil || e.Kind != Binary || len(e.Args) != 2 {
			return band{}, false
		}
		l, r, op := e.Args[0], e.Args[1], e.Op
		if !s.isCounter(l) {
			l, r, op = r, l, turned[op]
		}
		if !s.isCounter(l) || !constant(r) || turned[op] == "" {
			return band{}, false
		}
		t, _ := s.resolve(s.sc, l.Name)
		b.column, b.down = t.column, op[0] == '>'
		b.bound = tp.mark(s.src.cut(r.Span))
		if r.Kind != Number {
			b.bound = "CAST(" + b.bound + " AS " + t.column.Type + ")"
		}
	}
	return b, b.column != nil && s.b.table.IsCounter(b.column.Name)
}

// turned is each comparison with its operands exchanged.
var turned = map[string]string{">": "<", ">=": "<=", "<": ">", "<=": ">="}

// Numbers of rows: how many with the greatest sums are looked up in any case,
// and how long a range may be.
const (
	bandTop  = "500"
	bandMost = "2000"
	bandOver = "2001"
)

// threshold writes the candidates with a threshold. Sums is the query of the
// slot sums per key, cold and hot are the arms of the plain split.
func (s *splitter) threshold(tp *template, b band, ordered bool, sums, cold string, hot func(cond string) string) string {
	i := 0
	for s.b.table.Counter.Counters[i] != b.column.Name {
		i++
	}
	q := s.qualifier(s.b)
	from := tp.mark(s.src.cut(s.from))
	sum := "slotsql_c" + formatUint(uint64(i))
	base := q + "." + s.d.Quote(b.column.Name)
	key := q + "." + s.d.Quote(s.b.table.Counter.Key[0])
	// greatest and least, desc and so on are written for great totals.
	desc, asc, least, greatest, minimum, maximum, ge, le := "DESC", "ASC", "LEAST", "GREATEST", "MIN", "MAX", ">=", "<="
	if !b.down {
		desc, asc, least, greatest, minimum, maximum, ge, le = asc, desc, greatest, least, maximum, minimum, le, ge
	}
	few := "(SELECT slotsql_few FROM slotsql_n)"
	with := []string{
		"slotsql_h AS MATERIALIZED (" + sums + ")",
		"slotsql_b AS MATERIALIZED (SELECT slotsql_k0, " + sum + " AS slotsql_s FROM slotsql_h ORDER BY " + sum + " " + desc + " LIMIT " + bandTop + ")",
		"slotsql_t AS MATERIALIZED (SELECT CASE WHEN COUNT(*) = " + bandTop + " THEN " + greatest + "(" + minimum + "(slotsql_s), 0) ELSE 0 END AS slotsql_s FROM slotsql_b)",
	}
	number := "numeric"
	if b.column.Numeric == Integer {
		number = "bigint" // wide enough for a base value and all slots
	}
	var conds []string
	if ordered {
		k := tp.mark(s.limit)
		where := ""
		if s.q.Where != nil {
			conds = append(conds, "("+tp.mark(s.src.cut(s.q.Where.Span))+")")
			where = " WHERE " + conds[0]
		}
		with = append(with, "slotsql_l AS MATERIALIZED (SELECT CAST(CASE WHEN COUNT(*) >= "+k+" THEN "+minimum+"(slotsql_v) + "+least+
			"((SELECT "+minimum+"("+sum+") FROM slotsql_h), 0) - (SELECT slotsql_s FROM slotsql_t) END AS "+number+") AS slotsql_v FROM (SELECT "+
			base+" AS slotsql_v FROM "+from+where+" ORDER BY "+base+" "+desc+" LIMIT "+k+") AS slotsql_x)")
		conds = append(conds, base+" "+ge+" (SELECT slotsql_v FROM slotsql_l)")
	} else {
		with = append(with, "slotsql_l AS MATERIALIZED (SELECT CAST("+b.bound+" - slotsql_s AS "+number+") AS slotsql_v FROM slotsql_t)")
		conds = append(b.rest, base+" "+ge+" (SELECT slotsql_v FROM slotsql_l)", base+" "+le+" "+b.bound)
	}
	// The order is the index's: a range whose length the planner cannot know
	// would else be looked for in the whole table.
	in := " FROM " + from + " WHERE " + strings.Join(conds, " AND ")
	tail := " ORDER BY " + base + " " + desc + " LIMIT " + bandOver
	with = append(with, "slotsql_n AS MATERIALIZED (SELECT (SELECT slotsql_v FROM slotsql_l) IS NOT NULL AND COUNT(*) <= "+bandMost+
		" AS slotsql_few FROM (SELECT 1"+in+tail+") AS slotsql_x)")
	arms := []string{
		"SELECT slotsql_k0 FROM slotsql_b",
		"(SELECT " + key + in + " AND " + few + tail + ")",
		"(" + cold + ")",
		"(" + hot("NOT "+few) + ")",
	}
	return "WITH " + strings.Join(with, ", ") + " " + strings.Join(arms, " UNION ALL ")
}

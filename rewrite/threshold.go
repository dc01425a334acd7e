package rewrite

import "strings"

// The threshold.
//
// Few of the rows with slots can be in the result: most of their sums are too
// small to lift them there. Let R be the rows that the rest of WHERE selects,
// W the first n of R by base value, w the last base value in W. A row of R
// outside of W has a base value of at most w, so
//
//   - total > k only if its sum + w > k: for `WHERE counter > k`, where R is
//     taken without the rows whose base value is above k, which are candidates
//     in any case
//   - total >= l only if its sum + w >= l: for `ORDER BY counter DESC LIMIT n`,
//     where l is a lower bound of the n-th greatest total, and W has some more
//     rows than n. The least total of any n rows is such a bound; those with
//     the greatest base values serve. A row without slots is outside of W and
//     in the result only if w >= l, and then it is among the first n of these.
//
// (For the other direction all of it holds with signs changed.) Where R has
// fewer rows than W may have, W is R, w is NULL and nothing else is read. What
// is compared is always sum + w: it stays in the range of the totals, where a
// difference of unsigned numbers would not, and rounding keeps an order.
//
// W, w and l are written several times where the engine does not read a WITH
// query once. Where rows are equal W may come out with other rows each time;
// w is the same, and each l is a bound.

// A band is what the threshold needs to know of a query.
type band struct {
	column  *Column
	ordered bool
	down    bool     // great totals are wanted: DESC, > or >=
	op      string   // the comparison, with the counter on its left
	bound   string   // k
	rest    []string // the other conjuncts of WHERE
}

// bandOf finds the query's band; false when it has none.
func (s *splitter) bandOf(ordered bool) (band, bool) {
	if ordered {
		if s.q.Where != nil && s.hasCounter(s.q.Where) {
			return band{}, false
		}
		t, _ := s.resolve(s.sc, s.order[0].expr.Name)
		b := band{column: t.column, ordered: true, op: "<="}
		if strings.HasPrefix(s.order[0].tail, "DESC") {
			b.down, b.op = true, ">="
		}
		if s.q.Where != nil {
			b.rest = []string{"(" + s.tp.mark(s.src.cut(s.q.Where.Span)) + ")"}
		}
		return b, !t.column.Nullable && s.b.table.IsCounter(t.column.Name)
	}
	var b band
	for _, c := range conjuncts(s.q.Where, nil) {
		if !s.hasCounter(c) {
			b.rest = append(b.rest, "("+s.tp.mark(s.src.cut(c.Span))+")")
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
		b.column, b.op, b.down = t.column, op, op[0] == '>'
		b.bound = s.tp.mark(s.src.cut(r.Span))
		if s.d.Traits().TypedConstants && r.Kind != Number {
			if r.Kind != Param && r.Kind != String {
				return band{}, false
			}
			b.bound = "CAST(" + b.bound + " AS " + t.column.Type + ")" // the type that it has beside the column
		}
	}
	return b, b.column != nil && s.b.table.IsCounter(b.column.Name)
}

func (s *splitter) hasCounter(e *Expr) bool {
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || s.isCounter(x)
		return !found
	})
	return found
}

// turned is each comparison with its operands exchanged, negated with its
// result negated.
var (
	turned  = map[string]string{">": "<", ">=": "<=", "<": ">", "<=": ">="}
	negated = map[string]string{">": "<=", ">=": "<", "<": ">=", "<=": ">"}
)

// bandRows is how many rows W has, beside those of LIMIT: enough that few sums
// reach from its one end to the other, and little work.
const bandRows = "100"

// threshold writes the candidates of a query with a band.
//
//nolint:funlen // the argument for the bound goes along with its parts
func (s *splitter) threshold(b band) string {
	i := 0
	for s.b.table.Counter.Counters[i] != b.column.Name {
		i++
	}
	desc, last := " DESC", "MIN"
	if !b.down {
		desc, last = "", "MAX"
	}
	base := s.qualifier(s.b) + "." + s.d.Quote(b.column.Name)
	rest := b.rest
	rows := literal(bandRows)
	if b.ordered {
		rows = sum(s.limit, rows)
	} else {
		rest = append(rest, base+" "+negated[b.op]+" "+b.bound)
	}
	n := s.tp.mark(rows)
	where := ""
	if len(rest) > 0 {
		where = " WHERE " + strings.Join(rest, " AND ")
	}
	first := func(n string) string {
		return "SELECT " + aliased(s.keys) + ", " + base + " AS slotsql_v FROM " + s.table() + where + " ORDER BY " + base + desc +
			" LIMIT " + n
	}
	var keys []string
	for j := range s.keys {
		keys = append(keys, "slotsql_w."+keyName(j))
	}

	var with []string
	define := func(name, text string) string {
		if !s.d.Traits().SharedWith {
			return "(" + text + ")"
		}
		with = append(with, name+" AS MATERIALIZED ("+text+")")
		return name
	}
	value := func(name, text string) string {
		if t := define(name, text); t == name {
			return "(SELECT slotsql_v FROM " + name + ")"
		}
		return "(" + text + ")"
	}
	front := define("slotsql_w", first(n))
	w := value(
		"slotsql_m",
		"SELECT CASE WHEN COUNT(*) = "+n+" THEN "+last+"(slotsql_w.slotsql_v) END AS slotsql_v FROM "+front+" AS slotsql_w",
	)
	bound := b.bound
	if b.ordered {
		bound = value(
			"slotsql_l",
			"SELECT "+last+"(slotsql_w.slotsql_v + "+s.sumOf(i, keys)+") AS slotsql_v FROM ("+first(s.tp.mark(s.limit))+") AS slotsql_w",
		)
	}

	all := ""
	if !s.d.Traits().SharedWith {
		// MariaDB would merge this derived table into the query around it, and
		// when a prepared statement runs for the second time no longer find the
		// columns of W that the sums refer to (error 1054, seen in 10.11). One
		// with a LIMIT is not merged; W has no more rows than that.
		all = " LIMIT " + n
	}
	near := "SELECT " + s.k + ", " + s.c + " FROM (SELECT " + strings.Join(keys, ", ") + ", slotsql_w.slotsql_v, " +
		s.sumsOf(keys) + " FROM " + front + " AS slotsql_w" + all + ") AS slotsql_x WHERE slotsql_v + " + sumName(i) + " " + b.op +
		" " + bound
	lifted := "SUM(slotsql_g." + s.d.Quote(b.column.Name) + ")"
	if b.ordered {
		arms := near + " UNION " + s.hot(w+" IS NOT NULL", lifted+" + "+w+" "+b.op+" "+bound) + " UNION " +
			s.cold(true, bound+" "+turned[b.op]+" "+w)
		return inWith(with, arms)
	}
	var match []string
	for j, k := range s.keys {
		match = append(match, k+" = slotsql_h."+keyName(j))
	}
	within := "SELECT " + aliased(s.keys) + ", " + s.sumsOf(s.keys) + " FROM " + s.table()
	far := "(" + s.hot(w+" IS NOT NULL", lifted+" + "+w+" "+b.op+" "+bound) + ") AS slotsql_h"
	var conds []string
	if len(b.rest) == 0 && s.d.Traits().SharedWith {
		// The range is all there is to WHERE, so it has many rows, and all
		// sums are needed anyway: one hash of them serves both.
		far = define("slotsql_h", s.hot("", "")) + " AS slotsql_h"
		within = "SELECT " + aliased(s.keys)
		for _, j := range s.used {
			within += ", COALESCE(slotsql_h." + sumName(j) + ", 0) AS " + sumName(j)
		}
		within += " FROM " + s.table() + " LEFT JOIN " + far + " ON " + strings.Join(match, " AND ")
		conds = []string{w + " IS NOT NULL", "CASE WHEN slotsql_h." + sumName(i) + " + " + w + " " + b.op + " " + bound + " THEN 1 END = 1"}
	}
	match = append(match, rest...)
	if s.d.Traits().SharedWith {
		far += " CROSS JOIN " + s.table() + " WHERE " + strings.Join(append(conds, match...), " AND ")
	} else {
		// A join would keep MariaDB from grouping in the order of the key.
		far += " WHERE (SELECT 1 FROM " + s.table() + " WHERE " + strings.Join(match, " AND ") + " LIMIT 1) = 1"
	}
	arms := within + " WHERE (" + s.tp.mark(s.src.cut(s.q.Where.Span)) + ") UNION ALL SELECT " + s.k + ", " + s.c + " FROM (" + near +
		" UNION SELECT " + s.k + ", " + s.c + " FROM " + far + ") AS slotsql_u"
	return inWith(with, arms)
}

func inWith(with []string, text string) string {
	if len(with) == 0 {
		return text
	}
	return "WITH " + strings.Join(with, ", ") + " " + text
}

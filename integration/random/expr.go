package random

import (
	"slices"
	"strings"
)

// wholeNumber is number without decimals, where PostgreSQL would otherwise
// show one value in two ways (1 and 1.00), of which it keeps any.
func (g *generator) wholeNumber(f *from) string {
	if g.pg() {
		g.whole++
		defer func() { g.whole-- }()
	}
	return g.number(f)
}

func (g *generator) number(f *from) string {
	g.depth++
	defer func() { g.depth-- }()
	before := g.decimals
	r := g.ref(f, number)
	if r == "" {
		return g.constant(either(g, smallNumbers))
	}
	if g.depth > 3 {
		return r
	}
	remains := []string{" MOD 3", " % 3"}
	if g.my() && g.decimals > before {
		remains = []string{" + 3"} // what MOD leaves of -3.00 is 0.00 or -0.00
	}
	switch g.IntN(34) {
	case 0:
		return r + " + " + g.value(int64(1))
	case 1:
		return r + g.pick(" - ", "-", " * ", "+") + "2"
	case 2:
		return "(" + r + " + " + g.number(f) + ")"
	case 3:
		// 0 and 0.00 are equal, and PostgreSQL shows the one or the other.
		g.ties = g.ties || g.pg() && g.decimals > before
		return g.pick("COALESCE(", "coalesce(") + r + ", 0)"
	case 4:
		return "CASE WHEN " + g.condition(f) + " THEN " + g.wholeNumber(f) + " ELSE " + g.wholeNumber(f) + " END"
	case 5:
		return g.pick("ABS(", "abs(") + r + ")"
	case 6:
		return g.greatest() + "(" + g.wholeNumber(f) + ", " + g.wholeNumber(f) + ")"
	case 7:
		return g.scalar(f)
	case 8:
		if g.my() {
			return r + g.pick(" DIV 2", remains[0], " XOR 1")
		}
		return "-" + r
	case 9:
		return "NULLIF(" + r + ", 2)"
	case 10:
		return "CAST(" + r + " AS " + map[string]string{"mysql": "SIGNED", "postgres": "bigint", "sqlite": "INTEGER"}[g.dialect] + ")"
	case 11:
		if g.pg() {
			return r + "::" + g.pick("bigint", "int", "int8")
		}
		return "(" + r + ")"
	case 12:
		return r + g.pick(" / 2", remains[len(remains)-1])
	case 13:
		return g.value(int64(2)) + g.pick(" + ", "+", " * ") + r
	case 14:
		return "CASE " + g.wholeNumber(f) + " WHEN 1 THEN 10 WHEN " + g.wholeNumber(f) + " THEN 20 ELSE 30 END"
	case 15:
		switch {
		case g.my():
			return "IF(" + g.condition(f) + ", " + r + ", 0)"
		case g.lite():
			return "IIF(" + g.condition(f) + ", " + r + ", 0)"
		}
		return "(" + g.condition(f) + ")::int"
	case 16:
		return "LENGTH(" + g.words(f) + ")"
	case 17:
		if !g.pg() {
			return "IFNULL(" + r + ", -1)"
		}
		return "mod(" + r + ", 2)"
	case 18:
		return g.byKey()
	}
	return r
}

// byKey is a scalar subquery that reads one row.
func (g *generator) byKey() string {
	t := g.counterTable()
	for len(t.key) != 1 {
		t = g.counterTable()
	}
	c := either(g, t.counters())
	if c.decimal {
		if g.whole > 0 {
			return "1"
		}
		g.decimals++
	}
	return "(SELECT " + g.quote(c.name) + " FROM " + g.tableName(t) + " WHERE " + g.quote(t.key[0]) + " = " + g.value(either(g, ids)) + ")"
}

func (g *generator) words(f *from) string {
	g.depth++
	defer func() { g.depth-- }()
	r := g.ref(f, words)
	if r == "" || g.one(5) {
		n := g.ref(f, number)
		if n == "" {
			return g.constant(g.pick("a", "b"))
		}
		g.ties = g.ties || g.my()
		if g.my() {
			return g.pick("CAST("+n+" AS CHAR)", "CONCAT('n', "+n+")", "CONCAT("+n+")", "CASE WHEN "+n+" > 2 THEN 'hot' ELSE 'cold' END")
		}
		if g.pg() {
			return g.pick(
				"CAST("+n+" AS text)",
				"'n' || "+n,
				n+"::text",
				"concat('n', "+n+")",
				"CASE WHEN "+n+" > 2 THEN 'hot' ELSE 'cold' END",
				"format('%s', "+n+")",
			)
		}
		return g.pick("CAST("+n+" AS TEXT)", "'n' || "+n, "typeof("+n+")", "printf('%d', "+n+")")
	}
	return g.pick(r, r, r, r, "LOWER("+r+")", "COALESCE("+r+", 'none')")
}

// scalar writes a scalar subquery.
func (g *generator) scalar(f *from) string {
	if g.depth > 2 {
		return "1"
	}
	if g.one(3) {
		return g.byKey()
	}
	sub := g.sources(f, 1)
	where := ""
	if g.one(2) {
		where = " WHERE " + g.condition(sub)
	}
	if g.one(6) {
		x := g.wholeNumber(sub)
		return "(SELECT " + x + " FROM " + sub.sql + where + " ORDER BY " + g.pick("1", x) + g.pick("", " DESC") + " LIMIT 1)"
	}
	// An aggregate of the outer query's columns alone would be the outer query's.
	inner := *sub
	inner.outer = nil
	x := g.wholeNumber(&inner)
	if strings.Contains(x, "(SELECT") {
		x = "1"
	}
	return "(SELECT " + g.pick("COUNT", "MAX", "MIN", "SUM") + "(" + x + ") FROM " + sub.sql + where + ")"
}

var comparisons = []string{" > ", " = ", " <= ", "<> ", " < ", " >= ", " != ", ">"}

func (g *generator) condition(f *from) string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 4 {
		return g.number(f) + " > 1"
	}
	switch g.IntN(34) {
	case 0, 1:
		return g.condition(f) + g.pick(" AND ", " and ") + g.condition(f)
	case 2:
		return "(" + g.condition(f) + g.pick(" OR ", " or ") + g.condition(f) + ")"
	case 3:
		return "NOT (" + g.condition(f) + ")"
	case 4:
		return g.number(f) + g.pick(" BETWEEN ", " NOT BETWEEN ", " between ") + g.value(int64(1)) + " AND " + g.number(f)
	case 5:
		return g.number(f) + g.pick(" IN (", " NOT IN (", " in (") + "1, 2, " + g.number(f) + ")"
	case 6:
		return g.number(f) + g.pick(" IS NULL", " IS NOT NULL", " is not null")
	case 7:
		return g.words(f) + g.pick(" = ", " <> ", " < ") + g.constant(either(g, phrases))
	case 8:
		sub := g.sources(f, 1)
		return g.pick("EXISTS", "NOT EXISTS") + " (SELECT " + g.pick("1", "*") + " FROM " + sub.sql + " WHERE " + g.condition(sub) + ")"
	case 9:
		sub := g.sources(f, 1)
		if g.my() {
			// MariaDB 10.11 answers wrongly where such a list is only made of
			// the outer query's columns.
			sub.outer = nil
		}
		if g.one(4) {
			other := g.sources(nil, 1)
			return g.sought(f) + g.pick(" IN", " NOT IN") + " (SELECT " + g.wholeNumber(sub) + " FROM " + sub.sql +
				g.pick(" UNION ", " EXCEPT ", " INTERSECT ", " UNION ALL ") + "SELECT " + g.wholeNumber(other) + " FROM " +
				other.sql + g.maybeWhere(other) + ")"
		}
		return g.sought(f) + g.pick(" IN", " NOT IN") + " (SELECT " + g.number(sub) + " FROM " + sub.sql + ")"
	case 10:
		if r, s := g.ref(f, number), g.ref(f, number); r != "" && s != "" {
			if g.my() && (f.extends() || f.queries()) {
				// MariaDB 10.11 takes a row with a NULL for one that is neither
				// smaller nor another, whatever its other values are, and then an
				// outer join for an inner one. Whether it does depends on what the
				// values are.
				break
			}
			return "(" + r + ", " + s + ")" + g.pick(" = (2, 1)", " > (2, 1)", " <= (2, 1)", " IN ((2, 1), (0, 0))")
		}
	case 11:
		if r := g.ref(f, number); r != "" && g.one(4) {
			if g.pg() {
				return g.pick(r+"::text LIKE '1%'", r+" BETWEEN SYMMETRIC 5 AND "+g.value(int64(2)), "num_nulls("+r+") = 0")
			}
			return r + g.pick(" LIKE '1%'", " NOT LIKE '%2'")
		}
		if r := g.ref(f, words); r != "" {
			return r + " LIKE '%a%'"
		}
	case 12, 13, 14, 15:
		if r := g.ref(f, number); r != "" {
			return r + either(g, comparisons) + g.value(either(g, smallNumbers))
		}
	case 16:
		return g.quantified(f)
	case 17:
		return g.distinctFrom(f)
	case 18: // in the way of an ORM
		if r := g.ref(f, number); r != "" {
			return "(1 = 1 AND (" + r + " IN (" + g.value(int64(2)) + "," + g.value(int64(3)) + ") OR " + r + " = " +
				g.value(int64(0)) + "))"
		}
	case 19:
		if r := g.ref(f, number); r != "" {
			if g.pg() {
				return "(" + r + " > 0) IS " + g.pick("TRUE", "NOT TRUE", "UNKNOWN")
			}
			return g.pick(r, "NOT "+r, r+" IS TRUE", r+" IS NOT FALSE")
		}
	case 20:
		if g.my() && f.queries() {
			break // MariaDB 10.11 may end when it prepares a row of subqueries compared with a query
		}
		if r, s := g.soughtRef(f), g.soughtRef(f); r != "" && s != "" {
			sub := g.sources(nil, 1)
			if x, y := g.ref(sub, number), g.ref(sub, number); x != "" && y != "" {
				return "(" + r + ", " + s + ") IN (SELECT " + x + ", " + y + " FROM " + sub.sql + ")"
			}
		}
	case 21:
		if w := g.ref(f, words); w != "" {
			sub := g.sources(nil, 1)
			if x := g.ref(sub, words); x != "" && !g.my() {
				return w + g.pick(" IN", " NOT IN") + " (SELECT " + x + " FROM " + sub.sql + g.maybeWhere(sub) + ")"
			}
		}
	case 22:
		return g.scalar(f) + either(g, comparisons) + g.number(f)
	case 23, 24, 25:
		return g.chosen(f)
	case 26: // each row has to meet it
		return g.chosen(f) + " AND " + g.condition(f)
	}
	return g.number(f) + either(g, comparisons) + g.number(f)
}

// sought is a number that is looked for among others.
func (g *generator) sought(f *from) string {
	if !g.my() {
		return g.number(f)
	}
	if s := g.soughtRef(f); s != "" {
		return s
	}
	return g.constant(either(g, smallNumbers))
}

// soughtRef is a column that is looked for among others. MariaDB 10.11 rounds
// one with decimals to find it in an index of whole ones: 3.5 is IN (SELECT 4).
func (g *generator) soughtRef(f *from) string {
	if !g.my() {
		return g.ref(f, number)
	}
	s, _ := g.columnWhere(f, isWhole)
	return s
}

// quantified writes ANY, SOME and ALL.
func (g *generator) quantified(f *from) string {
	r := g.soughtRef(f)
	if r == "" || g.lite() {
		return g.number(f) + " > 0"
	}
	if g.pg() && g.one(2) {
		return r + g.pick(" = ANY (ARRAY[1, 2, 3])", " <> ALL (ARRAY[1, 2])", " = any ('{0,1,5}'::int[])", " > SOME (ARRAY[3, 4])")
	}
	sub := g.sources(nil, 1)
	x := g.ref(sub, number)
	if x == "" {
		x = "1"
	}
	before := len(g.values)
	where := g.maybeWhere(sub)
	if g.my() && (strings.Contains(where, "-1") || slices.Contains(g.values[before:], any(int64(-1)))) {
		// For c >= SOME (SELECT c ... WHERE c = -1) MariaDB 10.11 looks for the least c in the index of an
		// unsigned column, and takes another row's for it.
		where = ""
	}
	return r + g.pick(" = ANY", " > ALL", " <= ANY", " <> ALL", " >= SOME") + " (SELECT " + x + " FROM " + sub.sql + where + ")"
}

func (g *generator) distinctFrom(f *from) string {
	a, b := g.number(f), g.number(f)
	switch {
	case g.my():
		return "(" + a + ") <=> (" + b + ")"
	case g.lite() && g.one(2):
		return "(" + a + ")" + g.pick(" IS ", " IS NOT ") + "(" + b + ")"
	}
	return "(" + a + ")" + g.pick(" IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + "(" + b + ")"
}

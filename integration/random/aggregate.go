package random

import (
	"regexp"
	"slices"
	"strings"
)

func (g *generator) aggregate(f *from) string {
	x := g.number(f)
	switch g.IntN(14) {
	case 0, 1:
		x = "COUNT(*)"
	case 2:
		x = "COUNT(" + x + ")"
	case 3:
		x = "COUNT(DISTINCT " + x + ")"
	case 4:
		x = g.pick("MAX(", "MIN(", "max(") + g.wholeNumber(f) + ")"
	case 5:
		x = "AVG(" + x + ")"
	case 6:
		x = "SUM(DISTINCT " + g.wholeNumber(f) + ")"
	case 7:
		x = "SUM(CASE WHEN " + g.condition(f) + " THEN " + g.wholeNumber(f) + " ELSE 0 END)"
	case 8:
		if r := g.ref(f, number); r != "" {
			x = r
		}
		return g.listed(x)
	case 9:
		return "SUM(" + x + g.pick(") - COUNT(*)", ") * 2", ") + MAX(1)")
	case 10:
		return "COALESCE(SUM(" + x + "), 0)"
	default:
		x = g.pick("SUM(", "SUM(", "sum(") + x + ")"
	}
	if !g.my() && g.one(5) {
		x += " FILTER (WHERE " + g.condition(f) + ")"
	}
	return x
}

// listed is an aggregate that makes a list, in an order that its values alone
// decide.
func (g *generator) listed(x string) string {
	switch {
	case g.my():
		g.ties = true
		return g.pick(
			"GROUP_CONCAT("+x+" ORDER BY "+x+")",
			"GROUP_CONCAT(DISTINCT "+x+" ORDER BY "+x+" DESC SEPARATOR '|')",
			"JSON_ARRAYAGG("+x+" ORDER BY "+x+")",
			"BIT_OR(ABS("+x+"))",
		)
	case g.pg():
		return g.pick("string_agg("+x+"::text, ',' ORDER BY "+x+")", "array_agg("+x+" ORDER BY "+x+" DESC)", "bool_or("+x+" > 3)",
			"json_agg("+x+" ORDER BY "+x+")::text", "jsonb_agg("+x+" ORDER BY "+x+")", "percentile_disc(0.5) WITHIN GROUP (ORDER BY "+x+")")
	}
	return g.pick("group_concat("+x+", ',' ORDER BY "+x+")", "json_group_array("+x+" ORDER BY "+x+")", "total("+x+")", "COUNT("+x+")")
}

// qualified is a column for a window. Where that is of a query, and has no qualifier, MariaDB 10.11 may take another
// column that the query has renamed from this name: SUM(likes) OVER (ORDER BY size) of SELECT a.size AS likes, b.size.
func (g *generator) qualified(f *from, column string) string {
	if g.my() && f.queries() && len(f.sources) == 1 && f.sources[0].name != "" && !strings.Contains(column, ".") {
		return f.sources[0].name + "." + column
	}
	return column
}

// window writes a window function. Where peers have to be told apart, a
// column that does so is in its order.
func (g *generator) window(f *from, b *block) string {
	x, y, z := g.ref(f, number), g.ref(f, number), g.ref(f, number)
	if x == "" || y == "" || z == "" || g.my() && (f.rows() > 5000 || f.queries() && lookups.MatchString(f.sql)) {
		return "1" // for a window MariaDB takes time with the square of the rows; see also whereBeside
	}
	x, y, z = g.qualified(f, x), g.qualified(f, y), g.qualified(f, z)
	key := g.keyOf(f)
	if key != "" && g.one(3) {
		over := " OVER (" + g.pick("", "PARTITION BY "+y+" ") + "ORDER BY " + x + g.pick("", " DESC") + ", " + key + ")"
		rows := " OVER (ORDER BY " + x + ", " + key + " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
		return g.pick(
			"ROW_NUMBER()"+over,
			"LAG("+z+")"+over,
			"LEAD("+z+", 1)"+over,
			"SUM("+z+")"+rows,
			"FIRST_VALUE("+z+")"+over,
			"NTILE(2)"+over,
		)
	}
	if g.one(4) {
		if b.window == "" {
			b.window = " WINDOW w AS (" + g.pick("", "PARTITION BY "+y+" ") + g.pick("", "ORDER BY "+x) + ")"
			if g.one(3) {
				b.window = " WINDOW w AS (" + g.pick("", "PARTITION BY "+y) + "), w2 AS (w ORDER BY " + x + g.pick("", " DESC") + ")"
			}
		}
		if strings.Contains(b.window, "w2") && g.one(2) {
			return g.pick("SUM("+z+") OVER w2", "RANK() OVER w2", "MIN("+z+") OVER (w ORDER BY "+z+")", "COUNT(*) OVER (w)")
		}
		return g.pick("SUM("+z+") OVER w", "COUNT(*) OVER w", "MAX("+z+") OVER w", "RANK() OVER w")
	}
	s := g.pick(
		"RANK() OVER (ORDER BY "+x+" DESC)",
		"SUM("+x+") OVER (PARTITION BY "+y+")",
		"COUNT(*) OVER (ORDER BY "+x+")",
		"DENSE_RANK() OVER (ORDER BY "+x+", "+y+")",
		"MAX("+x+") OVER ()",
		"SUM("+x+") OVER (ORDER BY "+y+")",
		"MIN("+x+") OVER (PARTITION BY "+y+" ORDER BY "+z+" DESC)",
		"CUME_DIST() OVER (ORDER BY "+x+")",
	)
	if g.one(6) {
		s = g.pick("SUM("+z+") OVER (ORDER BY "+x+" RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
			"COUNT(*) OVER (PARTITION BY "+y+" ORDER BY "+x+" RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
			"MAX("+z+") OVER (ORDER BY "+x+" DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)")
		if !g.my() && g.one(2) {
			s = g.pick("SUM("+z+") OVER (ORDER BY "+x+" RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
				"COUNT("+z+") OVER (PARTITION BY "+y+" ORDER BY "+x+" GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)",
				"MIN("+z+") OVER (ORDER BY "+x+" GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING EXCLUDE GROUP)")
		}
	}
	if !g.my() && g.one(6) {
		return "SUM(" + x + ") FILTER (WHERE " + y + " > 1) OVER (PARTITION BY " + z + ")"
	}
	return s
}

// keyOf writes a column that is different in each row of the scope, or "".
func (g *generator) keyOf(f *from) string {
	if len(f.sources) != 1 || f.sources[0].table == nil || len(f.sources[0].table.key) != 1 || f.sources[0].table.local {
		return ""
	}
	if f.sources[0].name == "" {
		return g.quote(f.sources[0].table.key[0])
	}
	return f.sources[0].name + "." + g.quote(f.sources[0].table.key[0])
}

// grouped writes a block with aggregates.
func (g *generator) grouped() *block {
	if g.one(6) {
		return g.dependent()
	}
	f := g.sources(nil, 3)
	b := &block{f: f, sortable: true, grouped: true}
	var group, items []string
	for i := range g.IntN(3) {
		var e string
		switch g.IntN(4) {
		case 0:
			e = g.ref(f, words)
		case 1:
			e = g.wholeNumber(f)
			if strings.Contains(e, "(SELECT") || strings.Contains(e, markStart) || isConstant(e) {
				e = "" // two arguments are two expressions; a number would be a position
			}
		default:
			e = g.ref(f, number)
		}
		if e == "" {
			continue
		}
		name := g.pick("", " AS g", " AS views", "")
		if g.my() && f.queries() {
			name = "" // MariaDB 10.11 may name the column of the result as the query in FROM does, or two of them as one
		}
		items = append(items, e+name)
		b.computed = b.computed || isComputed(e)
		switch {
		case g.one(4):
			e = itoa(len(items))
		case name == " AS g" && i == 0 && g.one(2):
			e = "g"
		}
		group = append(group, e)
	}
	for range 1 + g.IntN(2) {
		x := g.aggregate(f)
		if g.my() && len(group) == 0 {
			// Of no rows, with a window MariaDB 10.11 counts 0 or 1, and shows
			// NULL or 0 for other aggregates.
		} else if g.one(10) {
			x = g.pick("SUM(", "MAX(") + "COUNT(*)) OVER ()"
		} else if g.one(12) {
			x = "RANK() OVER (ORDER BY " + x + ")"
		}
		name := g.pick("", " AS s", " AS views", " AS likes")
		if g.my() && namedLike(items, name) && strings.Contains(strings.Join(items, " ")+x, " OVER ") {
			name = "" // as in plain: MariaDB may not sort by it
		}
		items = append(items, x+name)
		if name != "" {
			b.names = append(b.names, strings.TrimPrefix(name, " AS "))
		}
	}
	g.Shuffle(len(items), func(i, j int) {
		if len(group) == 0 { // positions stay
			items[i], items[j] = items[j], items[i]
		}
	})
	list := strings.Join(items, ", ")
	b.sql = "SELECT " + list + " FROM " + f.sql + g.whereBeside(f, list)
	if len(group) > 0 {
		b.sql += g.groupBy(group, b)
		if g.my() && b.computed && regroups.MatchString(list) {
			b.sortable = false
		}
	}
	b.sql += g.having(f, group, b)
	b.items = len(items)
	b.single = len(group) == 0
	return b
}

// regroups finds aggregates for which MariaDB sorts the rows instead of keeping one row per
// group in a temporary table. Sorted downwards, 10.11 adds the group of NULL to the group
// before it, where what it groups by is an expression of type DECIMAL.
var regroups = regexp.MustCompile(`(?i)DISTINCT |GROUP_CONCAT|ARRAYAGG`)

// isComputed reports whether e is more than a column's name.
func isComputed(e string) bool { return strings.ContainsAny(e, "( +-*/%") }

func isConstant(e string) bool { return strings.Trim(e, "0123456789- '") == "" }

func (g *generator) groupBy(group []string, b *block) string {
	list := strings.Join(group, ", ")
	if g.one(20) {
		if g.pg() {
			// PostgreSQL 15 does not sort by a column that WHERE fixes, though it
			// is NULL in the rows that sum up.
			b.sortable = false
			return " GROUP BY " + g.pick("ROLLUP (", "CUBE (", "GROUPING SETS ((), ") + list + ")"
		}
		// MariaDB 10.11 adds up more than each value of a DISTINCT once; beside a
		// window it shows the last group's value for the NULL of the sum; and an
		// expression that names another column of GROUP BY it computes anew, of
		// whatever row it has read last, as it may one of a query in FROM.
		if g.my() && !strings.Contains(b.sql, "DISTINCT ") && !strings.Contains(b.sql, " OVER ") &&
			(len(group) == 1 && !b.f.queries() || !b.computed) {
			b.sortable = false
			return " GROUP BY " + list + " WITH ROLLUP"
		}
	}
	return g.pick(" GROUP BY ", " group by ") + list
}

func (g *generator) having(f *from, group []string, b *block) string {
	if !g.one(3) {
		return ""
	}
	having := g.aggregate(f) + " IS NOT NULL"
	switch {
	case len(group) > 0 && g.one(4) && !isConstant(group[0]) && group[0] != "g":
		having = group[0] + " IS NOT NULL"
	case g.one(4) && g.my() && len(b.names) > 0:
		having = either(g, b.names) + " IS NOT NULL"
	case g.one(4) && g.lite() && slices.Contains(b.names, "s"): // others it takes for columns, of any row of the group
		having = "s IS NOT NULL"
	case g.one(2):
		having = g.pick("SUM(", "COUNT(", "MAX(") + g.number(f) + ")" + either(g, comparisons) + g.value(either(g, smallNumbers))
	}
	if g.my() && strings.Contains(b.sql, " OVER ") && strings.Contains(b.sql+having, "DISTINCT ") {
		return "" // beside a window and an aggregate of DISTINCT values MariaDB 10.11 may drop all groups of a join
	}
	return " HAVING " + having
}

// dependent groups by a key, with columns that depend on it.
func (g *generator) dependent() *block {
	t := g.counterTable()
	for len(t.key) != 1 || t.name == "Order" {
		t = g.counterTable()
	}
	o := either(g, g.tables)
	for !o.hasNumber() {
		o = either(g, g.tables)
	}
	p := source{name: "p", columns: t.columns, table: t}
	r := source{name: "r", columns: o.columns, table: o}
	f := &from{sources: []source{p, r}}
	key := "p." + g.quote(t.key[0])
	g.whole++
	on, _ := g.columnWhere(&from{sources: []source{r, {}}}, isWhole)
	g.whole--
	if on == "" {
		on = "1"
	}
	join := g.pick(" LEFT JOIN ", " JOIN ")
	f.extend = join == " LEFT JOIN "
	f.sql = g.tableName(t) + " p" + join + g.tableName(o) + " AS r ON " + on + " = " + key
	b := &block{f: f, sortable: true, grouped: true, items: len(t.columns)}
	items := []string{"p.*"}
	switch g.IntN(3) {
	case 0:
		items, b.items = []string{key, "p." + g.quote(either(g, t.counters()).name)}, 2
	case 1:
		items, b.items = []string{key, g.number(&from{sources: []source{p}, outer: &from{}, extend: f.extend})}, 2
	}
	for range 1 + g.IntN(2) {
		items = append(
			items,
			g.pick("COUNT(", "SUM(", "COUNT(DISTINCT ")+"r."+g.quote(o.numberName(g))+")"+g.pick("", " AS n", " AS total"),
		)
		b.items++
	}
	b.sql = "SELECT " + strings.Join(items, ", ") + " FROM " + f.sql + g.maybeWhere(f) + " GROUP BY " + key
	if g.one(3) {
		b.sql += " HAVING " +
			g.pick("COUNT(*)", "SUM(p."+g.quote(either(g, t.counters()).name)+")", "p."+g.quote(either(g, t.counters()).name)) +
			" > " + g.value(int64(1))
	}
	return b
}

func (t *table) hasNumber() bool {
	for _, c := range t.columns {
		if c.kind == number && !c.made {
			return true
		}
	}
	return false
}

func (t *table) numberName(g *generator) string {
	for {
		if c := either(g, t.columns); c.kind == number && !c.made {
			return c.name
		}
	}
}

// sumsByGroup writes sums of counters by groups of rows of a table, beside other aggregates.
func (g *generator) sumsByGroup() string {
	t := g.counterTable()
	o := t.ordinary()
	if len(o) == 0 {
		return g.sums()
	}
	group := g.quote(either(g, o).name)
	if c := g.numberColumn(t); c != nil && g.one(3) {
		group = g.quote(c.name) + " + 1"
	}
	by := g.pick(group, group, "1")
	sum := func() string { return g.pick("SUM(", "sum(") + g.quote(either(g, t.counters()).name) + ")" }
	items := []string{group, sum()}
	if second := g.quote(either(g, o).name); second != group && g.one(3) {
		items, by = []string{group, sum(), second}, by+", "+second
	}
	for range g.IntN(4) {
		x := g.quote(either(g, t.columns).name)
		other := group // of another column MySQL and SQLite show the value of any row; PostgreSQL refuses it
		switch {
		case g.pg():
			other = x
		case g.my() && isComputed(group): // prepared and by position MariaDB refuses the second one
			other = "COUNT(*)"
		}
		items = append(items, g.pick(sum(), sum()+" + 1", "COALESCE("+sum()+", 0)",
			"COUNT(*)", "COUNT( * )", "COUNT("+x+")", "MIN("+x+")", "MAX("+x+")", "COUNT(DISTINCT "+x+")", other)+
			g.pick("", " AS x"+itoa(len(items))))
	}
	query := "SELECT " + strings.Join(items, ", ") + " FROM " + g.tableName(t)
	if g.one(2) {
		query += " WHERE " + g.condition(&from{sources: []source{{name: g.tableBare(t), columns: t.columns, table: t}}})
	} else if valued := t.valued(); len(valued) > 0 && g.one(2) {
		c := either(g, valued)
		query += " WHERE " + g.quote(c.name) + g.pick(" = ", " <> ", " >= ") + g.value(either(g, c.values))
	}
	query += " GROUP BY " + by
	if g.one(3) {
		query += " HAVING " + sum() + g.pick(" > 3", " <> 0", " IS NOT NULL")
	}
	if g.one(3) {
		query += " ORDER BY " + g.pick("2", "2 DESC", sum()+" DESC", group)
		if !strings.Contains(by, ", ") {
			query += ", " + g.pick("1", group) + g.pick("", " LIMIT 3", " LIMIT 2 OFFSET 1")
		}
	}
	return query
}

package random

import "strings"

// page writes what lists show: ordered by a counter, some rows from some
// place on. It returns the columns it has.
func (g *generator) page() (string, []column) {
	t := g.counterTable()
	for len(t.key) != 1 {
		t = g.counterTable()
	}
	if g.large != nil && g.one(3) {
		t = g.large
	}
	g.pageRows = t.size()
	qualifier, head := "", g.tableName(t)
	if g.one(3) {
		qualifier = g.alias()
		head += " AS " + qualifier
		qualifier += "."
	}
	f := &from{sources: []source{{name: strings.TrimSuffix(qualifier, "."), columns: t.columns, table: t}}}
	counter := either(g, t.counters())
	c, k := qualifier+g.quote(counter.name), qualifier+g.quote(t.key[0])
	columns := []column{*t.column(t.key[0]), *counter}
	items := k + ", " + c
	switch {
	case g.one(4):
		columns, items = t.columns, "*"
	case g.one(4) && len(t.ordinary()) > 0:
		o := either(g, t.ordinary())
		columns, items = append(columns, *o), items+", "+qualifier+g.quote(o.name)
	case g.one(6):
		columns = []column{columns[0], {name: "v", kind: number, null: true, decimal: counter.decimal}}
		items = k + ", " + c + " AS v"
	}
	desc := g.pick("", " DESC", " DESC")
	if items != "*" && g.one(4) {
		columns = append(columns, column{name: "place", kind: number})
		items += ", " + g.pick("RANK() OVER (ORDER BY "+c+desc+")", "ROW_NUMBER() OVER (ORDER BY "+c+desc+", "+k+")",
			"DENSE_RANK() OVER (PARTITION BY "+k+" ORDER BY "+c+desc+")", "COUNT(*) OVER (ORDER BY "+c+desc+")") + " AS place"
	}
	scored := items != "*" && g.one(8)
	if scored {
		columns = append(columns, column{name: "score", kind: number, null: true, decimal: true})
		items += ", " + g.fromTwo(t, qualifier) + " AS score"
	}
	var beside []string
	if o := either(g, g.tables); qualifier != "" && items != "*" && len(o.key) == 1 && g.one(3) {
		if key := o.column(o.key[0]); key.kind == columns[0].kind {
			name := g.alias()
			head += g.pick(" JOIN ", " LEFT JOIN ") + g.tableName(o) + " AS " + name + " ON " + name + "." + g.quote(key.name) + " = " + k
			if g.one(2) {
				beside = []string{g.condition(&from{sources: []source{{name: name, columns: o.columns, table: o}}, extend: true})}
			}
			if len(o.valued()) > 0 && g.one(3) {
				v := either(g, o.valued())
				beside = append(beside, name+"."+g.quote(v.name)+" = "+g.constant(either(g, v.values)))
			}
		}
	}
	where := append(g.pageWhere(c, k, desc, smallNumbers), beside...)
	if g.one(4) {
		where = append(where, g.condition(f))
	}
	if len(t.valued()) > 0 && g.one(4) {
		o := either(g, t.valued())
		where = append(where, qualifier+g.quote(o.name)+g.pick(" IS NOT NULL", " = "+g.constant(either(g, o.values))))
	}
	query := "SELECT " + items + " FROM " + head
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	order := c + desc
	if items != "*" && g.one(6) {
		order = "2" + desc
	}
	if strings.HasSuffix(items, " AS v") && g.one(2) {
		order = "v" + desc
	}
	switch {
	case scored:
		order = "score" + desc
	case g.one(8):
		order = g.fromTwo(t, qualifier)
		if g.one(3) {
			order = "-(" + order + ")"
		}
		order += desc
	}
	if !g.my() && g.one(8) {
		order += g.pick(" NULLS LAST", " NULLS FIRST")
	}
	if len(t.valued()) > 0 && g.one(5) {
		order = qualifier + g.quote(either(g, t.valued()).name) + desc + ", " + order
	}
	if g.one(8) {
		order = g.wordsOrNumberColumn(f, t, qualifier) + ", " + order
	}
	query += " ORDER BY " + order + ", " + k + g.pick(desc, "")
	if !g.one(5) {
		query += g.limit()
	}
	return query, columns
}

func (g *generator) wordsOrNumberColumn(f *from, t *table, qualifier string) string {
	c := either(g, t.columns)
	return qualifier + g.quote(c.name) + g.direction()
}

// sums writes aggregates over the whole of a table, or of a part of it.
func (g *generator) sums() string {
	t := g.counterTable()
	f := &from{sources: []source{{name: g.tableBare(t), columns: t.columns, table: t}}, sql: g.tableName(t)}
	var items []string
	for range 1 + g.IntN(3) {
		c := g.quote(either(g, t.counters()).name)
		items = append(
			items,
			g.pick(
				"SUM("+c+")",
				"SUM("+c+")",
				"COUNT(*)",
				"COALESCE(SUM("+c+"), 0)",
				"SUM("+c+") AS total",
				"MAX("+c+")",
				"sum("+c+") AS "+g.quoted("Sum"),
				"COUNT("+c+")",
				"AVG("+c+")",
				"MIN("+c+")",
			),
		)
	}
	query := "SELECT " + strings.Join(items, ", ") + " FROM " + f.sql
	switch g.IntN(4) {
	case 0:
		query += " WHERE " + g.condition(f)
	case 1, 2:
		if o := t.valued(); len(o) > 0 {
			c := either(g, o)
			query += " WHERE " + g.quote(c.name) + g.pick(" = ", " <> ", " >= ") + g.value(either(g, c.values))
		}
	}
	return query
}

// pageWhere writes what a list begins behind, or other bounds of a counter; or
// nothing.
func (g *generator) pageWhere(c, k, desc string, bounds []any) []string {
	var where []string
	a, b := g.value(either(g, bounds)), g.value(either(g, ids))
	less := map[string]string{"": " > ", " DESC": " < "}[desc]
	switch g.IntN(10) {
	case 0, 1:
		where = append(where, "("+c+", "+k+")"+less+"("+a+", "+b+")")
	case 2:
		where = append(where, "("+c+less+a+" OR ("+c+" = "+g.value(int64(2))+" AND "+k+less+b+"))")
	case 3:
		where = append(where, c+either(g, comparisons)+a)
	case 4:
		where = append(where, c+" BETWEEN "+a+" AND "+g.value(int64(20)))
	case 5:
		where = append(where, a+" <= "+c, c+" < "+g.value(int64(9)))
	case 6:
		where = append(where, c+" IN ("+a+", 4, 6)")
	}
	return where
}

// bounded writes a query that asks one thing of the rows within bounds of a counter.
func (g *generator) bounded() string {
	t := g.counterTable()
	for len(t.key) != 1 {
		t = g.counterTable()
	}
	if g.large != nil && g.one(2) {
		t = g.large
	}
	c, k := g.quote(either(g, t.counters()).name), g.quote(t.key[0])
	from, where := " FROM "+g.tableName(t), ""
	form, bounds := g.IntN(7), smallNumbers
	if form > 3 && form < 6 && g.my() {
		// MariaDB 10.11 looks for MIN(c) WHERE c > -1 behind the least value of an
		// unsigned column, and misses the rows that have it.
		bounds = smallNumbers[:len(smallNumbers)-1]
	}
	conds := g.pageWhere(c, k, g.pick("", " DESC"), bounds)
	if g.one(3) {
		conds = append(conds, c+either(g, comparisons)+g.value(either(g, bounds)))
	}
	if g.one(4) {
		conds = append(conds, g.pick(c+either(g, comparisons)+g.boundOf(t, c), "NOT ("+c+g.pick(" < ", " >= ")+g.boundOf(t, c)+")"))
	}
	if len(conds) > 0 {
		where = " WHERE " + strings.Join(conds, " AND ")
	}
	switch form {
	case 0:
		return "SELECT COUNT(*), MIN(" + k + "), SUM(" + c + ")" + from + where
	case 1:
		return "SELECT " + g.pick("", "NOT ") + "EXISTS (SELECT 1" + from + where + ")"
	case 2:
		return "WITH h AS (SELECT " + k + from + where + ") SELECT COUNT(*) FROM h"
	case 3:
		return "SELECT COUNT(*) FROM (SELECT DISTINCT " + c + from + where + ") AS d"
	case 6:
		inside := g.pick(k+", "+c, k+", "+c, "*", c+", "+k+", "+c+" + 1 AS more")
		query := g.pick("SELECT * FROM (SELECT "+inside+from+") AS d", "WITH d AS (SELECT "+inside+from+") SELECT * FROM d")
		return query + where
	}
	return "SELECT " + g.pick("MAX("+c+"), MIN("+c+")", "MIN("+c+") AS v", "MAX("+c+") + 1", "COALESCE(MAX("+c+"), 0)") + from + where
}

// boundOf writes a query as the bound of a table's counter.
func (g *generator) boundOf(t *table, c string) string {
	from, k := " FROM "+g.tableName(t), g.quote(t.key[0])
	switch g.IntN(8) {
	case 0, 1:
		return "(SELECT " + c + from + " WHERE " + k + " = " + g.value(int64(g.IntN(9))) + ")"
	case 2:
		return "(SELECT " + g.pick("AVG("+c+") * 2", "AVG("+c+") / 3", "COUNT(*)", "SUM("+c+") - 1") + from + ")"
	case 3:
		return "(SELECT " + c + from + " ORDER BY " + c + g.pick("", " DESC") + " LIMIT 1" + g.pick("", " OFFSET 2") + ")"
	case 4: // several rows, or none
		return "(SELECT " + c + from + " WHERE " + c + " > " + g.value(either(g, smallNumbers[:2])) + " ORDER BY " + c + " LIMIT 1)"
	case 5:
		return "(SELECT " + g.pick("MAX(id)", "COUNT(post_id)", "MIN(n)") + " FROM tags)"
	}
	return "(SELECT " + g.pick("MAX(", "MIN(", "MAX(") + c + ")" + from + g.pick("", " WHERE "+k+" > 2") + ")"
}

package random

import "strings"

// with writes a WITH clause; what follows may use its names until undo.
func (g *generator) with() (query string, undo func()) {
	saved := g.tables
	undo = func() { g.tables = saved }
	name := "c"
	if g.one(4) {
		name = g.pick("posts", "users", "limits") // it hides the table
	}
	query, ok := g.cte(name)
	if !ok {
		return "", undo
	}
	if g.one(3) { // the second may read the first
		if more, ok := g.cte("d"); ok {
			query += ", " + more
		}
	}
	return g.pick("WITH ", "WITH ", "with ") + query + " ", undo
}

// cte writes one query of WITH, which what follows can use.
func (g *generator) cte(name string) (string, bool) {
	inner := g.sources(nil, 2)
	if inner.merged || manyColumns(inner) {
		inner = g.sources(nil, 1)
	}
	body, cols := g.derived(inner)
	rows := inner.rows()
	if g.one(5) {
		body, cols = g.page()
		rows = g.pageRows
	}
	cols = append([]column(nil), cols...)
	head := name
	if g.one(6) && len(cols) > 0 {
		list := make([]string, len(cols))
		for i := range cols {
			cols[i].name = name[:1] + itoa(i+1)
			list[i] = cols[i].name
		}
		head += " (" + strings.Join(list, ", ") + ")"
	}
	head += " AS "
	if !g.my() && g.one(4) {
		head += g.pick("MATERIALIZED ", "NOT MATERIALIZED ")
	}
	for i := range cols {
		cols[i].unique = false
	}
	c := &table{name: name, columns: cols, local: true, rows: rows}
	var tables []*table
	for _, t := range g.tables {
		if t.name != name {
			tables = append(tables, t)
		}
	}
	if len(tables) < 2 {
		return "", false
	}
	// The second table is what sources prefer.
	g.tables = append([]*table{tables[0], c}, tables[1:]...)
	return head + "(" + body + ")", true
}

// json writes queries that build JSON.
func (g *generator) json() string {
	f := g.sources(nil, 2)
	n, w := g.number(f), g.words(f)
	tail := " FROM " + f.sql + g.maybeWhere(f)
	switch {
	case g.my():
		if g.one(4) {
			return "SELECT JSON_EXTRACT(JSON_OBJECT('v', " + n + "), '$.v'), JSON_VALUE(JSON_ARRAY(" + n + "), '$[0]')" + tail
		}
		return "SELECT JSON_OBJECT('v', " + n + ", 'w', " + w + ")" + g.pick("", " AS j") + ", JSON_ARRAY(" + n + ", 1)" + tail
	case g.pg():
		switch g.IntN(6) {
		case 0:
			s := either(g, f.sources)
			return "SELECT " + g.pick(
				"row_to_json("+s.name+")",
				"to_json("+s.name+".*)",
				"to_jsonb("+s.name+")::text",
				s.name,
				"("+s.name+".*)::text",
				"ROW("+s.name+".*)::text",
				"count("+s.name+")",
			) + tail
		case 1:
			return "SELECT jsonb_build_object('n', " + n + ") || jsonb_build_object('w', " + w + ")" + tail
		case 2:
			return "SELECT json_agg(json_build_object('n', x.n, 'w', x.w) ORDER BY x.n, x.w) FROM (SELECT " + n + " AS n, " + w + " AS w" + tail + ") x"
		case 3:
			s := either(g, f.sources)
			if len(s.columns) > 0 && s.name != "" {
				c := either(g, s.columns).name
				return "SELECT " + g.pick(
					"to_jsonb("+s.name+")->>'"+c+"'",
					"(row_to_json("+s.name+")->'"+c+"')::text",
					"jsonb_agg(to_jsonb("+s.name+") - 'id' ORDER BY to_jsonb("+s.name+"))",
				) + tail
			}
			return "SELECT ARRAY(SELECT " + g.number(f) + tail + " ORDER BY 1)"
		}
		return "SELECT json_build_object('v', " + n + ", 'w', " + w + ")" + g.pick("", " AS j") + ", ROW(" + n + ", 1)::text" + tail
	}
	if g.one(4) {
		return "SELECT json_object('v', " + n + ") ->> '$.v', json_extract(json_array(" + n + "), '$[0]')" + tail
	}
	return "SELECT json_object('v', " + n + ", 'w', " + w + ")" + g.pick("", " AS j") + ", json_array(" + n + ", 1)" + tail
}

// special writes the rarer forms.
func (g *generator) special() string {
	t := g.counterTable()
	for len(t.key) != 1 {
		t = g.counterTable()
	}
	c, k, name := g.quote(either(g, t.counters()).name), g.quote(t.key[0]), g.tableName(t)
	switch n := g.IntN(9); {
	case n < 1: // along what counters say
		return "WITH RECURSIVE r (n, v) AS (SELECT " + k + ", 0 FROM " + name + " WHERE " + c + " > " + g.value(int64(3)) +
			" UNION SELECT p." + k + ", r.v + 1 FROM r JOIN " + name + " AS p ON p." + c + " = r.n WHERE r.v < 4) SELECT " +
			g.pick("n, v", "COUNT(*), MAX(v)", "r.n, (SELECT "+c+" FROM "+name+" WHERE "+k+" = r.n)") + " FROM r"
	case n < 3: // a sum along a chain of rows
		return "WITH RECURSIVE r (n, v) AS (SELECT " + k + ", " + c + " FROM " + name + " WHERE " + k + " = " + g.value(int64(1)) +
			" UNION ALL SELECT p." + k + ", p." + c + " FROM r JOIN " + name + " AS p ON p." + k + " = r.n + 1 WHERE r.n < 5) SELECT " +
			g.pick("n, v", "*", "SUM(v)", "MAX(n), COUNT(v)") + " FROM r"
	case n < 5:
		row := "(1, " + g.total() + ")"
		if g.one(2) && !g.my() {
			row += ", (2, " + g.total() + ")"
		}
		if g.my() {
			return "SELECT 1, " + g.total()
		}
		return "VALUES " + row
	case n < 6 && g.pg():
		return g.pick("TABLE "+name, "TABLE "+name+" ORDER BY "+k, "(TABLE "+name+")", "SELECT * FROM (TABLE "+name+") x")
	case n < 7:
		return "SELECT " + g.pick("(SELECT COUNT(*) FROM "+name+" WHERE "+c+" > 2)", "EXISTS (SELECT 1 FROM "+name+" WHERE "+c+" = 3)",
			"(SELECT "+c+" FROM "+name+" WHERE "+k+" = "+g.value(int64(2))+") + 1", g.total()+" AS views")
	case n < 8 && g.pg():
		return "SELECT p." + k + ", i FROM " + name + " p, generate_series(1, " + g.pick("least(p."+c+", 3)", "2") + ") AS i"
	case n < 8 && g.lite():
		return "SELECT p." + k + ", j.value FROM " + name + " p, json_each(json_array(p." + c + ", 1)) AS j"
	}
	b := g.plain()
	n := itoa(b.items)
	if b.items == 0 || b.first != "" {
		n = "0"
	}
	return "SELECT COUNT(*), " + n + " FROM (SELECT 1 AS one FROM " + b.f.sql + g.maybeWhere(b.f) + ") AS counted"
}

// decorate puts comments and line ends where there is white space.
func (g *generator) decorate(query string) string {
	var b strings.Builder
	quoted := byte(0)
	for i := range len(query) {
		ch := query[i]
		switch {
		case quoted != 0:
			if ch == quoted {
				quoted = 0
			}
		case ch == '\'' || ch == '"' || ch == '`':
			quoted = ch
		case ch == ' ' && g.one(12):
			b.WriteString(g.pick("\n", "  ", " /* views */ ", "\t", " -- it's\n", "/**/ ", " /* posts \" */"))
			if g.my() && g.one(4) {
				b.WriteString(" # views\n")
			}
			b.WriteByte(' ')
			continue
		}
		b.WriteByte(ch)
	}
	return b.String()
}

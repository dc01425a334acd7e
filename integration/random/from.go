package random

import (
	"fmt"
	"strings"
)

// source is one entry of a FROM clause: how it is called and what it has.
type source struct {
	name    string // as its columns are qualified, quoted as needed
	columns []column
	rows    int    // about how many it has at most
	table   *table // the table it is, when it is one
	schema  string // may stand before the name
}

// from is the scope of a query block.
type from struct {
	sources []source
	sql     string
	outer   *from
	merged  bool // USING or NATURAL: * has fewer columns
	nested  bool // a join in parentheses
	extend  bool // by an outer join: its rows may be NULL
	item    int  // the first source of the last item between commas: what its ON sees
}

// extends reports whether a row that f or a query around it sees may be NULL.
func (f *from) extends() bool {
	return f != nil && (f.extend || f.outer.extends())
}

// loses reports whether the engine may not show the NULL that a column is where
// its row is the missing one of an outer join: MariaDB 10.11 may take an
// expression of a query in FROM for one that is never NULL and compute it all
// the same, where the query or the outer join holds a join in turn.
func (g *generator) loses(f *from, c column) bool { return g.my() && c.made && f.extends() }

// queries reports whether f or a query around it has columns of queries.
func (f *from) queries() bool {
	if f == nil {
		return false
	}
	for _, s := range f.sources {
		if s.table == nil || s.table.local {
			return true
		}
	}
	return f.outer.queries()
}

// rows is about how many rows f has at most, for each of those around it.
func (f *from) rows() int {
	if f == nil {
		return 1
	}
	n := f.outer.rows()
	for _, s := range f.sources {
		n = min(n*max(s.rows, 1), 1e9)
	}
	return n
}

func (t *table) size() int { return max(t.rows, 10) }

// long reports whether MariaDB may not end a query within a minute that has a source
// of more than n rows beside those of f.
func (g *generator) long(f *from, n int) bool { return g.my() && f.rows()*n > 1000 }

func (g *generator) alias() string {
	g.fresh++
	return fmt.Sprintf("%s%d", g.pick("t", "x", "q"), g.fresh)
}

// columnWhere writes a reference to a column that fits, and returns it.
func (g *generator) columnWhere(f *from, fits func(column) bool) (string, column) {
	if f.outer != nil && g.one(4) {
		if s, c := g.columnWhere(f.outer, fits); s != "" && strings.Contains(s, ".") {
			return s, c
		}
	}
	for range 8 {
		if len(f.sources) == 0 {
			break
		}
		s := either(g, f.sources)
		if len(s.columns) == 0 {
			continue
		}
		c := either(g, s.columns)
		if g.one(2) { // counters are what it is about
			for _, o := range s.columns {
				if o.counter && g.one(2) {
					c = o
				}
			}
		}
		if !fits(c) || g.loses(f, c) {
			continue
		}
		if c.loose {
			g.ties = true
		}
		if c.decimal {
			g.decimals++
		}
		if c.made {
			g.made++
		}
		return g.columnRef(f, s, c), c
	}
	return "", column{}
}

func (g *generator) columnRef(f *from, s source, c column) string {
	if (len(f.sources) == 1 && f.outer == nil && g.one(2)) || s.name == "" {
		return g.quote(c.name)
	}
	if s.schema != "" && g.one(12) {
		return s.schema + s.name + "." + g.quote(c.name)
	}
	return s.name + "." + g.quote(c.name)
}

// ref writes a reference to a column of that kind, or "" when there is none.
func (g *generator) ref(f *from, k kind) string {
	s, _ := g.columnWhere(f, func(c column) bool { return c.kind == k && (!c.decimal || g.whole == 0) })
	return s
}

// sources writes a FROM clause of up to n sources.
func (g *generator) sources(outer *from, n int) *from {
	f := &from{outer: outer}
	f.sql = g.source(f)
	for range n - 1 {
		if !g.one(2) || g.long(f, 1) {
			break
		}
		g.join(f)
	}
	return f
}

func (g *generator) source(f *from) string {
	t := either(g, g.tables)
	if g.one(2) {
		t = g.tables[1]
	}
	if len(g.views) > 0 && g.one(30) {
		t = either(g, g.views)
	}
	for g.long(f, t.size()/10) && t.size() > 10 {
		t = either(g, g.tables)
	}
	if g.depth < 3 && g.one(7) && !g.long(f, 100) { // a derived table
		return g.derivedSource(f)
	}
	name := g.tableName(t)
	if g.one(3) && !g.taken(f, t) {
		f.sources = append(f.sources, source{name: g.tableBare(t), columns: t.columns, rows: t.size(), table: t, schema: g.schemaOf(t)})
		return name + g.hint()
	}
	a := g.alias()
	if g.pg() && g.one(12) && !t.local { // the alias renames the first columns
		cols := append([]column(nil), t.columns...)
		cols[0].name = "k1"
		list := "k1"
		if len(cols) > 2 && g.one(2) {
			cols[1].name = "k2"
			cols[2].name = g.pick("views", "k3")
			list += ", k2, " + cols[2].name
		}
		if !repeats(cols) {
			f.sources = append(f.sources, source{name: a, columns: cols})
			return name + " AS " + a + " (" + list + ")"
		}
	}
	if g.pg() && g.one(16) && !t.local {
		name = "ONLY " + name
	}
	f.sources = append(f.sources, source{name: a, columns: t.columns, rows: t.size(), table: t})
	if g.one(10) { // a quoted alias in another letter case
		q := g.pick("My", "T") + a
		f.sources[len(f.sources)-1].name = g.quoted(q)
		return name + " AS " + g.quoted(q)
	}
	return name + g.pick(" ", " AS ") + a + g.hint()
}

// hint is for the engine's planner: it changes nothing.
func (g *generator) hint() string {
	if g.lite() && g.one(16) {
		return " NOT INDEXED"
	}
	return ""
}

func repeats(cols []column) bool {
	seen := map[string]bool{}
	for _, c := range cols {
		if seen[strings.ToLower(c.name)] {
			return true
		}
		seen[strings.ToLower(c.name)] = true
	}
	return false
}

func (g *generator) schemaOf(t *table) string {
	switch {
	case t.local:
		return ""
	case g.pg():
		return "public."
	case g.lite():
		return "main."
	}
	return ThisDatabase + "."
}

func (g *generator) taken(f *from, t *table) bool {
	for x := f; x != nil; x = x.outer {
		for _, s := range x.sources {
			if strings.EqualFold(strings.Trim(s.name, "`\""), t.name) {
				return true
			}
		}
	}
	return false
}

func (g *generator) derivedSource(f *from) string {
	g.depth++
	defer func() { g.depth-- }()
	a := g.alias()
	if !g.my() && g.one(8) {
		cols := []column{{name: "n", kind: number}, {name: "w", kind: words, null: true}}
		rows := "VALUES (1, 'a'), (2, 'b'), (3, NULL)"
		if g.one(3) {
			rows = "VALUES (1, 'a'), (" + g.total() + ", 'b')"
			if !g.lite() {
				rows = "VALUES (CAST(1 AS bigint), 'a'), (CAST(" + g.total() + " AS bigint), 'b')"
			}
		}
		f.sources = append(f.sources, source{name: a, columns: cols})
		if g.pg() {
			return "(" + rows + ") AS " + a + " (n, w)"
		}
		f.sources[len(f.sources)-1].columns = []column{{name: "column1", kind: number}, {name: "column2", kind: words, null: true}}
		return "(" + rows + ") AS " + a
	}
	if g.one(8) {
		query, cols := g.page()
		f.sources = append(f.sources, source{name: a, columns: cols, rows: g.pageRows})
		return "(" + query + ") " + g.pick("AS ", "") + a
	}
	if g.one(8) {
		// The same columns of the same table: types agree.
		s := g.sources(nil, 1)
		query, cols := g.derived(s)
		f.sources = append(f.sources, source{name: a, columns: cols, rows: 2 * s.rows()})
		return "(" + query + g.pick(" UNION ALL ", " UNION ALL ", " UNION ") + query + ") AS " + a
	}
	inner := g.sources(nil, 2)
	query, cols := g.derived(inner)
	f.sources = append(f.sources, source{name: a, columns: cols, rows: inner.rows()})
	if g.pg() && g.one(6) && len(cols) > 0 {
		list := make([]string, len(cols))
		for i := range cols {
			cols[i].name = fmt.Sprintf("d%d", i+1)
			list[i] = cols[i].name
		}
		return "(" + query + ") AS " + a + " (" + strings.Join(list, ", ") + ")"
	}
	return "(" + query + ") " + g.pick("AS ", "") + a
}

// total is a scalar subquery without outer references.
func (g *generator) total() string {
	t := g.counterTable()
	g.whole++
	defer func() { g.whole-- }()
	c := either(g, t.counters())
	if c.decimal {
		return "(SELECT COUNT(*) FROM " + g.tableName(t) + " WHERE " + g.quote(c.name) + " > 1)"
	}
	return "(SELECT " + g.pick("MAX", "SUM", "MIN") + "(" + g.quote(c.name) + ") FROM " + g.tableName(t) + ")"
}

// derived writes a query whose columns are known.
func (g *generator) derived(f *from) (string, []column) {
	if g.one(3) && !f.merged && !manyColumns(f) {
		var cols []column
		for _, s := range f.sources {
			for _, c := range s.columns {
				c.unique, c.counter = false, c.counter && g.one(2)
				cols = append(cols, c)
			}
		}
		return "SELECT * FROM " + f.sql + g.maybeWhere(f), cols
	}
	distinct := ""
	if g.one(4) {
		key := g.ref(f, words)
		if key != "" {
			return "SELECT " + key + " AS w, SUM(" + g.number(f) + ") AS views, COUNT(*) AS n FROM " + f.sql + g.maybeWhere(f) +
					" GROUP BY " + key,
				[]column{{name: "w", kind: words}, {name: "views", kind: number, decimal: true}, {name: "n", kind: number}}
		}
	} else if g.one(8) {
		distinct = "DISTINCT "
		g.whole++
		defer func() { g.whole-- }()
	}
	a := g.pick("views", "v", "likes")
	col := func(write func(*from) string, c column) (string, column) {
		decimals, made := g.decimals, g.made
		s := write(f)
		c.decimal = c.kind == number && (g.decimals > decimals || g.my() && strings.Contains(s, "/ 2"))
		c.made = g.my() && (g.made > made || isComputed(s) || isConstant(s) || strings.HasPrefix(s, markStart))
		return s, c
	}
	x, cx := col(g.number, column{name: a, kind: number})
	y, cy := col(g.number, column{name: "id", kind: number})
	w, cw := col(g.words, column{name: "w", kind: words})
	where := g.maybeWhere(f)
	if g.my() && len(f.sources) > 1 && compares.MatchString(f.sql+where) {
		distinct = "" // as in plain
	}
	return "SELECT " + distinct + x + " AS " + a + ", " + y + " AS id, " + w + " AS w FROM " + f.sql + where,
		[]column{cx, cy, cw}
}

func (g *generator) maybeWhere(f *from) string {
	if g.one(2) {
		return ""
	}
	return g.pick(" WHERE ", " WHERE ", " where ") + g.condition(f)
}

func manyColumns(f *from) bool {
	var all []column
	for _, s := range f.sources {
		all = append(all, s.columns...)
	}
	return repeats(all)
}

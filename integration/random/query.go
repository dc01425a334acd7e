package random

import (
	"fmt"
	"strings"
)

// source is one entry of a FROM clause: how it is called and what it has.
type source struct {
	name    string // as its columns are qualified, quoted as needed
	columns []column
}

// from is the scope of a query block.
type from struct {
	sources []source
	text    string
	outer   *from
	merged  bool // USING or NATURAL: * has fewer columns
}

func (g *generator) alias() string {
	g.fresh++
	return fmt.Sprintf("%s%d", g.pick("t", "x", "q"), g.fresh)
}

// ref writes a reference to a column of that kind, or "" when there is none.
func (g *generator) ref(f *from, k kind) string {
	if f.outer != nil && g.one(4) {
		if s := g.ref(f.outer, k); s != "" && strings.Contains(s, ".") {
			return s
		}
	}
	for range 8 {
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
		if c.kind != k {
			continue
		}
		if (len(f.sources) == 1 && f.outer == nil && g.one(2)) || s.name == "" {
			return g.quote(c.name)
		}
		return s.name + "." + g.quote(c.name)
	}
	return ""
}

func (g *generator) number(f *from) string {
	g.depth++
	defer func() { g.depth-- }()
	r := g.ref(f, number)
	if r == "" {
		return g.constant(either(g, smallNumbers))
	}
	if g.depth > 3 {
		return r
	}
	switch g.IntN(20) {
	case 0:
		return r + " + " + g.value(int64(1))
	case 1:
		return r + g.pick(" - ", "-", " * ", "+") + "2"
	case 2:
		return "(" + r + " + " + g.number(f) + ")"
	case 3:
		return "COALESCE(" + r + ", 0)"
	case 4:
		return "CASE WHEN " + g.condition(f) + " THEN " + r + " ELSE " + g.number(f) + " END"
	case 5:
		return "ABS(" + r + ")"
	case 6:
		return g.greatest() + "(" + r + ", " + g.number(f) + ")"
	case 7:
		return g.scalar(f)
	case 8:
		return "-" + r
	case 9:
		return "NULLIF(" + r + ", 2)"
	case 10:
		return "CAST(" + r + " AS " + map[string]string{"mysql": "SIGNED", "postgres": "bigint", "sqlite": "INTEGER"}[g.dialect] + ")"
	case 11:
		if g.pg() {
			return r + "::" + g.pick("bigint", "int", "numeric")
		}
		return "(" + r + ")"
	case 12:
		return r + g.pick(" / 2", " % 3")
	}
	return r
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
		if g.my() {
			return g.pick("CAST("+n+" AS CHAR)", "CONCAT('n', "+n+")", "CONCAT("+n+")")
		}
		if g.pg() {
			return g.pick("CAST("+n+" AS text)", "'n' || "+n, n+"::text", "concat('n', "+n+")")
		}
		return g.pick("CAST("+n+" AS TEXT)", "'n' || "+n)
	}
	return g.pick(r, r, r, "LOWER("+r+")", "COALESCE("+r+", 'none')")
}

// scalar writes a scalar subquery.
func (g *generator) scalar(f *from) string {
	if g.depth > 2 {
		return "1"
	}
	sub := g.sources(f, 1)
	where := ""
	if g.one(2) {
		where = " WHERE " + g.condition(sub)
	}
	return "(SELECT " + g.pick("COUNT", "MAX", "MIN", "SUM") + "(" + g.number(sub) + ") FROM " + sub.text + where + ")"
}

func (g *generator) condition(f *from) string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 4 {
		return g.number(f) + " > 1"
	}
	switch g.IntN(18) {
	case 0:
		return g.condition(f) + " AND " + g.condition(f)
	case 1:
		return "(" + g.condition(f) + " OR " + g.condition(f) + ")"
	case 2:
		return "NOT (" + g.condition(f) + ")"
	case 3:
		return g.number(f) + g.pick(" BETWEEN ", " NOT BETWEEN ") + "1 AND " + g.number(f)
	case 4:
		return g.number(f) + g.pick(" IN (", " NOT IN (") + "1, 2, " + g.number(f) + ")"
	case 5:
		return g.number(f) + g.pick(" IS NULL", " IS NOT NULL")
	case 6:
		return g.words(f) + g.pick(" = ", " <> ", " < ") + g.constant(either(g, texts))
	case 7:
		sub := g.sources(f, 1)
		return g.pick("EXISTS", "NOT EXISTS") + " (SELECT " + g.pick("1", "*") + " FROM " + sub.text + " WHERE " + g.condition(sub) + ")"
	case 8:
		sub := g.sources(f, 1)
		if g.my() {
			// MariaDB 10.11 answers wrongly where such a list is only made of
			// the outer query's columns.
			sub.outer = nil
		}
		return g.number(f) + g.pick(" IN", " NOT IN") + " (SELECT " + g.number(sub) + " FROM " + sub.text + ")"
	case 9:
		if r, s := g.ref(f, number), g.ref(f, number); r != "" && s != "" {
			return "(" + r + ", " + s + ")" + g.pick(" = (2, 1)", " > (2, 1)", " <= (2, 1)", " IN ((2, 1), (0, 0))")
		}
	case 10:
		if r := g.ref(f, words); r != "" {
			return r + " LIKE '%a%'"
		}
	case 11:
		if r := g.ref(f, number); r != "" {
			return r + g.pick(" = ", " > ", " <= ", "<>") + g.value(either(g, smallNumbers))
		}
	}
	if s := g.number(f) + g.pick(" > ", " = ", " <= ", "<>", " < ") + g.number(f); !strings.HasSuffix(s, "(") {
		return s
	}
	return "1 = 1"
}

// sources writes a FROM clause of up to n sources.
func (g *generator) sources(outer *from, n int) *from {
	f := &from{outer: outer}
	f.text = g.source(f)
	for range n - 1 {
		if !g.one(2) {
			break
		}
		left := f.sources
		join := g.pick(" JOIN ", " LEFT JOIN ", " INNER JOIN ", ", ", " CROSS JOIN ", " RIGHT JOIN ")
		if g.pg() && g.one(6) {
			join = " FULL JOIN "
		}
		text := g.source(f)
		right := f.sources[len(f.sources)-1]
		switch {
		case join == ", " || join == " CROSS JOIN ":
			f.text += join + text
			continue
		case g.one(8) && shares(left, right, "id"):
			f.text += join + text + " USING (id)"
			f.merged = true
			continue
		case g.one(20):
			f.text += " NATURAL" + strings.TrimSuffix(join, " ") + " " + text
			f.merged = true
			continue
		}
		a, b := g.ref(&from{sources: left}, number), g.ref(&from{sources: []source{right}}, number)
		on := "1 = 1"
		if a != "" && b != "" {
			if !strings.Contains(b, ".") {
				b = right.name + "." + b
			}
			if !strings.Contains(a, ".") {
				a = left[0].name + "." + a
			}
			on = a + " = " + b
		}
		f.text += join + text + " ON " + on
	}
	return f
}

func shares(left []source, right source, name string) bool {
	has := func(s source) bool {
		for _, c := range s.columns {
			if c.name == name {
				return true
			}
		}
		return false
	}
	n := 0
	for _, s := range left {
		if has(s) {
			n++
		}
	}
	return n == 1 && has(right)
}

func (g *generator) source(f *from) string {
	t := either(g, g.tables)
	if g.one(2) {
		t = g.tables[1]
	}
	if g.depth < 3 && g.one(7) { // a derived table
		g.depth++
		defer func() { g.depth-- }()
		inner := g.sources(nil, 1)
		text, cols := g.derived(inner)
		a := g.alias()
		f.sources = append(f.sources, source{a, cols})
		return "(" + text + ") " + g.pick("AS ", "") + a
	}
	name := g.tableName(t)
	if g.one(3) && !g.taken(f, t) {
		f.sources = append(f.sources, source{g.tableBare(t), t.columns})
		return name
	}
	a := g.alias()
	f.sources = append(f.sources, source{a, t.columns})
	return name + g.pick(" ", " AS ") + a
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

// derived writes a query whose columns are known.
func (g *generator) derived(f *from) (string, []column) {
	if g.one(3) {
		var cols []column
		for _, s := range f.sources {
			for _, c := range s.columns {
				c.unique = false
				cols = append(cols, c)
			}
		}
		return "SELECT * FROM " + f.text + g.maybeWhere(f), cols
	}
	if g.one(4) {
		key := g.ref(f, words)
		if key != "" {
			return "SELECT " + key + " AS w, SUM(" + g.number(f) + ") AS views, COUNT(*) AS n FROM " + f.text + g.maybeWhere(f) + " GROUP BY " + key,
				[]column{{name: "w", kind: words}, {name: "views", kind: number}, {name: "n", kind: number}}
		}
	}
	a := g.pick("views", "v", "likes")
	return "SELECT " + g.number(f) + " AS " + a + ", " + g.number(f) + " AS id, " + g.words(f) + " AS w FROM " + f.text + g.maybeWhere(f),
		[]column{{name: a, kind: number}, {name: "id", kind: number}, {name: "w", kind: words}}
}

func (g *generator) maybeWhere(f *from) string {
	if g.one(2) {
		return ""
	}
	return " WHERE " + g.condition(f)
}

// query writes a SELECT, and says whether its rows have one order only.
func (g *generator) query() (string, bool) {
	with := ""
	if g.one(8) {
		inner := g.sources(nil, 2)
		if !inner.merged && !manyColumns(inner) {
			text, cols := g.derived(inner)
			with = "WITH c AS (" + text + ") "
			saved := g.tables
			g.tables = append(append([]*table(nil), g.tables...), &table{name: "c", columns: cols}, &table{name: "c", columns: cols})
			defer func() { g.tables = saved }()
		}
	}
	var text string
	var items int
	total := true
	switch n := g.IntN(10); {
	case n < 6:
		text, items, total = g.plain()
	case n < 9:
		text, items, total = g.grouped()
	default:
		a, _, ta := g.columnsOf(2)
		b, _, tb := g.columnsOf(2)
		text, items, total = a+g.pick(" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ")+b, 2, ta && tb
	}
	if items == 0 || g.one(3) {
		lock := ""
		if !g.lite() && g.one(8) {
			lock = g.pick(" FOR UPDATE", " FOR SHARE", " for update")
			if g.my() {
				lock = g.pick(" FOR UPDATE", " LOCK IN SHARE MODE")
			}
		}
		return with + text + lock + g.pick("", "", ";"), false
	}
	var order []string
	if g.one(3) && (items > 2 || !setOperation(text)) { // names in set operations: engines accept different ones when they are ambiguous
		order = append(order, g.pick("views", "likes", "1", "views + 1", "views", "v"))
	}
	for i := range items {
		order = append(order, fmt.Sprint(i+1)+g.pick("", " DESC", " ASC"))
	}
	text += " ORDER BY " + strings.Join(order, ", ")
	if total && g.one(2) {
		text += g.pick(" LIMIT 3", " LIMIT 2 OFFSET 1", " LIMIT 1")
	}
	return with + text, total
}

func setOperation(text string) bool {
	return strings.Contains(text, " UNION ") || strings.Contains(text, " EXCEPT ") || strings.Contains(text, " INTERSECT ")
}

func manyColumns(f *from) bool {
	seen := map[string]bool{}
	for _, s := range f.sources {
		for _, c := range s.columns {
			if seen[c.name] {
				return true
			}
			seen[c.name] = true
		}
	}
	return false
}

// columnsOf writes a block of n columns, without ORDER BY.
func (g *generator) columnsOf(n int) (string, int, bool) {
	f := g.sources(nil, 2)
	var items []string
	total := true
	for i := range n {
		if i == 0 {
			items = append(items, g.number(f))
		} else {
			w := g.words(f)
			total = total && !loosely(f, w)
			items = append(items, w)
		}
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM " + f.text + g.maybeWhere(f), n, total
}

// loosely says whether an expression may compare without letter case, so that
// an order over it leaves ties.
func loosely(f *from, _ string) bool {
	for x := f; x != nil; x = x.outer {
		for _, s := range x.sources {
			for _, c := range s.columns {
				if c.kind == words && (c.loose || s.name != "") && c.loose {
					return true
				}
				if c.name == "w" {
					return true
				}
			}
		}
	}
	return false
}

// plain writes a block without aggregates.
func (g *generator) plain() (string, int, bool) {
	f := g.sources(nil, 3)
	var items []string
	n, total := 0, true
	for range 1 + g.IntN(3) {
		switch g.IntN(12) {
		case 0:
			items = append(items, "*")
			if g.my() && n > 0 { // it takes one only, and only first
				items = items[:len(items)-1]
				continue
			}
			for _, s := range f.sources {
				n += len(s.columns)
			}
			total = false
		case 1, 2:
			s := either(g, f.sources)
			items = append(items, s.name+".*")
			n += len(s.columns)
			total = total && !loosely(&from{sources: []source{s}}, "")
		case 3:
			items = append(items, g.words(f)+g.pick("", " AS w", " label"))
			n, total = n+1, total && !loosely(f, "")
		case 4:
			items = append(items, g.window(f)+g.pick("", " AS r"))
			n++
		case 5:
			items = append(items, "("+g.condition(f)+") AS yes")
			n++
		default:
			items = append(items, g.number(f)+g.pick("", "", " AS views", " AS v", " n", " AS likes", " AS total"))
			n++
		}
	}
	distinct := ""
	if g.one(6) {
		distinct = "DISTINCT "
	}
	if f.merged {
		n = 0
	}
	return "SELECT " + distinct + strings.Join(items, ", ") + " FROM " + f.text + g.maybeWhere(f), n, total
}

func (g *generator) window(f *from) string {
	x, y := g.ref(f, number), g.ref(f, number)
	if x == "" || y == "" {
		return "1"
	}
	return g.pick("RANK() OVER (ORDER BY "+x+" DESC)", "SUM("+x+") OVER (PARTITION BY "+y+")", "COUNT(*) OVER (ORDER BY "+x+")", "DENSE_RANK() OVER (ORDER BY "+x+", "+y+")",
		"MAX("+x+") OVER ()")
}

// grouped writes a block with aggregates.
func (g *generator) grouped() (string, int, bool) {
	f := g.sources(nil, 2)
	var group, items []string
	total := true
	n := g.IntN(3)
	for i := range n {
		var e string
		if g.one(2) {
			e = g.ref(f, number)
		} else {
			e, total = g.ref(f, words), false
		}
		if e == "" {
			continue
		}
		name := g.pick("", " AS g", " AS views")
		items = append(items, e+name)
		switch {
		case g.one(4):
			e = fmt.Sprint(len(items))
		case name == " AS g" && i == 0 && g.one(2):
			e = "g"
		}
		group = append(group, e)
	}
	for range 1 + g.IntN(2) {
		items = append(items, g.aggregate(f)+g.pick("", " AS s", " AS views", " AS likes"))
	}
	text := "SELECT " + strings.Join(items, ", ") + " FROM " + f.text + g.maybeWhere(f)
	if len(group) > 0 {
		text += " GROUP BY " + strings.Join(group, ", ")
	}
	if g.one(3) {
		having := g.aggregate(f) + g.pick(" > ", " <= ", " <> ") + g.value(either(g, smallNumbers))
		if len(group) > 0 && g.one(4) {
			having = group[0] + " IS NOT NULL"
		} else if g.one(4) && !g.pg() {
			having = g.pick("s", "views", "likes") + " > 1"
		}
		text += " HAVING " + having
	}
	return text, len(items), total
}

func (g *generator) aggregate(f *from) string {
	x := g.number(f)
	s := g.pick("COUNT(*)", "COUNT("+x+")", "SUM("+x+")", "MAX("+x+")", "MIN("+x+")", "COUNT(DISTINCT "+x+")", "SUM("+x+")", "AVG("+x+")", "SUM(DISTINCT "+x+")")
	if !g.my() && g.one(5) {
		s += " FILTER (WHERE " + g.condition(f) + ")"
	}
	if g.one(8) {
		s = "COALESCE(" + s + ", 0)"
	}
	return s
}

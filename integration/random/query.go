package random

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// block is a SELECT up to its HAVING, and what may follow it.
type block struct {
	f        *from
	sql      string
	window   string   // a WINDOW clause
	items    int      // result columns; 0 when not known
	names    []string // of result columns that ORDER BY may use
	first    string   // ORDER BY must begin with it (DISTINCT ON)
	sortable bool     // by each of its columns
	grouped  bool
	computed bool // GROUP BY has more than names
	single   bool // one row at most
	distinct bool
}

// query writes a SELECT, and reports whether its rows have one order only.
func (g *generator) query() (string, bool) {
	g.ties = false
	with := ""
	if g.one(7) {
		var undo func()
		with, undo = g.with()
		defer undo()
	}
	switch n := g.IntN(52); {
	case n < 15:
		return g.ended(with, g.plain())
	case n < 25:
		return g.ended(with, g.grouped())
	case n < 31:
		query, _ := g.page()
		return with + query, !g.ties
	case n < 34:
		query, ordered := g.setOperation()
		return with + query, ordered
	case n < 36:
		if g.one(2) {
			return with + g.sumsByGroup(), false
		}
		return with + g.sums(), false
	case n < 37:
		return with + g.json(), false
	case n >= 50 && with == "":
		return g.addedUp(), false
	case n >= 48 && with == "":
		return g.firstValues()
	case n >= 46 && with == "":
		return g.judged(), false
	case n >= 40 && with == "":
		return g.bounded(), false
	}
	if with != "" {
		return g.ended(with, g.plain())
	}
	return g.special(), false
}

// ended adds ORDER BY, LIMIT or a lock.
func (g *generator) ended(with string, b *block) (string, bool) {
	query := with + b.sql + b.window
	if b.items == 0 || !b.sortable || b.single || g.one(3) && b.first == "" {
		switch {
		case g.one(12) && !g.lite():
			if g.my() {
				return query + g.pick(" FOR UPDATE", " LOCK IN SHARE MODE"), false
			}
			if !b.grouped && !b.distinct && !b.f.extend && b.window == "" && !strings.Contains(query, " OVER ") {
				return query + g.pick(" FOR UPDATE", " FOR SHARE", " for no key update"), false
			}
		case g.one(12):
			// Which rows a LIMIT takes is the engine's choice unless it takes all:
			// five tables of ten rows make a hundred thousand.
			return query + g.pick(" LIMIT 1000000", " LIMIT 10000000 OFFSET 0", " limit "+g.value(int64(2000000))), false
		case g.one(6) && b.items > 0 && b.sortable:
			return query + " ORDER BY " + g.orderTerm(b), false
		}
		return query + g.pick("", "", ";"), false
	}
	var order []string
	if b.first != "" {
		order = append(order, b.first)
	} else if g.one(3) {
		if s := g.orderTerm(b); s != "" {
			order = append(order, s)
		}
	}
	for i := range b.items {
		order = append(order, itoa(i+1)+g.direction())
	}
	query += g.pick(" ORDER BY ", " ORDER BY ", " order by ") + strings.Join(order, ", ")
	if !g.ties && g.one(2) {
		query += g.limit()
	}
	return query, !g.ties
}

func (g *generator) direction() string {
	s := g.pick("", " DESC", " ASC", " desc")
	if !g.my() && g.one(6) {
		s += g.pick(" NULLS FIRST", " NULLS LAST")
	}
	return s
}

func (g *generator) limit() string {
	if !g.my() && g.one(8) { // MySQL takes numbers only
		t := g.counterTable()
		c := g.quote(either(g, t.counters()).name)
		return g.pick(" LIMIT (SELECT COUNT(*) FROM ", " LIMIT 4 OFFSET (SELECT COUNT(*) FROM ") + g.tableName(t) + " WHERE " + c +
			" > " + g.value(int64(3)) + ")"
	}
	s := g.pick(" LIMIT 3", " LIMIT 2 OFFSET 1", " LIMIT 1", " LIMIT "+g.value(int64(4)), " limit 5")
	switch {
	case g.pg() && g.one(4):
		return g.pick(" FETCH FIRST 3 ROWS ONLY", " OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", " OFFSET 2", " LIMIT ALL", " LIMIT 2 + 1")
	case g.my() && g.one(4):
		return " LIMIT 1, 3"
	}
	return s
}

// orderTerm is a term before those that make the order complete: a name, an
// alias or an expression.
func (g *generator) orderTerm(b *block) string {
	switch {
	case len(b.names) > 0 && g.one(2):
		return g.quote(either(g, b.names)) + g.direction()
	case b.grouped && (b.distinct || g.one(2)), b.distinct:
		return "1"
	case b.grouped:
		return g.aggregate(b.f) + g.direction()
	case g.one(2):
		if s := g.ref(b.f, number); s != "" {
			return s + g.direction()
		}
	}
	s := g.number(b.f)
	if isConstant(s) || s == "?" || strings.HasPrefix(s, markStart) {
		return "1"
	}
	return s + g.direction()
}

// plain writes a block without aggregates.
func (g *generator) plain() *block {
	f := g.sources(nil, 3)
	b := &block{f: f, sortable: true}
	var items []string
	add := func(s string, names ...string) {
		items = append(items, s+g.pick(names...))
		b.items++
	}
	head := "SELECT " + g.pick("", "", "", "", "ALL ")
	if g.my() && g.one(12) {
		head = g.pick("SELECT SQL_NO_CACHE ", "SELECT HIGH_PRIORITY ", "select /*+ NO_ICP(p) */ ")
	}
	b.distinct = g.one(6)
	if b.distinct && g.pg() {
		g.whole++
		defer func() { g.whole-- }()
	}
	star := false
	for range 1 + g.IntN(3) {
		switch g.IntN(14) {
		case 0:
			if g.my() && b.items > 0 || star {
				continue // it takes one only, and only first
			}
			star = true
			items = append(items, "*")
			for _, s := range f.sources {
				b.items += len(s.columns)
			}
		case 1, 2:
			s := either(g, f.sources)
			items = append(items, s.schema+s.name+".*")
			if s.schema == "" || !g.one(8) {
				items[len(items)-1] = s.name + ".*"
			}
			b.items += len(s.columns)
			for _, c := range s.columns {
				g.ties = g.ties || c.loose
			}
		case 3:
			add(g.words(f), "", " AS w", " label")
		case 4:
			x, name := g.window(f, b), g.pick("", " AS r")
			if name != "" && g.my() && namedLike(items, name) {
				name = "" // by two windows of one name MariaDB 10.11 may not sort, also over tables
			}
			add(x, name)
		case 5:
			add("("+g.condition(f)+")", " AS yes")
		default:
			add(g.number(f), "", "", " AS views", " AS v", " n", " AS likes", " AS total")
		}
	}
	if star {
		for _, s := range f.sources {
			for _, c := range s.columns {
				g.ties = g.ties || c.loose
			}
		}
	}
	if len(items) == 0 {
		add(g.number(f), "")
	}
	if b.distinct {
		head = strings.Replace(head, "ALL ", "", 1) + "DISTINCT "
		if g.pg() && g.one(3) {
			if e, _ := g.columnWhere(f, isWhole); e != "" {
				head = "SELECT DISTINCT ON (" + e + ") "
				b.first = e + g.direction()
			}
		}
	}
	if f.merged {
		b.items = 0
	}
	for _, name := range []string{"v", "n", "total"} {
		if strings.Count(strings.Join(items, ",")+",", name+",") == 1 &&
			(strings.Contains(strings.Join(items, ",")+",", " AS "+name+",") ||
				name == "n" && strings.Contains(strings.Join(items, ",")+",", " n,")) {
			b.names = append(b.names, name)
		}
	}
	list := strings.Join(items, ", ")
	b.sql = head + list + g.pick(" FROM ", " FROM ", " from ") + f.sql + g.whereBeside(f, list)
	if g.my() && b.distinct && len(f.sources) > 1 && compares.MatchString(b.sql) {
		// MariaDB 10.11 loses rows of a DISTINCT where it looks for a range of
		// an index anew with each row.
		b.distinct = false
		b.sql = strings.Replace(b.sql, "DISTINCT ", "", 1)
	}
	if b.first != "" && b.items == 0 {
		b.sql = strings.Replace(b.sql, head, "SELECT DISTINCT ", 1) // which of the rows is left to the engine
		b.first = ""
	}
	return b
}

// compares finds comparisons by order, lookups what is looked up in a subquery.
var (
	compares = regexp.MustCompile(`(?i)[<>]|\bBETWEEN\b|\bIN\b|\bLIKE\b`)
	lookups  = regexp.MustCompile(`(?i)\b(IN|ANY|ALL|SOME|EXISTS) \(SELECT`)
)

// whereBeside is maybeWhere for a block with that list. Of a window over a
// query's column MariaDB 10.11 compares the column with a subquery before there
// is a value in it.
func (g *generator) whereBeside(f *from, list string) string {
	where := g.maybeWhere(f)
	if g.my() && f.queries() && strings.Contains(list, " OVER ") && lookups.MatchString(where) {
		return ""
	}
	return where
}

// namedLike reports whether an item has that name.
func namedLike(items []string, name string) bool {
	return slices.ContainsFunc(items, func(s string) bool { return strings.HasSuffix(s, name) })
}

// topOf writes the first rows by a counter, in parentheses.
func (g *generator) topOf(desc string) string {
	t := g.counterTable()
	for len(t.key) != 1 || t.name == "Order" || t.counters()[0].decimal {
		t = g.counterTable()
	}
	c, k := g.quote(t.counters()[0].name), g.quote(t.key[0])
	return "(SELECT " + k + ", " + c + " FROM " + g.tableName(t) + " ORDER BY " + c + desc + ", " + k +
		g.pick(" LIMIT 3", " LIMIT 2 OFFSET 1", "") + ")"
}

// setOperation combines blocks of the same column kinds.
func (g *generator) setOperation() (string, bool) {
	one := func() string {
		f := g.sources(nil, 2)
		s := "SELECT " + g.wholeNumber(f) + g.pick("", " AS views", " AS n") + ", "
		if g.pg() {
			s += "CAST(" + g.words(f) + " AS text)"
		} else {
			s += g.words(f)
		}
		return s + " FROM " + f.sql + g.maybeWhere(f)
	}
	if !g.lite() && g.one(6) {
		return g.topOf(" DESC") + g.pick(" UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT ") + g.topOf(""), false
	}
	ops := []string{" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ", " union all "}
	if !g.lite() {
		ops = append(ops, " EXCEPT ALL ", " INTERSECT ALL ")
	}
	a, b := one(), one()
	if !g.lite() && g.one(3) {
		a, b = "("+a+")", "("+b+")"
	}
	query := a + g.pick(ops...) + b
	if g.one(4) {
		op, third := g.pick(ops...), one()
		// MariaDB 10.11 may never end an INTERSECT ALL or EXCEPT ALL that
		// another operation follows, nor can it be killed.
		if !g.my() || !strings.Contains(query+op, "CT ALL ") && !strings.Contains(query+op, "PT ALL ") {
			query += op + third
		}
	}
	switch {
	case g.one(3):
		return query, false
	case g.one(8):
		return "SELECT * FROM (" + query + ") AS u", false
	}
	query += " ORDER BY 1" + g.direction() + ", 2"
	if !g.ties && g.one(2) {
		query += g.limit()
	}
	return query, !g.ties
}

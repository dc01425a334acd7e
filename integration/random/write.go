package random

import "strings"

func (g *generator) counterTable() *table {
	if g.large != nil && g.one(6) {
		return g.large
	}
	for {
		if t := either(g, g.tables); len(t.counters()) > 0 {
			return t
		}
	}
}

// keyed writes a predicate that fixes one row by its key, or by another
// unique key, and sometimes asks for more.
func (g *generator) keyed(t *table, qualifier string) string {
	if t.key == nil && g.one(3) {
		return qualifier + "label IS NOT NULL"
	}
	key := g.fixed(t, qualifier)
	if o := t.ordinary(); t.key != nil && len(o) > 0 && g.one(6) {
		c := either(g, o)
		key += " AND " + g.pick(qualifier+g.quote(c.name)+" IS NOT NULL", qualifier+g.quote(c.name)+" IS NULL",
			qualifier+g.quote(c.name)+" = "+g.value(either(g, c.values)))
	}
	return key
}

// fixed is keyed for the key alone.
func (g *generator) fixed(t *table, qualifier string) string {
	if t.key == nil {
		return g.pick("", "1 = 1")
	}
	var parts []string
	keys := t.key
	if t.name == "users" && g.one(3) {
		keys = []string{"name"}
	}
	for _, k := range keys {
		c, v := qualifier+g.quote(k), g.value(either(g, t.column(k).values))
		switch g.IntN(8) {
		case 0:
			parts = append(parts, v+" = "+c)
		case 1:
			parts = append(parts, "("+c+"="+v+")")
		case 2:
			parts = append(parts, c+" IN ("+v+")")
		default:
			parts = append(parts, c+" = "+v)
		}
	}
	return strings.Join(parts, " AND ")
}

// where writes any predicate over one table.
func (g *generator) where(t *table, qualifier string) string {
	switch n := g.IntN(12); {
	case n < 5:
		return g.keyed(t, qualifier)
	case n < 6:
		return ""
	case n < 9 && len(t.counters()) > 0:
		return g.withKey(t, qualifier)
	case n < 10 && len(t.key) == 1:
		c := t.column(t.key[0])
		return qualifier + g.quote(c.name) + " IN (" + g.value(either(g, c.values)) + ", " + g.value(either(g, c.values)) + ")"
	}
	g.depth = 1
	return g.condition(&from{sources: []source{{name: strings.TrimSuffix(qualifier, "."), columns: t.columns}}})
}

func whereClause(s string) string {
	if s == "" {
		return ""
	}
	return " WHERE " + s
}

// delta is what an increment adds.
func (g *generator) delta(c *column) string {
	if c.decimal && g.one(2) {
		if g.literal || g.pg() {
			return g.pick("0.25", "1.5", "2", "10.00")
		}
		return g.value(g.pick("0.25", "1.5", "2", "10.00"))
	}
	return g.value(either(g, []any{int64(1), int64(1), int64(1), int64(2), int64(10), int64(0), int64(-1), int64(100)}))
}

// plus writes counter = counter + delta in one of the ways programs do.
func (g *generator) plus(t *table, c *column, qualifier, target string) string {
	n := g.quote(c.name)
	q := qualifier + n
	left := target + n
	switch g.IntN(14) {
	case 0:
		return left + "=" + q + "+" + g.delta(c)
	case 1:
		return left + " = " + q + " - " + g.delta(c)
	case 2:
		return left + " = " + g.delta(c) + " + " + q
	case 3:
		return left + " = COALESCE(" + q + ", 0) + " + g.delta(c)
	case 4:
		if !g.pg() {
			return left + " = IFNULL(" + q + ", 0) + " + g.delta(c)
		}
		return left + " = COALESCE(" + q + ",0)+" + g.delta(c)
	case 5:
		return left + " = (" + q + " + " + g.delta(c) + ")"
	case 6:
		return left + "=" + q + "+-1"
	case 7:
		return left + " = " + q + " - -2"
	case 8:
		return left + " = (" + q + ") + (" + g.delta(c) + ")"
	case 9:
		if o := g.numberColumn(t); o != nil {
			return left + " = " + q + " + " + qualifier + g.quote(o.name)
		}
	case 10:
		return left + " = " + q + " + 1 + " + g.delta(c)
	case 11:
		return left + " = " + q + " -1"
	}
	return left + " = " + q + " + " + g.delta(c)
}

func (g *generator) numberColumn(t *table) *column {
	for _, c := range t.ordinary() {
		if c.kind == number {
			return c
		}
	}
	return nil
}

// setOrdinary writes an assignment to an ordinary column.
func (g *generator) setOrdinary(t *table, target string) string {
	o := t.ordinary()
	if len(o) == 0 {
		return ""
	}
	c := either(g, o)
	return target + g.quote(c.name) + " = " + g.value(either(g, c.values))
}

// setCompanion writes an assignment that a slot row could take, most times.
func (g *generator) setCompanion(c *column, qualifier, target string) string {
	left, q, v := target+g.quote(c.name)+" = ", qualifier+g.quote(c.name), g.value(either(g, c.values))
	switch {
	case c.null && g.one(6):
		return left + "NULL"
	case c.merge == "max" && !g.one(6):
		return left + g.greatest() + "(" + q + ", " + v + ")"
	case c.merge == "min" && !g.one(6):
		return left + g.least() + "(" + v + ", COALESCE(" + q + ", 0))"
	}
	return left + v
}

// increment writes an UPDATE that adds to counters.
func (g *generator) increment() string {
	t := g.counterTable()
	head, qualifier, target := g.target(t)
	counters := t.counters()
	g.Shuffle(len(counters), func(i, j int) { counters[i], counters[j] = counters[j], counters[i] })
	n := 1
	if len(counters) > 1 && g.one(4) {
		n = 2
	}
	var set []string
	for _, c := range counters[:n] {
		set = append(set, g.plus(t, c, qualifier, target))
	}
	if g.one(6) {
		if s := g.setOrdinary(t, target); s != "" {
			set = append(set, s)
		}
	} else if g.one(3) {
		for _, c := range t.ordinary() {
			if c.merge != "" {
				set = append(set, g.setCompanion(c, qualifier, target))
			}
		}
	}
	where := g.keyed(t, qualifier)
	switch {
	case g.one(5):
		where = g.where(t, qualifier)
	case t.key != nil && g.one(10): // a guard
		where += " AND " + g.ofTwo(t, qualifier)
	}
	s := head + " SET " + strings.Join(set, ", ") + whereClause(where)
	return s + g.tail(t)
}

// target writes UPDATE and the table, and how its columns are called in
// expressions and on the left of an assignment.
func (g *generator) target(t *table) (head, qualifier, target string) {
	name := g.tableName(t)
	bare := g.tableBare(t)
	switch g.IntN(6) {
	case 0:
		return "UPDATE " + name + " AS x", "x.", ""
	case 1:
		if g.lite() {
			return "UPDATE " + name, bare + ".", ""
		}
		return "UPDATE " + name + " x", "x.", ""
	case 2:
		target := ""
		if g.my() {
			target = bare + "."
		}
		return "UPDATE " + name, bare + ".", target
	case 3:
		return "update " + name, "", ""
	case 4:
		return "/* app:web */ UPDATE " + name, "", ""
	}
	return "UPDATE " + name, "", ""
}

func (g *generator) tableBare(t *table) string { return g.quoted(t.name) }

// tail is what may follow an UPDATE or DELETE: RETURNING.
func (g *generator) tail(t *table) string {
	if g.my() || !g.one(8) {
		return g.pick("", "", "", ";", "  ", " -- done")
	}
	if g.one(3) {
		return " RETURNING *"
	}
	c := either(g, t.columns)
	return " RETURNING " + g.quote(c.name) + g.pick("", " AS r", " AS views")
}

// update writes an UPDATE that does something else.
func (g *generator) update() string {
	t := either(g, g.tables)
	head, qualifier, target := g.target(t)
	where := g.where(t, qualifier)
	set := g.assignment(t, qualifier, target)
	switch {
	case g.one(8):
		return g.joined(t)
	case len(t.counters()) > 0 && g.one(6):
		set = g.setOfTwo(t, qualifier, target)
	case g.one(4):
		set += ", " + g.assignment(t, qualifier, target)
	}
	return head + " SET " + set + whereClause(where) + g.tail(t)
}

func (g *generator) assignment(t *table, qualifier, target string) string {
	counters := t.counters()
	if len(counters) == 0 || g.one(4) {
		if len(t.key) > 0 && g.one(5) { // the row moves
			k := t.column(either(g, t.key))
			return target + g.quote(k.name) + " = " + g.value(either(g, k.values))
		}
		if s := g.setOrdinary(t, target); s != "" && !g.one(4) {
			return s
		}
		if c := g.numberColumn(t); c != nil {
			g.depth = 1
			return target + g.quote(c.name) + " = (SELECT " + g.pick("MAX", "MIN", "COUNT") + "(" + g.subCounter() + ")"
		}
		return g.setOrdinary(t, target)
	}
	c := either(g, counters)
	left, q := target+g.quote(c.name), qualifier+g.quote(c.name)
	switch g.IntN(12) {
	case 0, 1:
		return left + " = " + g.value(either(g, smallNumbers))
	case 2:
		return left + " = " + g.greatest() + "(" + q + " - " + g.value(either(g, smallNumbers)) + ", 0)"
	case 3:
		return left + " = CASE WHEN " + q + " > 0 THEN " + q + " - 1 ELSE 0 END"
	case 4:
		return left + " = (SELECT COUNT(*) FROM " + g.tableName(g.tables[len(g.tables)-1]) + " AS c WHERE c.n = " +
			qualifier2(t, qualifier, g) + g.quote(c.name) + ")"
	case 5:
		return left + " = " + q + " * 2"
	case 6:
		if c.null {
			return left + " = NULL"
		}
		return left + " = DEFAULT"
	case 7:
		o := either(g, counters)
		return left + " = " + qualifier + g.quote(o.name)
	case 8:
		o := either(g, counters)
		return left + " = " + q + " + " + qualifier + g.quote(o.name)
	case 9:
		return left + " = " + g.least() + "(" + q + " + 1, 9)"
	case 10:
		return left + " = COALESCE(" + q + ", 7)"
	}
	return g.plus(t, c, qualifier, target)
}

func qualifier2(t *table, qualifier string, g *generator) string {
	if qualifier != "" {
		return qualifier
	}
	return g.tableBare(t) + "."
}

// subCounter is the inside of an aggregate over a counter, and its FROM.
func (g *generator) subCounter() string {
	t := g.counterTable()
	return "s." + g.quote(either(g, t.counters()).name) + ") FROM " + g.tableName(t) + " s"
}

func (g *generator) greatest() string {
	if g.lite() {
		return "MAX"
	}
	return "GREATEST"
}

func (g *generator) least() string {
	if g.lite() {
		return "MIN"
	}
	return "LEAST"
}

// joined writes an UPDATE of posts by a join with users or tags, or of tags by
// one with posts.
func (g *generator) joined(*table) string {
	set := g.pick(
		"views = p.views + 1",
		"views = p.views + u.age",
		"likes = p.likes + 2",
		"views = u.karma",
		"title = u.name",
		"views = p.views + u.karma",
	)
	on := g.pick(
		"u.id = p.author_id",
		"u.id = p.author_id AND u.id < 4",
		"u.id = p.id AND p.views > 2",
		"u.id = p.author_id AND u.karma > 1",
		"u.id = p.author_id AND "+g.ofTwo(g.tables[0], "u."),
	)
	if g.my() {
		return "UPDATE posts p " + g.pick("JOIN", "INNER JOIN", "LEFT JOIN") + " users u ON " + on + " SET p." + set
	}
	return "UPDATE posts AS p SET " + set + " FROM users u WHERE " + on
}

// remove writes a DELETE.
func (g *generator) remove() string {
	t := g.insertable()
	if g.one(5) && !g.my() {
		return "DELETE FROM tags WHERE n IN (SELECT views FROM posts WHERE likes > 1)"
	}
	if g.one(6) && g.my() {
		return "DELETE t FROM tags t JOIN posts p ON p.id = t.post_id WHERE p.views > " + g.value(int64(3))
	}
	w := g.where(t, "")
	if w == "" {
		w = g.keyed(t, "")
	}
	return "DELETE FROM " + g.tableName(t) + whereClause(w) + g.tail(t)
}

// several writes a call of two statements, where the driver takes one.
func (g *generator) several() string {
	g.literal = true
	if g.my() {
		return g.increment()
	}
	for {
		a, b := g.increment(), g.update()
		if !strings.Contains(a+b, "RETURNING") && !strings.Contains(a+b, "--") && !strings.Contains(a+b, markStart) {
			return strings.TrimRight(a, "; ") + "; " + b
		}
	}
}

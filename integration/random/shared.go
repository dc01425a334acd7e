package random

// touch writes an UPDATE of one row that sets only columns whose last writer wins.
func touch(g *generator) string {
	t, columns := sharing(g, "touch")
	if len(columns) == 0 {
		return g.update()
	}
	head, qualifier, target := g.target(t)
	set := setTo(g, either(g, columns), target)
	if c := either(g, columns); g.one(3) {
		set += ", " + setTo(g, c, target)
	}
	return head + " SET " + set + whereClause(g.keyed(t, qualifier)) + g.tail(t)
}

// compareAndSet writes an UPDATE of one row that expects a value of a version, and sets another or, now and then, the same.
func compareAndSet(g *generator) string {
	t, columns := sharing(g, "versions")
	if len(columns) == 0 {
		return g.update()
	}
	head, qualifier, target := g.target(t)
	c := either(g, columns)
	set := setTo(g, c, target)
	if c.kind == number && !g.one(3) {
		set = target + g.quote(c.name) + " = " + qualifier + g.quote(c.name) + " + 1"
	}
	switch o := t.ordinary(); {
	case g.one(3):
		set += ", " + setTo(g, either(g, o), target)
	case len(t.counters()) > 0 && g.one(3):
		set += ", " + g.plus(t, either(g, t.counters()), qualifier, target)
	}
	where := qualifier + g.quote(c.name) + g.pick(" = ", "=") + g.value(either(g, c.values))
	if key := g.fixed(t, qualifier); key != "" {
		where = key + " AND " + where
	}
	return head + " SET " + set + " WHERE " + where + g.tail(t)
}

// sharing chooses a table, and returns its columns of that key in the configuration.
func sharing(g *generator, key string) (t *table, columns []*column) {
	for range 10 {
		if t = either(g, g.tables); len(t.sharedColumns(key)) > 0 {
			break
		}
	}
	return t, t.sharedColumns(key)
}

// setTo writes an assignment of a value, or of the day.
func setTo(g *generator, c *column, target string) string {
	left := target + g.quote(c.name) + " = "
	switch {
	case c.kind == words && g.one(4):
		return left + "CURRENT_DATE"
	case c.null && g.one(6):
		return left + "NULL"
	}
	return left + g.value(either(g, c.values))
}

package random

import "strings"

// row writes a VALUES row for the given columns.
func (g *generator) row(columns []*column) string {
	var out []string
	for _, c := range columns {
		v := either(g, c.values)
		if g.next != nil && c == g.nextOf {
			v = g.next
		}
		if c.null && g.one(6) {
			v = nil
		}
		if v == nil {
			out = append(out, "NULL")
			continue
		}
		out = append(out, g.value(v))
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// insertColumns chooses the columns that an INSERT gives. A sequence may leave
// gaps, so an id that has one is either always or never there.
func (g *generator) insertColumns(t *table, withAuto bool) ([]*column, string) {
	var cols []*column
	var names []string
	all := g.one(6)
	for i := range t.columns {
		c := &t.columns[i]
		if c.auto && !withAuto ||
			!all && !t.isKey(c.name) && !c.unique && g.one(4) &&
				(c.null || c.counter || c.name == "cap" || c.name == "rank" || c.name == "weight") {
			continue
		}
		cols = append(cols, c)
		names = append(names, g.quote(c.name))
	}
	if len(cols) == len(t.columns) && all {
		return cols, ""
	}
	return cols, " (" + strings.Join(names, ", ") + ")"
}

func (g *generator) insertable() *table {
	for {
		if t := either(g, g.tables); t.more {
			return t
		}
	}
}

func (g *generator) insert() string {
	t := g.insertable()
	if g.one(4) {
		return g.insertSelect(t)
	}
	cols, names := g.insertColumns(t, !g.one(3) || g.pg())
	verb := "INSERT INTO "
	switch {
	case g.my():
		verb = g.pick("INSERT INTO ", "INSERT INTO ", "INSERT IGNORE INTO ", "REPLACE INTO ")
	case g.lite():
		verb = g.pick("INSERT INTO ", "INSERT INTO ", "INSERT OR IGNORE INTO ", "INSERT OR REPLACE INTO ", "REPLACE INTO ")
	}
	s := verb + g.tableName(t) + names + " VALUES " + g.row(cols)
	if g.one(4) {
		s += ", " + g.row(cols)
	}
	if !g.my() && verb == "INSERT INTO " && g.one(3) {
		s += " ON CONFLICT DO NOTHING"
	}
	return s + g.tail(t)
}

// insertSelect copies from one table to another: counters into ordinary
// columns and into counters.
func (g *generator) insertSelect(*table) string {
	t := g.counterTable()
	if t.key == nil || len(t.key) > 1 {
		t = g.tables[1]
	}
	c := g.quote(either(g, t.counters()).name)
	k := g.quote(t.key[0])
	from := " FROM " + g.tableName(t) + " AS s"
	order := ""
	if g.lite() {
		order = " ORDER BY s." + k // the last row's rowid is what LastInsertId says
	}
	switch g.IntN(4) {
	case 0:
		return "INSERT INTO tags (id, n, label) SELECT s." + k + " + 50, s." + c + ", 'copied'" + from + " WHERE s." + c + " > " +
			g.value(int64(1)) + order + g.skip()
	case 1:
		return "INSERT INTO limits (id, spare, cap) SELECT s." + k + " + 30, " + c + ", 1" + from +
			" WHERE " + c + " IS NOT NULL" + order + g.skip()
	case 2:
		return "INSERT INTO tags (id, n) SELECT 60 + COUNT(*), MAX(" + c + ")" + from + " WHERE 1 = 1" + g.skip()
	}
	return "INSERT INTO stats (day, kind, hits) SELECT DISTINCT 'd', 'k', " + g.greatest() + "(" + c + ", 0)" + from + " WHERE " +
		k + " = " + g.value(int64(2)) + g.skip()
}

func (g *generator) skip() string {
	if g.my() {
		return ""
	}
	return g.pick("", " ON CONFLICT DO NOTHING")
}

// upsert writes an INSERT that increments, or sets, on a conflict.
func (g *generator) upsert() string {
	t := g.insertable()
	for len(t.counters()) == 0 {
		t = g.insertable()
	}
	return g.upsertOf(t)
}

func (g *generator) upsertOf(t *table) string {
	cols, names := g.insertColumns(t, true)
	s := "INSERT INTO " + g.tableName(t) + names + " VALUES " + g.row(cols)
	if g.next == nil && g.one(5) {
		s += ", " + g.row(cols)
	}
	c := either(g, t.counters())
	n := g.quote(c.name)
	if g.my() {
		set := g.pick(n+" = "+n+" + 1", n+" = "+n+" + VALUES("+n+")", n+" = VALUES("+n+") + "+n, n+"="+n+"+"+g.delta(c),
			n+" = VALUES("+n+")", n+" = COALESCE("+n+", 0) + 1", n+" = GREATEST("+n+", VALUES("+n+"))")
		if g.one(6) {
			set = g.setOfTwo(t, "", "")
		}
		if o := t.ordinary(); len(o) > 0 && g.one(3) {
			oc := g.quote(either(g, o).name)
			set += ", " + oc + " = VALUES(" + oc + ")"
		}
		return s + " ON DUPLICATE KEY UPDATE " + set
	}
	q := g.tableBare(t) + "." + n
	keys := append([]string(nil), t.key...)
	if t.name == "users" && g.one(3) {
		keys = []string{"name"}
	}
	for i := range keys {
		keys[i] = g.quote(keys[i])
	}
	set := g.pick(n+" = "+q+" + 1", n+" = "+q+" + excluded."+n, n+" = EXCLUDED."+n+" + "+q, n+" = "+q+" + "+g.delta(c),
		n+" = excluded."+n, n+" = COALESCE("+q+", 0) + 1", n+" = "+g.greatest()+"("+q+", excluded."+n+")")
	if o := t.ordinary(); len(o) > 0 && g.one(4) {
		oc := g.quote(either(g, o).name)
		set += ", " + oc + " = excluded." + oc
	} else if g.one(6) {
		set = g.setOfTwo(t, g.tableBare(t)+".", "")
	}
	s += " ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET " + set
	switch {
	case g.one(6):
		s += " WHERE " + q + " < 20"
	case g.one(6):
		s += " WHERE " + g.ofTwo(t, g.tableBare(t)+".")
	}
	return s + g.tail(t)
}

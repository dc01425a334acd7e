package random

import (
	"slices"
	"strings"
)

// malformed writes a statement that the engine refuses for something in a part that
// a slotted upsert would leave out: a name that is unknown or repeated, or a value
// too many or too few. It has that one fault.
func (g *generator) malformed() string {
	t := g.keyedTable()
	n, k := g.quote(either(g, t.counters()).name), g.quote(t.key[0])
	v := g.constant(either(g, t.column(t.key[0]).values))
	where := " WHERE " + k + " = " + v
	update := "UPDATE " + g.tableName(t) + " SET "
	if g.one(2) {
		add := n + " = " + n + " + " + g.constant(int64(1))
		return update + g.pick(
			"nope."+add+where, n+" = nope."+n+" + 1"+where, n+" = nope + 1"+where, add+", nope = 1"+where, add+", "+add+where,
			add+where+" AND nope = 1", add+" WHERE nope."+k+" = "+v, add+where+" AND excluded."+n+" = 1", add+where+" AND nope(1) = 1")
	}
	insert := "INSERT INTO " + g.tableName(t) + " "
	on := " ON CONFLICT (" + k + ") DO UPDATE SET "
	old, given := g.tableBare(t)+"."+n, "excluded."
	if g.my() {
		on, old, given = " ON DUPLICATE KEY UPDATE ", n, "VALUES("
	}
	close := ""
	if g.my() {
		close = ")"
	}
	add := on + n + " = " + old + " + 1"
	pair := "(" + k + ", " + n + ") VALUES (" + v + ", 1)"
	return insert + g.pick(
		"("+k+", "+n+", nope) VALUES ("+v+", 1, 1)"+add,
		"("+k+", "+n+", "+n+") VALUES ("+v+", 1, 1)"+add,
		"("+k+", "+n+") VALUES ("+v+")"+add,
		"("+k+", "+n+") VALUES ("+v+", 1, 1)"+add,
		"VALUES ("+v+")"+add,
		pair+add+", nope = 1",
		pair+on+n+" = "+old+" + "+given+"nope"+close,
		pair+on+n+" = nope."+n+" + 1",
		pair+on+"nope = 1, "+n+" = "+old+" + 1",
	)
}

// keyedTable is a counter table with a key of one column.
func (g *generator) keyedTable() *table {
	for {
		if t := g.counterTable(); len(t.key) == 1 {
			return t
		}
	}
}

// drawing makes a function that does something, and whose value tells how often it
// has been called.
func (g *generator) drawing() {
	const body = "UPDATE calls SET n = n + 1; RETURN (SELECT n * 7 % 5 FROM calls); END"
	g.app.Schema = append(g.app.Schema, "CREATE TABLE calls (n INTEGER NOT NULL)", "INSERT INTO calls VALUES (0)")
	if g.my() {
		g.app.Schema = append(g.app.Schema, "CREATE FUNCTION drawn() RETURNS INT MODIFIES SQL DATA BEGIN "+body)
	} else {
		g.app.Schema = append(g.app.Schema, "CREATE FUNCTION drawn() RETURNS integer LANGUAGE plpgsql AS $$BEGIN "+body+"$$")
	}
}

// chance writes a statement with a call of that function: in a predicate, as the
// amount, or among the values of an upsert. One row at most is met, so that every
// plan calls it as often.
func (g *generator) chance() string {
	if g.lite() {
		return g.increment()
	}
	t := g.keyedTable()
	c := either(g, t.counters())
	n, k := g.quote(c.name), g.quote(t.key[0])
	name, where := g.tableName(t), " WHERE "+k+" = "+g.value(either(g, t.column(t.key[0]).values))
	add := n + " = " + n + " + "
	switch g.IntN(6) {
	case 0:
		return "UPDATE " + name + " SET " + add + "drawn()" + where
	case 1:
		id := g.value(either(g, t.column(t.key[0]).values))
		if t.name != "limits" {
			return "SELECT drawn(), " + n + " FROM " + name + where
		}
		insert := "INSERT INTO limits (id, used, tiny, spare, cap) VALUES (" + id + ", 1, 1, 1, drawn())"
		if g.my() {
			return insert + " ON DUPLICATE KEY UPDATE spare = spare + 1"
		}
		return insert + " ON CONFLICT (id) DO UPDATE SET spare = limits.spare + 1"
	}
	return "UPDATE " + name + " SET " + add + g.delta(c) + where +
		g.pick(
			" AND drawn() < 3",
			" AND drawn() = 2",
			" AND (drawn() > 1 OR drawn() > 3)",
			" AND (SELECT drawn()) > 1",
			" AND CASE WHEN drawn() < 2 THEN 1 ELSE 0 END = 1",
		)
}

// newKey upserts a key that no statement has had before, and that others may use
// from then on.
func (g *generator) newKey() string {
	var t *table
	for t == nil || len(t.counters()) == 0 || len(t.key) != 1 || t.column(t.key[0]).kind != number {
		t = g.insertable()
	}
	g.keys++
	k := t.column(t.key[0])
	k.values = append(slices.Clip(k.values), int64(1000+g.keys))
	g.next, g.nextOf = k.values[len(k.values)-1], k
	defer func() { g.next, g.nextOf = nil, nil }()
	return g.upsertOf(t)
}

// Restricted is the session of a role with fewer rights than the others have.
const Restricted = Sessions

// Role stands in grants for the name of that role.
const Role = "restricted_role"

// grants are rights of the role: it may look at all rows of all tables, and do to
// each counter table some of what statements do. Who may change counters may change companions
// with them, which a drain needs (docs/divergences.md).
func (g *generator) grants() {
	for _, t := range g.tables {
		name := g.quoted(t.name)
		var counters, others []string
		for i := range t.columns {
			c := &t.columns[i]
			if c.counter || c.merge != "" {
				counters = append(counters, g.quoted(c.name))
			}
			if !c.counter {
				others = append(others, g.quoted(c.name))
			}
		}
		rights := "SELECT, INSERT, UPDATE, DELETE"
		if len(counters) > 0 {
			rights = g.pick(rights, "SELECT", "SELECT, INSERT", "SELECT, UPDATE", "SELECT, INSERT, UPDATE ("+strings.Join(others, ", ")+")",
				"SELECT, INSERT, UPDATE ("+strings.Join(counters, ", ")+")")
		}
		if g.my() && !strings.Contains(rights, "(") {
			rights += ", TRIGGER" // else the table counts as having some
		}
		g.app.Grants = append(g.app.Grants, "GRANT "+rights+" ON "+name+" TO "+Role)
	}
}

// refusable writes a statement of that role: one that counts, or a read of a row.
// Others, conditions on companions among them, may need further rights for their drain (docs/divergences.md).
func (g *generator) refusable() string {
	g.restricted = true
	defer func() { g.restricted = false }()
	t := g.counterTable()
	n := either(g, t.counters())
	if g.one(4) {
		return "SELECT " + g.quote(n.name) + " FROM " + g.tableName(t) + whereClause(g.fixed(t, ""))
	}
	if t.more && g.one(3) {
		return g.upsertOf(t)
	}
	set := g.plus(t, n, "", "")
	if g.one(4) {
		if s := g.setOrdinary(t, ""); s != "" {
			set += ", " + s
		}
	}
	return "UPDATE " + g.tableName(t) + " SET " + set + whereClause(g.fixed(t, ""))
}

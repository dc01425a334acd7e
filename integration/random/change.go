package random

import "slices"

// change is DDL on a counter table, and how to take it back.
type change struct {
	do, undo string
	// folded: what slots hold must be folded before another client does it, since
	// they hold what the table's definition no longer says (docs/divergences.md).
	folded  bool
	column  bool     // a further one
	renames bool     // a column has another name meanwhile
	through bool     // only through slotsql
	then    []string // statements that it makes a difference to
	table   *table
}

// alters changes the definition of a counter table in mid-run, or takes the last
// change back: through slotsql, or as another client does.
func (g *generator) alters() []Step {
	if len(g.changes) > 0 && g.one(2) {
		last := g.changes[len(g.changes)-1]
		g.changes = g.changes[:len(g.changes)-1]
		return g.changing(last, last.undo, nil)
	}
	if len(g.changes) > 2 {
		return nil
	}
	c := g.newChange()
	if g.lite() && c.column {
		c.undo = "" // DROP COLUMN looks at all triggers, those of slot tables too
	}
	if c.do == "" {
		return nil
	}
	for _, old := range g.changes {
		if old.do == c.do {
			return nil
		}
	}
	if c.undo != "" {
		g.changes = append(g.changes, c)
	}
	return g.changing(c, c.do, c.then)
}

func (g *generator) changing(c change, query string, then []string) []Step {
	var steps []Step
	if c.through || g.one(2) {
		steps = append(steps, Step{SQL: query})
	} else {
		if c.folded {
			n := g.quoted(c.table.counters()[0].name)
			steps = append(steps, Step{SQL: "UPDATE " + g.quoted(c.table.name) + " SET " + n + " = " + n + " * 1"})
		}
		steps = append(steps, Step{Kind: Change, SQL: query})
	}
	for _, s := range then {
		steps = append(steps, Step{SQL: s})
	}
	return steps
}

func (g *generator) newChange() change {
	t := g.counterTable()
	if t.key == nil || t.name == "limits" {
		return change{}
	}
	name, c := g.quoted(t.name), either(g, t.counters())
	n, k := g.quoted(c.name), g.quoted(t.key[0])
	alter := "ALTER TABLE " + name + " "
	where := " WHERE " + k + " = " + g.constant(either(g, t.column(t.key[0]).values))
	id := t.name + "_" + c.name
	add := func(by string) string { return "UPDATE " + name + " SET " + n + " = " + n + " + " + by + where }
	switch g.IntN(8) {
	case 0: // a column that every SELECT * shows
		return change{
			do:     alter + "ADD COLUMN extra INTEGER DEFAULT 3",
			undo:   alter + "DROP COLUMN extra",
			column: true,
			then:   []string{add("1"), "SELECT * FROM " + name + where},
			table:  t,
		}
	case 1: // one that is computed from the counter
		stored := "GENERATED ALWAYS AS (" + n + " * 2) STORED"
		if g.lite() {
			stored = "AS (" + n + " * 2)"
		}
		return change{
			do:     alter + "ADD COLUMN twice_" + c.name + " BIGINT " + stored,
			undo:   alter + "DROP COLUMN twice_" + c.name,
			column: true,
			folded: true,
			then:   []string{add("1"), "SELECT * FROM " + name + where, add("2"), "SELECT * FROM " + name + where},
			table:  t,
		}
	case 2:
		if g.lite() {
			return change{}
		}
		return change{
			do:    alter + "ADD CONSTRAINT few_" + id + " CHECK (" + n + " BETWEEN -1000000 AND 1000000)",
			undo:  alter + "DROP CONSTRAINT few_" + id,
			then:  []string{add("3000000"), add("1"), add("-3000000"), "SELECT " + n + " FROM " + name + where},
			table: t,
		}
	case 3:
		body := "INSERT INTO told SELECT NEW." + n + " - OLD." + n
		do, undo := "CREATE TRIGGER on_"+id+" AFTER UPDATE ON "+name+" FOR EACH ROW "+body, "DROP TRIGGER on_"+id
		switch {
		case g.lite():
			do = "CREATE TRIGGER on_" + id + " AFTER UPDATE ON " + name + " BEGIN " + body + "; END"
		case g.pg():
			do, undo = "CREATE TRIGGER on_"+id+" AFTER UPDATE ON "+name+" FOR EACH ROW EXECUTE FUNCTION tell('"+c.name+"')", undo+" ON "+name
		}
		return change{do: do, undo: undo, folded: true, then: []string{add("1"), add("2")}, table: t}
	case 4:
		if g.lite() {
			return change{} // it looks at all triggers, those of slot tables too
		}
		return change{
			do:      alter + "RENAME COLUMN " + n + " TO renamed_" + c.name,
			undo:    alter + "RENAME COLUMN renamed_" + c.name + " TO " + n,
			folded:  true,
			renames: true,
			then:    []string{add("1"), "SELECT * FROM " + name + where},
			table:   t,
		}
	case 5:
		if g.my() {
			return change{
				do:    "CREATE INDEX by_" + id + " ON " + name + " (" + n + ")",
				undo:  "DROP INDEX by_" + id + " ON " + name,
				table: t,
			}
		}
		return change{do: "CREATE INDEX by_" + id + " ON " + name + " (" + n + ")", undo: "DROP INDEX by_" + id, table: t}
	case 6: // emptied
		if t.name != "stats" && t.name != "Order" || g.lite() {
			return change{}
		}
		return change{do: "TRUNCATE TABLE " + name, through: true, then: []string{add("1")}, table: t}
	default: // dropped and made again
		if t.name != "stats" && t.name != "Order" || len(g.changes) > 0 {
			return change{}
		}
		return change{
			do:      "DROP TABLE " + name,
			through: true,
			then:    []string{add("1"), g.created[t.name], add("1"), "SELECT * FROM " + name},
			table:   t,
		}
	}
}

// telling makes what triggers tell to.
func (g *generator) telling() {
	g.app.Schema = append(g.app.Schema, "CREATE TABLE told (by_how_much BIGINT)")
	if g.pg() {
		g.app.Schema = append(g.app.Schema, "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO told SELECT "+
			"(to_jsonb(NEW) ->> TG_ARGV[0])::numeric::bigint - (to_jsonb(OLD) ->> TG_ARGV[0])::numeric::bigint; RETURN NEW; END$$")
	}
}

// renamed reports whether a column has another name now: of two faults of a
// statement, a name and a right, either may be reported.
func (g *generator) renamed() bool {
	return slices.ContainsFunc(g.changes, func(c change) bool { return c.renames })
}

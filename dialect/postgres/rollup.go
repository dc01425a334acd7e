package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.RollUpper = (*Dialect)(nil)

// RollUpSession is empty: what a batch needs is set for its transaction.
func (*Dialect) RollUpSession() []string { return nil }

// Draining lets a statement wait for a lock for half of the time after which
// who waits looks for a deadlock. A drain of a table has its slot table, and goes on
// to the rows; a plain DELETE has a row, and goes on to the slots that are deleted
// with it. The drain gives up, and tries again, before the DELETE fails with a
// deadlock that it could not have met without slots.
func (*Dialect) Draining() (session, transaction []string) {
	return nil, []string{
		setLocally(limits...),
		"SELECT pg_catalog.set_config('lock_timeout', CAST(LEAST(2000, GREATEST(20, CAST(setting AS integer) / 2)) AS text), true) " +
			"FROM pg_catalog.pg_settings WHERE name = 'deadlock_timeout'",
	}
}

// LockSlots locks the table for the transaction.
func (*Dialect) LockSlots(t *schema.Table) (lock, unlock []string) {
	return []string{"LOCK TABLE " + slotTable(t) + " IN ACCESS EXCLUSIVE MODE"}, nil
}

// RollUp moves a part of the slots in two statements. Pick locks slot rows and base
// rows, stepping over those that others have locked, and returns where the slot rows
// are. They stay there: no other session can write them. Move reads and writes no other.
//
// The transaction is SERIALIZABLE. A transaction of that level that has read a counter
// has marked the versions of its rows as read; one that comes later and changes the
// counter meets new versions, which the roll-up has made, and no session would see the
// conflict of the two if the roll-up were not one of theirs. To transactions of other
// levels that makes no difference. Pick has the snapshot: a row that others have
// changed since it began is an error (40001), and the batch is tried again, smaller.
//
// With row_security off the server fails where it would hide rows from this role, which
// would otherwise be left out of every pass.
//
// Pick takes the locks on the tables that a drain of all rows excludes, and so
// waits for it before it has locked any row, no longer than lock_timeout.
func (d *Dialect) RollUp(t *schema.Table, part dialect.RollUpPart) dialect.RollUp {
	w := &rollUp{dialect.RollUpSQL{Table: t, Part: part}}
	out := dialect.RollUp{
		Begin: []string{
			strings.Join(beginOwn("ISOLATION LEVEL SERIALIZABLE READ WRITE", "100ms"), "; ") + "; SET LOCAL row_security = off; LOCK TABLE " +
				slotTable(t) + " IN ROW EXCLUSIVE MODE",
		},
		Commit:    []string{"COMMIT"},
		Rollback:  []string{"ROLLBACK"},
		Unordered: len(t.Counter.Key) == 0,
		Divisible: w.divisible(),
		Find:      w.find(w.full(slotAlias)),
		Idle:      w.find("NOT " + w.full(slotAlias)),
		Orphans:   w.find(w.orphan()),
		Pick:      w.Step(w.pick),
		Move:      []dialect.Step{w.Step(w.move)},
		Sweep:     []dialect.Step{w.Step(w.sweep)},
		Reclaim: []dialect.Step{
			w.Step(func() string {
				return w.whole() + "SELECT 1 FROM " + slotTable(t) + " AS " + slotAlias + w.one() + " FOR UPDATE"
			}),
			w.Step(func() string {
				where := w.one()
				if where == "" {
					return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + w.orphan()
				}
				return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + where + " AND " + w.orphan()
			}),
		},
	}
	if t.Counter.Layout == schema.LayoutJournal {
		out.Gather, out.Merge = w.Step(w.gather), []dialect.Step{w.Step(w.merge)}
	}
	return out
}

// whole asks for the slot table's columns, ahead of the statement that takes the
// snapshot of the batch and at the same time as it.
func (w *rollUp) whole() string {
	if whole := w.Table.Counter.SlotTable.Whole(slotTable(w.Table), ""); whole != "" {
		return "WITH slotsql_n AS (SELECT " + whole + ") "
	}
	return ""
}

// rollUp writes the statements for one part.
type rollUp struct{ dialect.RollUpSQL }

// use is a value of a key, or what Pick has returned, by way of its text.
func (w *rollUp) use(arg int) string {
	text := fmt.Sprintf("CAST($%d AS text)", w.Position(arg))
	if n := len(w.Table.Counter.Key); arg < 2*n {
		return keyValue(w.Table, w.Table.Counter.Key[arg%n], text)
	}
	return "CAST(" + text + " AS tid[])"
}

// values are those of a key.
func (w *rollUp) values(first int) string {
	var out []string
	for i := range w.Table.Counter.Key {
		out = append(out, w.use(first+i))
	}
	return strings.Join(out, ", ")
}

// within is the part, as a condition on the slot rows.
func (w *rollUp) within() string {
	out := "TRUE"
	if len(w.Table.Counter.Key) == 0 {
		return out
	}
	if of := w.Table.Counter.OfTable(quote, slotAlias+"."); of != "" {
		out = of
	}
	key := "(" + slotKeyList(w.Table, slotAlias+".") + ")"
	switch {
	case w.Part.After:
		out += " AND " + key + " > (" + w.values(0) + ")"
	case w.Part.Between:
		out += " AND " + key + " >= (" + w.values(0) + ") AND " + key + " <= (" + w.values(len(w.Table.Counter.Key)) + ")"
	}
	return out
}

// full is the condition that a slot row holds something. A zero may have a scale, which
// shows in the sum of a column that has none of its own.
func (w *rollUp) full(alias string) string {
	return "(" + strings.Join(w.Table.Counter.Filled(quote, alias+".", func(column, cell string) string {
		if col := w.Table.Column(column); w.Table.Counter.Layout != schema.LayoutShared && col.Numeric == schema.Decimal && col.Precision == 0 {
			return "pg_catalog.scale(" + cell + ") > 0"
		}
		return ""
	}), " OR ") + ")"
}

// orphan reports whether a slot row has no base row. One that row security may hide from
// this role is not known to be no more.
func (w *rollUp) orphan() string {
	return "(NOT EXISTS (SELECT 1 FROM " + qualified(w.Table.Schema, w.Table.Name) + " AS " + baseAlias + " WHERE " + w.on(slotAlias) +
		") AND NOT " + secured(w.Table) + ")"
}

// on reports whether a row has the key of the base row.
func (w *rollUp) on(alias string) string {
	if on := backEquals(w.Table, alias); on != "" {
		return on
	}
	return "TRUE"
}

// single leaves slots of the empty key where they are while there is more than
// one row that they could go to.
func (w *rollUp) single() string {
	if !w.Table.Counter.Single() {
		return ""
	}
	return " AND " + oneRow(w.Table)
}

// one is the key UpTo.
func (w *rollUp) one() string {
	if len(w.Table.Counter.Key) == 0 {
		return ""
	}
	one := "(" + slotKeyList(w.Table, slotAlias+".") + ") = (" + w.values(len(w.Table.Counter.Key)) + ")"
	if of := w.Table.Counter.OfTable(quote, slotAlias+"."); of != "" {
		one = of + " AND " + one
	}
	return " WHERE " + one
}

// find returns the keys of slot rows of a condition.
func (w *rollUp) find(condition string) dialect.Step {
	return w.Step(func() string {
		var read, by []string
		for i, k := range w.Table.Counter.SlotKey() {
			c := slotAlias + "." + quote(k)
			read, by = append(read, keyText(w.Table, w.Table.Counter.Key[i], c)), append(by, c)
		}
		return w.Keys("FROM "+slotTable(w.Table)+" AS "+slotAlias+" WHERE "+w.within()+" AND "+condition, read, by)
	})
}

// pick locks. FOR NO KEY UPDATE is what an UPDATE of the base row takes, and lets
// increments that make a slot row pass.
func (w *rollUp) pick() string {
	return w.whole() + "SELECT COUNT(*), CAST(pg_catalog.array_agg(slotsql_l.slotsql_c) AS text) FROM (SELECT " + slotAlias +
		".ctid AS slotsql_c FROM " + slotTable(w.Table) + " AS " + slotAlias + " JOIN " + qualified(w.Table.Schema, w.Table.Name) + " AS " +
		baseAlias + " ON " + w.on(slotAlias) + " WHERE " + w.within() + w.single() + " AND " + w.full(slotAlias) + w.most() +
		" FOR NO KEY UPDATE OF " + baseAlias + " SKIP LOCKED FOR UPDATE OF " + slotAlias + " SKIP LOCKED) AS slotsql_l"
}

// move adds up what the picked slot rows hold, adds that to the base rows, and
// empties the slot rows. It deletes those whose base value has come to the end
// of its range, so that none is there for increments that do not look at it.
//
//nolint:funlen // one statement, read from its beginning to its end
func (w *rollUp) move() string {
	t := w.Table
	key := t.Counter.Key
	picked := []string{slotAlias + ".ctid AS slotsql_c"}
	var sums, set, empty, guards, together []string
	for i, k := range t.Counter.SlotKey() {
		picked = append(picked, as(slotAlias+"."+quote(k), k, key[i]))
		sums = append(sums, "slotsql_m."+quote(key[i]))
	}
	returned := []string{"TRUE AS slotsql_r"}
	for _, k := range key {
		returned = append(returned, baseAlias+"."+quote(k))
	}
	for _, name := range t.Counter.Counters {
		c := quote(name)
		picked = append(picked, as(t.Counter.Held(quote, slotAlias+".", name), t.Counter.Cell(name), name))
		sums = append(sums, "SUM(slotsql_m."+c+") AS "+c)
		set = append(set, c+" = "+baseAlias+"."+c+" + slotsql_t."+c)
		if t.Counter.Unslotted.IsRetired(name) { // nothing is added to its slots any more
			guards = append(guards, "FALSE")
			continue
		}
		guards = append(guards, baseGuard(t, baseAlias, name))
	}
	for _, name := range t.Counter.Cells() {
		empty = append(empty, quote(name)+" = 0")
	}
	picked = append(picked, slotAlias+"."+quote(t.Counter.SlotTable.Column))
	for i, co := range t.Counter.Companions {
		c := quote(co.Column)
		picked = append(picked, slotAlias+"."+c)
		if co.Merge != schema.Latest {
			sums = append(sums, string(co.Merge)+"(slotsql_m."+c+") AS "+c)
			set = append(set, c+" = "+extreme(co.Merge)+"("+baseAlias+"."+c+", slotsql_t."+c+")")
			empty = append(empty, c+" = NULL")
			continue
		}
		// What is left behind must not be older than what moves: all or none.
		stamp, whole := quote(co.Stamp()), fmt.Sprintf("slotsql_w%d", i+1)
		picked = append(picked, slotAlias+"."+stamp)
		others := "SELECT COUNT(slotsql_v." + stamp + ") FROM " + slotTable(t) + " AS slotsql_v"
		if on := keyEquals(t, "slotsql_v", "slotsql_m"); on != "" {
			others += " WHERE " + on
		}
		sums = append(
			sums,
			"(pg_catalog.array_agg(slotsql_m."+c+" ORDER BY slotsql_m."+stamp+" DESC NULLS LAST, slotsql_m."+
				quote(t.Counter.SlotTable.Column)+" DESC))[1] AS "+c,
			"pg_catalog.count(slotsql_m."+stamp+") AS "+stamp,
			"pg_catalog.count(slotsql_m."+stamp+") = ("+others+") AS "+whole,
		)
		set = append(
			set,
			c+" = CASE WHEN slotsql_t."+whole+" AND slotsql_t."+stamp+" > 0 THEN slotsql_t."+c+" ELSE "+baseAlias+"."+c+" END",
		)
		returned = append(returned, "slotsql_t."+whole)
		together = append(together, "slotsql_u."+whole)
		for _, column := range []string{c, stamp} {
			empty = append(empty, column+" = CASE WHEN slotsql_u."+whole+" THEN NULL ELSE "+slotAlias+"."+column+" END")
		}
	}
	ok := "TRUE"
	if !t.Counter.SharesSlotRows() {
		ok = "COALESCE(" + strings.Join(guards, " AND ") + ", FALSE)"
	}
	returned = append(returned, ok+" AS slotsql_ok", taken(t))
	// What has been moved stays for the next increment to find; but in a journal
	// only what still has a companion.
	stays := "slotsql_u.slotsql_ok"
	left := "NOT (" + strings.Join(append(together, "TRUE"), " AND ") + ")"
	if t.Counter.Layout == schema.LayoutJournal {
		stays = left
	} else if len(together) > 0 && len(guards) == 1 {
		stays = "(slotsql_u.slotsql_ok OR " + left + ")"
	}
	group, both := "", "TRUE"
	if len(key) > 0 {
		group, both = " GROUP BY "+keyList(t, "slotsql_m."), keyEquals(t, "slotsql_m", "slotsql_u")
	}
	return "WITH slotsql_m AS MATERIALIZED (SELECT " + strings.Join(picked, ", ") + " FROM " + slotTable(t) + " AS " + slotAlias +
		" WHERE " + slotAlias + ".ctid = ANY (" + w.use(2*len(key)) + ")), " + "slotsql_t AS MATERIALIZED (SELECT " +
		strings.Join(sums, ", ") + " FROM slotsql_m" + group + "), " + before(t, "TRUE") + ", slotsql_u AS (UPDATE " +
		qualified(t.Schema, t.Name) + " AS " + baseAlias + " SET " + strings.Join(set, ", ") + " FROM slotsql_t, slotsql_o WHERE " +
		matched(t) + " RETURNING " + strings.Join(returned, ", ") + "), " + "slotsql_z AS (UPDATE " + slotTable(t) + " AS " +
		slotAlias + " SET " + strings.Join(empty, ", ") + " FROM slotsql_m, slotsql_u WHERE " + slotAlias +
		".ctid = slotsql_m.slotsql_c AND " + both + " AND " + stays + "), " + "slotsql_x AS (DELETE FROM " + slotTable(t) + " AS " +
		slotAlias + " USING slotsql_m, slotsql_u" + " WHERE " + slotAlias + ".ctid = slotsql_m.slotsql_c AND " + both +
		" AND NOT " + stays + ") " + moved(t, "TRUE")
}

// sweep deletes the very versions that it has locked and found empty: one that
// has become a newer one since the snapshot is not met. Where additions have cancelled each
// other out it touches the base row, too (touch.go).
func (w *rollUp) sweep() string {
	t := w.Table
	list, both := []string{slotAlias + ".ctid AS slotsql_c"}, "TRUE"
	for _, k := range t.Counter.Key {
		list = append(list, baseAlias+"."+quote(k))
	}
	if len(t.Counter.Key) > 0 {
		both = keyEquals(t, baseAlias, "slotsql_a")
	}
	base, slots := qualified(t.Schema, t.Name)+" AS "+baseAlias, slotTable(t)+" AS "+slotAlias
	empty := " WHERE " + w.within() + " AND NOT " + w.full(slotAlias)
	c, with := quote(t.Counter.Counters[0]), "WITH "
	if whole := w.whole(); whole != "" {
		with = strings.TrimSuffix(whole, " ") + ", "
	}
	return with + "slotsql_a AS MATERIALIZED (SELECT " + strings.Join(list, ", ") + " FROM " + slots + " JOIN " + base +
		" ON " + w.on(slotAlias) + empty + w.single() + " AND " + changedSince(t, slotAlias) +
		" FOR NO KEY UPDATE OF " + baseAlias + " SKIP LOCKED FOR UPDATE OF " + slotAlias + " SKIP LOCKED), " +
		"slotsql_l AS MATERIALIZED (SELECT " + slotAlias + ".ctid AS slotsql_c FROM " + slots + empty + " AND NOT " + changedSince(t, slotAlias) +
		" FOR UPDATE SKIP LOCKED), " +
		"slotsql_u AS (UPDATE " + base + " SET " + c + " = " + baseAlias + "." + c + " FROM slotsql_a WHERE " + both + ") " +
		"DELETE FROM " + slotTable(t) + " AS slotsql_d" +
		" USING (SELECT slotsql_c FROM slotsql_a UNION ALL SELECT slotsql_c FROM slotsql_l) AS slotsql_e WHERE slotsql_d.ctid = slotsql_e.slotsql_c AND NOT " + w.full("slotsql_d")
}

package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	_ dialect.RollUpper    = (*Dialect)(nil)
	_ dialect.WriterLocker = (*Dialect)(nil)
)

// RollUpSession has the worker wait for as little as can be: what SKIP LOCKED does
// not step over, such as a gap in an index of the counter that another session has
// locked, is an error after a second, and the batch is undone. (With 0 MariaDB
// would not wait at all, but fail transactions that have stepped over a row.)
func (d *Dialect) RollUpSession() []string {
	return append(d.OwnSettings(), "SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1, group_concat_max_len = 67108864")
}

// Draining lets a statement wait for a lock for two seconds.
func (d *Dialect) Draining() (session, transaction []string) {
	return append(d.OwnSettings(), "SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 2"), nil
}

// LockSlots locks the table for the session, under each name that it is read by. MySQL drops it only with the
// base table locked as well, to which the foreign key refers. Locked later, that would have a transaction which has
// locked base rows, and whose next change takes a lock on the slot table, be chosen as deadlock victim. Here both
// are locked in the order of their names, and `<table>_slots` comes after the table.
func (d *Dialect) LockSlots(t *schema.Table) (lock, unlock []string) {
	sql := "LOCK TABLES "
	if !d.MariaDB && t.Counter.CascadesDelete() && !t.Counter.SlotTable.NoForeignKey {
		sql += baseTable(t) + " WRITE, "
	}
	return []string{sql + slotTable(t) + " WRITE, " + slotTable(t) + " AS slotsql_s WRITE"}, []string{"UNLOCK TABLES"}
}

// LockWriters asks for the table's metadata lock. A statement takes it, shared with other
// writers, before it waits for any row, and its transaction keeps it until it ends; so does
// an UPDATE of the base table, because of the foreign key. MySQL always waits, for as long as
// DrainSession allows.
func (d *Dialect) LockWriters(t *schema.Table, wait bool) (lock, unlock []string) {
	sql := "LOCK TABLES " + slotTable(t) + " READ, " + slotTable(t) + " AS slotsql_s READ"
	switch {
	case !d.MariaDB:
	case wait:
		sql += " WAIT 1"
	default:
		sql += " NOWAIT"
	}
	return []string{sql}, []string{"UNLOCK TABLES"}
}

// RollUp moves a part of the slots by an UPDATE of base rows and one of slot rows
// (rollup_check.go). Both have been locked together, or stepped over.
// Nothing is ever inserted, so that no other session's gap lock is met,
// and none is left: READ COMMITTED.
//
// Where a companion is the latest of its values, what is left behind must not be
// older than what has moved: Left looks for such values after the move. It takes
// no locks, and must not miss a row that is there: READ UNCOMMITTED sees the
// newest. (Inside the UPDATE it would be a locking read, at any level.)
//
// A server that writes statements to its binary log refuses changes at these
// levels (1665). There it is REPEATABLE READ: the locks of the same statements
// reach to the gaps beside their rows, and Left takes some as well.
func (d *Dialect) RollUp(t *schema.Table, part dialect.RollUpPart) dialect.RollUp {
	w := &rollUp{dialect.RollUpSQL{Table: t, Part: part}}
	level, latest := "READ COMMITTED", t.Counter.HasLatest()
	if latest {
		level = "READ UNCOMMITTED"
	}
	if d.StatementLog {
		level = "REPEATABLE READ"
	}
	out := dialect.RollUp{
		Begin:     []string{"SET TRANSACTION ISOLATION LEVEL " + level, "START TRANSACTION READ WRITE"},
		Commit:    []string{commit},
		Rollback:  []string{rollback},
		Unordered: !w.ordered(), BytesAreText: true,
		Divisible: w.divisible(),
		Probes:    d.MariaDB && t.Counter.Layout != schema.LayoutJournal,
		Find:      w.find(w.full("slotsql_s")),
		Idle:      w.find(w.empty("slotsql_s")),
		Orphans:   w.find("NOT EXISTS (SELECT 1 FROM " + w.baseOf("slotsql_s", "WHERE") + ")"),
		Pick:      w.Step(w.pick),
		Move:      []dialect.Step{w.Step(func() string { return w.move(true) }), w.Step(func() string { return w.emptied(true) })},
		Unmoved:   w.Step(w.unmoved),
		Sweep:     []dialect.Step{w.Step(func() string { return w.remove(all) })},
		Reclaim:   []dialect.Step{w.Step(w.reclaim)},
	}
	if whole := wholeToWrite(t); whole != "" {
		out.Begin = append(out.Begin, "SELECT "+whole)
	}
	if t.Counter.Layout == schema.LayoutJournal {
		out.Gather = w.Step(func() string { return "SELECT COUNT(*) FROM (" + w.gathered() + ") AS slotsql_l" })
		out.Merge = []dialect.Step{w.Step(w.merge), w.Step(func() string { return w.remove(all) })}
	}
	if latest {
		out.Left = w.Step(func() string { return w.remaining(d.StatementLog) })
		out.Keep = []dialect.Step{w.Step(func() string { return w.move(false) }), w.Step(func() string { return w.emptied(false) })}
	}
	// The emptied slot rows go at once. One that stayed would be deleted by the
	// next drain, as a change of that transaction; if its snapshot is older than
	// the roll-up, it would then see neither the slot nor, in a base row to which
	// the drain had nothing to add, what has moved there.
	removed := w.Step(func() string { return w.remove(w.most()) })
	out.Move = append(out.Move, removed)
	if out.Keep != nil {
		out.Keep = append(out.Keep, removed)
	}
	return out
}

// rollUp writes the statements for one part.
type rollUp struct{ dialect.RollUpSQL }

// all keeps a derived table apart from the query around it.
const all = " LIMIT 18446744073709551615"

// picked reads the slot rows that Pick has locked.
func (w *rollUp) picked() string {
	return "SELECT " + strings.Join(w.values(), ", ") + " FROM " + w.locked() + " AND " + w.listed() + w.most() + " FOR UPDATE SKIP LOCKED"
}

// move adds the picked slots to their base rows; without latest it leaves companions
// of that kind as they are.
func (w *rollUp) move(latest bool) string {
	t := w.Table
	over := " OVER (" + w.partition() + ")"
	list := []string{"slotsql_l.n"}
	if t.Counter.Layout == schema.LayoutShared {
		list = append(list, "slotsql_l.y")
	}
	key := t.Counter.Key
	for i := range key {
		list = append(list, fmt.Sprintf("slotsql_l.k%d", i+1))
	}
	var set []string
	for i, c := range t.Counter.Counters {
		list = append(list, fmt.Sprintf("SUM(slotsql_l.c%d)%s AS t%d", i+1, over, i+1))
		set = append(set, fmt.Sprintf("slotsql_b.%s = slotsql_b.%s + slotsql_f.t%d", quote(c), quote(c), i+1))
	}
	for i := range t.Counter.Companions {
		co := &t.Counter.Companions[i]
		b := "slotsql_b." + quote(co.Column)
		if co.Merge != schema.Latest {
			list = append(list, fmt.Sprintf("%s(slotsql_l.m%d)%s AS x%d", co.Merge, i+1, over, i+1))
			set = append(set, fmt.Sprintf("%s = COALESCE(%s(%s, slotsql_f.x%d), %s)", b, extreme(co.Merge), b, i+1, b))
			continue
		}
		if !latest {
			continue
		}
		list = append(
			list,
			w.newest(i+1),
			fmt.Sprintf("COUNT(slotsql_l.a%d)%s AS h%d", i+1, over, i+1),
		)
		set = append(set, fmt.Sprintf("%s = IF(slotsql_f.h%d > 0, slotsql_f.x%d, %s)", b, i+1, i+1, b))
	}
	for _, c := range t.Columns {
		if c.OnUpdate && t.Companion(c.Name) == nil { // would be set to the current time otherwise
			set = append(set, "slotsql_b."+quote(c.Name)+" = slotsql_b."+quote(c.Name))
		}
	}
	base := w.base() + " ON "
	if len(key) > 0 {
		base += sameAs("slotsql_b", key, "slotsql_f")
	} else {
		base += "TRUE" // Pick has seen to there being one row
	}
	return "UPDATE (SELECT " + strings.Join(list, ", ") + " FROM (" + w.picked() + ") AS slotsql_l" + all +
		") AS slotsql_f STRAIGHT_JOIN " + base + " SET " + strings.Join(set, ", ")
}

// remaining counts slots of the part that still hold a companion of which the latest
// value counts, locked or not.
func (w *rollUp) remaining(locking bool) string {
	var some []string
	for _, co := range w.Table.Counter.Companions {
		if co.Stamp() != "" {
			some = append(some, "slotsql_s."+quote(co.Stamp())+" IS NOT NULL")
		}
	}
	q := "SELECT COUNT(*) FROM " + slotTable(w.Table) + " AS slotsql_s WHERE " + w.within("slotsql_s") + " AND (" +
		strings.Join(some, " OR ") + ") AND EXISTS (SELECT 1 FROM " + w.baseOf("slotsql_s", "WHERE") + ")"
	if locking {
		q += " LOCK IN SHARE MODE"
	}
	return q
}

// remove deletes slot rows that hold nothing, as many as the limit says.
func (w *rollUp) remove(limit string) string {
	t := w.Table
	slots := slotTable(t) + " AS slotsql_s" + slotIndex(t)
	return "DELETE slotsql_s FROM (SELECT " + strings.Join(w.names(), ", ") + " FROM " + slots + " WHERE " +
		w.within("slotsql_s") + " AND " + w.empty("slotsql_s") + limit +
		" FOR UPDATE SKIP LOCKED) AS slotsql_f STRAIGHT_JOIN " + slots + " ON " + w.row()
}

// reclaim deletes the slots of a key that has no base row. The slot row is
// locked when its base row is looked for, by a locking read, which sees the
// newest: a session that makes a slot row has the base row locked until both are committed.
func (w *rollUp) reclaim() string {
	t := w.Table
	where := "TRUE"
	if w.ordered() {
		var eq []string
		for i, k := range t.Counter.SlotKey() {
			eq = append(eq, quote(k)+" = "+w.use(len(t.Counter.Key)+i))
		}
		where = strings.Join(eq, " AND ")
	}
	where = and(t.Counter.OfTable(quote, ""), where)
	return "DELETE FROM " + slotTable(t) + " WHERE " + where + " AND NOT EXISTS (SELECT 1 FROM " + w.baseOf(slotTable(t), "WHERE") +
		" LOCK IN SHARE MODE)"
}

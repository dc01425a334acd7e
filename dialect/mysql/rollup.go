package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.RollUpper = (*Dialect)(nil)

// RollUpSession has the worker wait for as little as can be: what SKIP LOCKED does
// not step over, such as a gap in an index of the counter that somebody has
// locked, is an error after a second, and the batch is undone. (With 0 MariaDB
// would not wait at all, but fail transactions that have stepped over a row.)
func (d *Dialect) RollUpSession() []string {
	return append(d.OwnSettings(), "SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1, group_concat_max_len = 67108864")
}

// DrainSession lets a statement wait for a lock for two seconds.
func (d *Dialect) DrainSession() []string {
	return append(d.OwnSettings(), "SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 2")
}

// DrainTransaction is empty: the session has what it needs.
func (*Dialect) DrainTransaction() []string { return nil }

// LockSlots locks the table for the session, under each name that it is read by.
func (*Dialect) LockSlots(t *rewrite.Table) (lock, unlock []string) {
	return []string{"LOCK TABLES " + slotTable(t) + " WRITE, " + slotTable(t) + " AS slotsql_s WRITE"}, []string{"UNLOCK TABLES"}
}

// RollUp moves a part of the slots by an UPDATE of base rows and one of slot rows
// (rollup_check.go). Both have been locked together, or stepped over.
// Nothing is ever inserted, so that no gap lock of anybody is met,
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
func (d *Dialect) RollUp(t *rewrite.Table, part dialect.RollUpPart) dialect.RollUp {
	w := &rollUp{t: t, part: part}
	level, latest := "READ COMMITTED", false
	for _, co := range t.Counter.Companions {
		if co.Merge == rewrite.Latest {
			level, latest = "READ UNCOMMITTED", true
		}
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
		Find:      w.find(w.full("slotsql_s")),
		Idle:      w.find(w.empty("slotsql_s")),
		Orphans:   w.find("NOT EXISTS (SELECT 1 FROM " + w.baseOf("slotsql_s", "WHERE") + ")"),
		Pick:      w.step(w.pick),
		Move:      []dialect.Step{w.step(func() string { return w.move(true) }), w.step(func() string { return w.emptied(true) })},
		Unmoved:   w.step(w.unmoved),
		Sweep:     []dialect.Step{w.step(func() string { return w.remove(all) })},
		Reclaim:   []dialect.Step{w.step(w.reclaim)},
	}
	if whole := wholeToWrite(t); whole != "" {
		out.Begin = append(out.Begin, "SELECT "+whole)
	}
	if t.Counter.Layout == rewrite.LayoutJournal {
		out.Gather = w.step(func() string { return "SELECT COUNT(*) FROM (" + w.gathered() + ") AS slotsql_l" })
		out.Merge = []dialect.Step{w.step(w.merge), w.step(func() string { return w.remove(all) })}
	}
	if latest {
		out.Left = w.step(func() string { return w.left(d.StatementLog) })
		out.Keep = []dialect.Step{w.step(func() string { return w.move(false) }), w.step(func() string { return w.emptied(false) })}
	}
	// The emptied slot rows go at once. One that stayed would be deleted by the
	// next drain, as a change of that transaction; if its snapshot is older than
	// the roll-up, it would then see neither the slot nor, in a base row to which
	// the drain had nothing to add, what has moved there.
	removed := w.step(func() string { return w.remove(w.most()) })
	out.Move = append(out.Move, removed)
	if out.Keep != nil {
		out.Keep = append(out.Keep, removed)
	}
	return out
}

// rollUp writes the texts of one part.
type rollUp struct {
	t    *rewrite.Table
	part dialect.RollUpPart
	args []int
}

// all keeps a derived table apart from the query around it.
const all = " LIMIT 18446744073709551615"

func (w *rollUp) step(text func() string) dialect.Step {
	w.args = nil
	sql := text()
	return dialect.Step{SQL: sql, Args: w.args}
}

func (w *rollUp) use(arg int) string {
	w.args = append(w.args, arg)
	if arg >= 2*len(w.t.Counter.Key) {
		return "?"
	}
	return keyForm(w.t, w.t.Counter.Key[arg%len(w.t.Counter.Key)]).bound
}

// form is how a key column's value leaves the database and comes back.
type form struct{ read, bound string }

func keyForm(t *rewrite.Table, column string) form {
	c := t.Column(column)
	kind, _, _ := strings.Cut(strings.ToLower(c.Type), " ")
	kind, _, _ = strings.Cut(kind, "(")
	switch kind {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
		if c.Unsigned || strings.Contains(strings.ToLower(c.Type), "unsigned") {
			return form{"%s", "CAST(? AS UNSIGNED)"}
		}
		return form{"%s", "CAST(? AS SIGNED)"}
	case "decimal", "numeric":
		return form{"CAST(%s AS CHAR)", "CAST(? AS " + strings.Replace(strings.SplitN(c.Type, " ", 2)[0], "numeric", "decimal", 1) + ")"}
	case "binary", "varbinary":
		return form{"HEX(%s)", "UNHEX(?)"}
	case "char", "varchar":
		return form{"%s", "?"}
	case "date":
		return form{"CAST(%s AS CHAR)", "CAST(? AS DATE)"}
	case "datetime":
		return form{"CAST(%s AS CHAR)", "CAST(? AS DATETIME(6))"}
	}
	return form{}
}

func (w *rollUp) ordered() bool {
	for _, k := range w.t.Counter.Key {
		if keyForm(w.t, k).bound == "" {
			return false
		}
	}
	return len(w.t.Counter.Key) > 0
}

// within is the part, as a condition on the slot rows of an alias. The server
// uses an index for comparisons of columns, not of rows.
func (w *rollUp) within(alias string, upTo bool) string {
	out := "TRUE"
	if of := w.t.Counter.OfTable(quote, alias+"."); of != "" {
		out = of
	}
	if !w.ordered() {
		return out
	}
	key := w.t.Counter.SlotKey()
	compare := func(first int, op string) {
		if len(key) > 1 {
			out += " AND " + alias + "." + quote(key[0]) + " " + op + "= " + w.use(first)
		}
		var steps []string
		for i, k := range key {
			var s []string
			for j := range i {
				s = append(s, alias+"."+quote(key[j])+" = "+w.use(first+j))
			}
			last := op
			if i == len(key)-1 && op == "<" {
				last = "<="
			}
			steps = append(steps, strings.Join(append(s, alias+"."+quote(k)+" "+last+" "+w.use(first+i)), " AND "))
		}
		out += " AND (" + strings.Join(steps, " OR ") + ")"
	}
	if w.part.After {
		compare(0, ">")
	}
	if w.part.UpTo && upTo {
		compare(len(key), "<")
	}
	return out
}

// full says that a slot row holds something.
func (w *rollUp) full(alias string) string {
	var parts []string
	for _, c := range w.t.Counter.Cells() {
		parts = append(parts, alias+"."+quote(c)+" <> 0")
	}
	for _, co := range w.t.Counter.Companions {
		c := co.Column
		if co.Stamp() != "" {
			c = co.Stamp()
		}
		parts = append(parts, alias+"."+quote(c)+" IS NOT NULL")
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func (w *rollUp) empty(alias string) string { return "NOT " + w.full(alias) }

// base is the base table, read by the key of the slots.
func (w *rollUp) base() string {
	out := baseTable(w.t) + " AS slotsql_b"
	if u := keyIndex(w.t); u != nil && len(w.t.Counter.Key) > 0 {
		out += " FORCE INDEX (" + indexName(u) + ")"
	}
	return out
}

// baseOf is the base row of a slot row, behind the word that leads to a condition.
func (w *rollUp) baseOf(alias, word string) string {
	if len(w.t.Counter.Key) == 0 {
		return w.base()
	}
	return w.base() + " " + word + " " + same("slotsql_b", w.t.Counter.Key, alias, w.t.Counter.SlotKey())
}

// find returns the keys of slot rows of a condition.
func (w *rollUp) find(condition string) dialect.Step {
	return w.step(func() string {
		from := " FROM " + slotTable(w.t) + " AS slotsql_s WHERE " + w.within("slotsql_s", false) + " AND " + condition
		if !w.ordered() {
			return "SELECT COUNT(*)" + from + " HAVING COUNT(*) > 0"
		}
		var read, by []string
		for i, k := range w.t.Counter.SlotKey() {
			c := "slotsql_s." + quote(k)
			read, by = append(read, fmt.Sprintf(keyForm(w.t, w.t.Counter.Key[i]).read, c)), append(by, c)
		}
		return "SELECT " + strings.Join(read, ", ") + ", COUNT(*)" + from + " GROUP BY " + strings.Join(by, ", ") +
			" ORDER BY " + strings.Join(by, ", ") + fmt.Sprintf(" LIMIT %d", w.part.Limit)
	})
}

// picked reads the slot rows that Pick has locked.
func (w *rollUp) picked() string {
	return "SELECT " + strings.Join(w.values(), ", ") + " FROM " + w.locked() + " AND " + w.listed() + w.most() + " FOR UPDATE SKIP LOCKED"
}

// values are what a slot row has, under names of their own.
func (w *rollUp) values() []string {
	t := w.t
	list := w.names()
	for i, c := range t.Counter.Counters {
		list = append(list, fmt.Sprintf("%s AS c%d", t.Counter.Held(quote, "slotsql_s.", c), i+1))
	}
	for i, co := range t.Counter.Companions {
		list = append(list, fmt.Sprintf("slotsql_s.%s AS m%d", quote(co.Column), i+1))
		if co.Stamp() != "" {
			list = append(list, fmt.Sprintf("slotsql_s.%s AS a%d", quote(co.Stamp()), i+1))
		}
	}
	return list
}

// most bounds what a batch locks.
func (w *rollUp) most() string {
	if w.part.Rows == 0 || !w.divisible() {
		return all
	}
	return fmt.Sprintf(" LIMIT %d", w.part.Rows)
}

// divisible reports whether a part of a row's slots may move.
func (w *rollUp) divisible() bool {
	return w.t.Counter.Layout == rewrite.LayoutJournal && !w.latest()
}

// latest says that there is a companion whose values must move together.
func (w *rollUp) latest() bool {
	for _, co := range w.t.Counter.Companions {
		if co.Merge == rewrite.Latest {
			return true
		}
	}
	return false
}

// locked is the part's slot rows with their base rows.
func (w *rollUp) locked() string {
	return slotTable(w.t) + " AS slotsql_s" + slotIndex(w.t) + " STRAIGHT_JOIN " + w.baseOf("slotsql_s", "ON") + " WHERE " +
		w.within("slotsql_s", true)
}

func (w *rollUp) partition() string {
	var by []string
	for i := range w.t.Counter.Key {
		by = append(by, fmt.Sprintf("slotsql_l.k%d", i+1))
	}
	if len(by) == 0 {
		return ""
	}
	return "PARTITION BY " + strings.Join(by, ", ")
}

// move adds the picked slots to their base rows; without latest it leaves companions
// of that kind as they are.
func (w *rollUp) move(latest bool) string {
	t := w.t
	over := " OVER (" + w.partition() + ")"
	list := []string{"slotsql_l.n"}
	if t.Counter.Layout == rewrite.LayoutShared {
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
		if co.Merge != rewrite.Latest {
			list = append(list, fmt.Sprintf("%s(slotsql_l.m%d)%s AS x%d", co.Merge, i+1, over, i+1))
			set = append(set, fmt.Sprintf("%s = COALESCE(%s(%s, slotsql_f.x%d), %s)", b, extreme(co.Merge), b, i+1, b))
			continue
		}
		if !latest {
			continue
		}
		list = append(
			list,
			fmt.Sprintf(
				"FIRST_VALUE(slotsql_l.m%d) OVER (%s ORDER BY slotsql_l.a%d DESC, slotsql_l.n DESC) AS x%d",
				i+1,
				w.partition(),
				i+1,
				i+1,
			),
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

// names are the columns that tell one slot row of the table from the others.
func (w *rollUp) names() []string {
	list := []string{"slotsql_s." + slotColumn(w.t) + " AS n"}
	if sh := w.t.Counter.Shared; sh != nil {
		list = append(list, "slotsql_s."+quote(sh.Type)+" AS y")
	}
	for i, k := range w.t.Counter.SlotKey() {
		list = append(list, fmt.Sprintf("slotsql_s.%s AS k%d", quote(k), i+1))
	}
	return list
}

// row says that the slot row is the one of the derived table.
func (w *rollUp) row() string {
	on := "slotsql_s." + slotColumn(w.t) + " = slotsql_f.n"
	if len(w.t.Counter.Key) > 0 {
		on = sameAs("slotsql_s", w.t.Counter.SlotKey(), "slotsql_f") + " AND " + on
	}
	if sh := w.t.Counter.Shared; sh != nil {
		on = "slotsql_s." + quote(sh.Type) + " = slotsql_f.y AND " + on
	}
	return on
}

// left counts slots of the part that still hold a companion of which the latest
// value counts, locked or not.
func (w *rollUp) left(locking bool) string {
	var some []string
	for _, co := range w.t.Counter.Companions {
		if co.Stamp() != "" {
			some = append(some, "slotsql_s."+quote(co.Stamp())+" IS NOT NULL")
		}
	}
	q := "SELECT COUNT(*) FROM " + slotTable(w.t) + " AS slotsql_s WHERE " + w.within("slotsql_s", true) + " AND (" +
		strings.Join(some, " OR ") + ") AND EXISTS (SELECT 1 FROM " + w.baseOf("slotsql_s", "WHERE") + ")"
	if locking {
		q += " LOCK IN SHARE MODE"
	}
	return q
}

// remove deletes slot rows that hold nothing, as many as the limit says.
func (w *rollUp) remove(limit string) string {
	t := w.t
	slots := slotTable(t) + " AS slotsql_s" + slotIndex(t)
	return "DELETE slotsql_s FROM (SELECT " + strings.Join(w.names(), ", ") + " FROM " + slots + " WHERE " +
		w.within("slotsql_s", true) + " AND " + w.empty("slotsql_s") + limit +
		" FOR UPDATE SKIP LOCKED) AS slotsql_f STRAIGHT_JOIN " + slots + " ON " + w.row()
}

// reclaim deletes the slots of a key that has no base row. The slot row is
// locked when its base row is looked for, by a locking read, which sees the
// newest: who makes a slot row has its base row locked until both are committed.
func (w *rollUp) reclaim() string {
	t := w.t
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

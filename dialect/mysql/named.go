package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.SlotNamer = (*Dialect)(nil)

// At REPEATABLE READ a locking read or a change that finds no row locks the gap where it would be, and one that
// finds rows by a part of the primary key locks the gaps around them. A drain of a row without slots would so block
// inserts of its neighbours' slots. Statements that name each slot row by all columns of the primary key lock these
// rows alone (locks_rec_but_not_gap).

// here tells servers apart.
const here = "CONCAT_WS('/', @@hostname, @@port, @@server_id, @@datadir)"

// level is the session's isolation level.
func (d *Dialect) level() string {
	if d.MySQL {
		return "@@transaction_isolation"
	}
	return "@@tx_isolation"
}

// GapLocks implements dialect.SlotNamer.
func (*Dialect) GapLocks(level string) bool {
	return level != "READ-COMMITTED" && level != "READ-UNCOMMITTED"
}

// OpensSnapshot implements dialect.SlotNamer: at SERIALIZABLE an ordinary query
// locks what it reads. With snapshot isolation none must open the snapshot before the
// locks, see isolation.go.
func (d *Dialect) OpensSnapshot(level string) bool {
	return level == "REPEATABLE-READ" && !d.SnapshotIsolation
}

// Observer implements dialect.SlotNamer. READ WRITE keeps a proxy from routing the transaction to a replica. Beginning the next
// transaction ends the last one, which has changed nothing.
func (*Dialect) Observer() (connected, begin []string) {
	return []string{"SET SESSION lock_wait_timeout = 1", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"},
		[]string{"START TRANSACTION READ WRITE"}
}

// Nameable implements dialect.SlotNamer.
func (*Dialect) Nameable(t *schema.Table) bool {
	for _, k := range t.Counter.Key {
		if literalOf(t, k).read == "" {
			return false
		}
	}
	return true
}

// FindSlots implements dialect.SlotNamer.
func (d *Dialect) FindSlots(t *schema.Table, keys [][]any, lock bool) string {
	rows, ok := anyOf(t, "slotsql_s", keys)
	if !ok {
		return ""
	}
	where := and(t.Counter.OfTable(quote, "slotsql_s."), "TRUE")
	if rows != "" {
		where += " AND (" + rows + ")"
	}
	list := append([]string{here}, keyStrings(t, "slotsql_s", t.Counter.SlotKey())...)
	list = append(list, slotNames(t)...)
	q := "SELECT " + strings.Join(list, ", ") + " FROM (SELECT 1) AS slotsql_o LEFT JOIN " +
		slotTable(t) + " AS slotsql_s" + slotIndex(t) + " ON " + where
	if lock {
		q += " FOR UPDATE"
	}
	return d.inUTC(t, q)
}

// slotNames are what tells the slot rows of a key apart: the record type, where
// there is one, and the number.
func slotNames(t *schema.Table) []string {
	number := "slotsql_s." + slotColumn(t)
	if sh := t.Counter.Shared; sh != nil {
		return []string{"slotsql_s." + quote(sh.Type), number}
	}
	return []string{number}
}

// slotRows are slot rows of some keys, in the order in which they were found.
type slotRows struct {
	t     *schema.Table
	keys  []string            // conditions
	slots map[string][]string // of each key: conditions on what is below it
	rows  [][]any             // the key, the record type where there is one, the number
	one   string              // the condition that all are of one key; "" if they are not
}

// namedRows reads rows as FindSlots returns them, without the server.
func namedRows(t *schema.Table, rows [][]any) (*slotRows, bool) {
	n := &slotRows{t: t, slots: map[string][]string{}}
	k := len(t.Counter.Key)
	for i, r := range rows {
		eq, ok := equal(t, "%[1]s", r[:k])
		if !ok {
			return nil, false
		}
		if i == 0 {
			n.one = eq
		} else if n.one != eq {
			n.one = ""
		}
		for _, v := range r[k:] {
			if !wholeForm.MatchString(dialect.String(v)) {
				return nil, false
			}
		}
		below := dialect.String(r[k])
		if sh := t.Counter.Shared; sh != nil {
			below = dialect.String(r[k+1])
			eq = "%[1]s." + quote(sh.Type) + " = " + dialect.String(r[k]) + " AND " + eq
		}
		if n.slots[eq] == nil {
			n.keys = append(n.keys, eq)
		}
		if slices.Contains(n.slots[eq], below) {
			continue // another session knows it as well as its own does
		}
		n.slots[eq], n.rows = append(n.slots[eq], below), append(n.rows, r)
	}
	return n, true
}

// maxListed bounds a list, whose rows cost more each than those of a condition (500 rows: 1 ms). Of more rows the table
// does not seem small.
const maxListed = 100

// listed reports whether the rows may be given as a list: keys that are no whole numbers are conditions, of one key.
func (n *slotRows) listed() bool {
	return len(n.rows) <= maxListed &&
		(n.one != "" || !slices.ContainsFunc(n.t.Counter.Key, func(c string) bool { return literalOf(n.t, c).read != "%s" }))
}

// source writes the rows as a source, and their condition. They are joined to a list: so the server looks each of them up by all
// columns of the primary key, and locks no other. By a condition it may read, and lock, those beside them, or
// all rows of a table that seems small, whatever index it is told to use.
func (n *slotRows) source() (source, where string) {
	t := n.t
	source = slotTable(t) + " AS slotsql_s" + slotIndex(t)
	if !n.listed() {
		return source, n.where("slotsql_s")
	}
	var columns []string
	below := len(t.Counter.Key) // where what is not the key begins
	where = n.one
	if n.one == "" {
		columns, below, where = t.Counter.SlotKey(), 0, "TRUE"
	}
	columns = quoteAll(columns)
	if sh := t.Counter.Shared; sh != nil {
		columns = append(columns, quote(sh.Type))
	}
	columns = append(columns, slotColumn(t))
	var on []string
	for i, c := range columns {
		on = append(on, fmt.Sprintf("slotsql_s.%s = slotsql_n.n%d", c, i+1))
	}
	var list []string
	for i, row := range n.rows {
		var values []string
		for j, v := range row[below:] {
			as := ""
			if i == 0 {
				as = fmt.Sprintf(" AS n%d", j+1)
			}
			values = append(values, dialect.String(v)+as)
		}
		list = append(list, "SELECT "+strings.Join(values, ", "))
	}
	return "(" + strings.Join(list, " UNION ALL ") + ") AS slotsql_n STRAIGHT_JOIN " + source + " ON " + strings.Join(on, " AND "),
		strings.ReplaceAll(where, "%[1]s", "slotsql_s")
}

func (n *slotRows) where(alias string) string {
	var out []string
	for _, k := range n.keys {
		out = append(out, n.ofKey(k, alias))
	}
	return "(" + strings.Join(out, " OR ") + ")"
}

func (n *slotRows) ofKey(key, alias string) string {
	return "(" + strings.ReplaceAll(key, "%[1]s", alias) + " AND " + alias + "." + slotColumn(n.t) + " IN (" +
		strings.Join(n.slots[key], ", ") + "))"
}

// withBase adds their base rows, locked by the drain, to slot rows, if there are any.
// A table of the empty key has one base row; where it has more, each of them takes
// what slots hold, and they stand for one with the sums of all.
func (n *slotRows) withBase(slots string) string {
	t := n.t
	if len(t.Counter.Key) == 0 {
		list := []string{"COUNT(*) AS slotsql_n"}
		for _, c := range t.Counter.Counters {
			list = append(list, "SUM("+quote(c)+") AS "+quote(c))
		}
		return slots + " JOIN (SELECT " + strings.Join(list, ", ") + " FROM " + baseTable(t) + " FOR UPDATE) AS slotsql_b"
	}
	base, on := n.base("slotsql_s")
	return slots + " LEFT JOIN " + base + " ON " + on
}

// base is the base row of a slot row.
func (n *slotRows) base(row string) (table, on string) {
	table = baseTable(n.t) + " AS slotsql_b"
	if u := keyIndex(n.t); u != nil {
		table += " FORCE INDEX (" + indexName(u) + ")"
	}
	return table, same("slotsql_b", n.t.Counter.Key, row, n.t.Counter.SlotKey())
}

// HoldSlots implements dialect.SlotNamer.
func (d *Dialect) HoldSlots(t *schema.Table, rows [][]any) string {
	n, ok := namedRows(t, rows)
	if !ok {
		return ""
	}
	list := keyStrings(t, "slotsql_s", t.Counter.SlotKey())
	var by []string
	for _, k := range t.Counter.SlotKey() {
		by = append(by, "slotsql_s."+quote(k))
	}
	gone, times, groups := "", "", " HAVING COUNT(*) > 0"
	if len(by) > 0 {
		gone, groups = "MAX(slotsql_b."+quote(t.Counter.Key[0])+") IS NULL", " GROUP BY "+strings.Join(by, ", ")
	} else {
		gone, times = "MAX(slotsql_b.slotsql_n) = 0", "MAX(slotsql_b.slotsql_n) * "
	}
	list = append(list, "COUNT(*)", gone)
	for _, c := range t.Counter.Counters {
		sum := "SUM(" + t.Counter.Held(quote, "slotsql_s.", c) + ")"
		list = append(list, sum+" <> 0", "MAX(slotsql_b."+quote(c)+") + "+times+sum)
	}
	source, where := n.source()
	return d.inUTC(t, "SELECT "+strings.Join(list, ", ")+" FROM "+n.withBase(source)+" WHERE "+where+groups+" FOR UPDATE")
}

// MoveSlots implements dialect.SlotNamer.
func (d *Dialect) MoveSlots(t *schema.Table, rows [][]any) string {
	n, ok := namedRows(t, rows)
	if !ok {
		return ""
	}
	source, where := n.source()
	sql := addSlots(t, source, where, n.where("slotsql_l"))
	if t.Triggers.Update { // it may ask for the time: it is to have the session's zone
		return d.unlimitedText(sql)
	}
	return d.inUTC(t, sql)
}

// RemoveSlots implements dialect.SlotNamer.
func (d *Dialect) RemoveSlots(t *schema.Table, rows, held [][]any) string {
	n, ok := namedRows(t, rows)
	if !ok {
		return ""
	}
	k := len(t.Counter.Key)
	source, where := n.source()
	from, row := "DELETE slotsql_s FROM "+n.withBase(source), "slotsql_s"
	alone := !n.listed()
	if alone { // a DELETE of a single table does not read all rows, or those beside them, as soon
		row = quote(t.Counter.SlotTable.Name)
		from, where = "DELETE FROM "+slotTable(t), n.where(row)
	}
	value := func(c string) string {
		if !alone {
			return "slotsql_b." + quote(c)
		}
		base, on := n.base(row)
		return "(SELECT slotsql_b." + quote(c) + " FROM " + base + " WHERE " + on + " LOCK IN SHARE MODE)"
	}
	var moved []string
	for _, h := range held {
		eq, ok := equal(t, row, h[:k])
		if !ok {
			return ""
		}
		if dialect.String(h[k+1]) == "0" {
			for i, c := range t.Counter.Counters {
				some, want := h[k+2+2*i], h[k+3+2*i]
				if some == nil || dialect.String(some) == "0" {
					continue
				}
				if want == nil {
					eq += " AND FALSE" // a NULL has taken nothing
					continue
				}
				if !floatForm.MatchString(dialect.String(want)) {
					return ""
				}
				eq += " AND " + value(c) + " = " + dialect.String(want)
			}
		}
		moved = append(moved, "("+eq+")")
	}
	return d.inUTC(t, from+" WHERE "+where+" AND ("+strings.Join(moved, " OR ")+")")
}

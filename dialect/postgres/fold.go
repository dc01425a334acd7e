package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Lock writes what keeps increments out.
//
// For chosen rows that is the lock of an UPDATE of these rows, FOR NO KEY UPDATE, which conflicts
// with the FOR SHARE of an increment that makes a slot row (rowLock), and not with the FOR KEY SHARE of
// a row that refers to them: where the plain statement would not wait for such a row, the drain
// does not either. A statement that deletes the rows takes FOR UPDATE, and so does its drain,
// and every one in a journal. For all rows it is a lock on the slot table
// that conflicts with writing it, not with reading it. Such a drain goes on to
// the rows, so one of chosen rows must not hold them and then ask to write the
// slot table: its DELETE of nothing asks first (a statement has the locks on all
// its tables before it locks a row).
//
// Under READ COMMITTED the next statement sees what every increment before
// the lock has left. Under REPEATABLE READ and SERIALIZABLE it sees the
// transaction's snapshot: a slot that changed since makes the fold fail with
// 40001, as the plain statement would, but a slot that is new since would go
// unnoticed. See snapshot.go.
func (d *Dialect) Lock(t *schema.Table, scope rewrite.Scope) []string {
	if scope.Where == "" {
		return []string{"LOCK TABLE " + slotTable(t) + " IN SHARE ROW EXCLUSIVE MODE"}
	}
	lock := "SELECT 1 FROM " + scope.Ref + " WHERE (" + scope.Where + ")"
	if len(t.Counter.Key) > 0 {
		lock += " ORDER BY " + keyList(t, scope.Qualifier+".")
	}
	if scope.Removes || t.Counter.Layout == schema.LayoutJournal {
		return []string{asksForSlots(t) + lock + " FOR UPDATE" + askedForSlots}
	}
	return []string{asksForSlots(t) + lock + " FOR NO KEY UPDATE" + askedForSlots}
}

// asksForSlots begins a statement that has the slot table before it locks a row, and before it has
// the base table, as increments do: another client's ALTER TABLE, or one whose drain has locked the slot
// table, waits for the base table. PostgreSQL locks the tables of a statement's own FROM before those of its
// WITH queries if it has the statement prepared, so both are in WITH queries.
func asksForSlots(t *schema.Table) string {
	return "WITH slotsql_w AS (DELETE FROM " + slotTable(t) + " WHERE false), slotsql_l AS ("
}

// askedForSlots ends it.
const askedForSlots = ") SELECT 1 FROM slotsql_l"

// Count returns nothing: a lock on no row is none.
func (*Dialect) Count(*schema.Table, rewrite.Scope) string { return "" }

// Versions returns nothing: a transaction that has a snapshot cannot change a row that is newer.
func (*Dialect) Versions(*schema.Table, rewrite.Scope) *rewrite.VersionSQL { return nil }

// Fold writes one statement that deletes slots, sums them per key and adds the
// sums to the base rows, or fails (conserve.go). Lock comes first.
//
//nolint:funlen // one statement, read from its beginning to its end
func (d *Dialect) Fold(t *schema.Table, scope rewrite.Scope) []string {
	key := t.Counter.Key
	var columns, sums, set, some []string
	all := false // a sum of zero matters, too
	for i, k := range t.Counter.SlotKey() {
		columns = append(columns, as(slotAlias+"."+quote(k), k, key[i]))
		sums = append(sums, quote(key[i]))
	}
	for _, name := range t.Counter.Counters {
		c := quote(name)
		columns = append(columns, as(t.Counter.Held(quote, slotAlias+".", name), t.Counter.Cell(name), name))
		sums = append(sums, "SUM("+c+") AS "+c)
		set = append(set, c+" = "+baseAlias+"."+c+" + slotsql_t."+c)
		some = append(some, "slotsql_t."+c+" <> 0")
		if col := t.Column(name); col != nil && col.Numeric == schema.Decimal && col.Precision == 0 {
			all = true // 5 + 0.00 is written 5.00
		}
	}
	if len(t.Counter.Companions) > 0 {
		columns = append(columns, slotAlias+"."+quote(t.Counter.SlotTable.Column))
	}
	for _, co := range t.Counter.Companions {
		c := quote(co.Column)
		columns = append(columns, slotAlias+"."+c)
		if co.Merge != schema.Latest {
			sums = append(sums, string(co.Merge)+"("+c+") AS "+c)
			set = append(set, c+" = "+extreme(co.Merge)+"("+baseAlias+"."+c+", slotsql_t."+c+")")
			some = append(some, "slotsql_t."+c+" IS NOT NULL")
			continue
		}
		stamp := quote(co.Stamp())
		columns = append(columns, slotAlias+"."+stamp)
		sums = append(
			sums,
			"(pg_catalog.array_agg("+c+" ORDER BY "+stamp+" DESC NULLS LAST, "+quote(t.Counter.SlotTable.Column)+" DESC))[1] AS "+c,
			"pg_catalog.max("+stamp+") AS "+stamp,
		)
		set = append(set, c+" = CASE WHEN slotsql_t."+stamp+" IS NULL THEN "+baseAlias+"."+c+" ELSE slotsql_t."+c+" END")
		some = append(some, "slotsql_t."+stamp+" IS NOT NULL")
	}
	where, group := "", ""
	if scope.Where != "" {
		if len(key) == 0 {
			where = fmt.Sprintf(" WHERE EXISTS (SELECT 1 FROM %s WHERE (%s))", scope.Ref, scope.Where)
		} else {
			where = fmt.Sprintf(" WHERE (%s) IN (SELECT %s FROM %s WHERE (%s))",
				slotKeyList(t, slotAlias+"."), keyList(t, scope.Qualifier+"."), scope.Ref, scope.Where)
		}
	}
	if of := t.Counter.OfTable(quote, slotAlias+"."); of != "" {
		if where == "" {
			where = " WHERE " + of
		} else {
			where += " AND " + of
		}
	}
	if len(key) > 0 {
		group = " GROUP BY " + keyList(t, "")
	}
	if all {
		some = []string{"slotsql_t." + quote(t.Counter.Counters[0]) + " IS NOT NULL"}
	}
	moves := "(" + strings.Join(some, " OR ") + ")"
	touches := "(" + strings.Join(append(some, "slotsql_t.slotsql_apart"), " OR ") + ")"
	columns, sums = append(columns, changedSince(t, slotAlias)+" AS slotsql_apart"), append(sums, "pg_catalog.bool_or(slotsql_apart) AS slotsql_apart")
	whole := ""
	if w := t.Counter.SlotTable.Whole(slotTable(t), ""); w != "" {
		whole = "slotsql_n AS (SELECT " + w + "), "
	}
	returned := taken(t)
	if len(key) > 0 {
		returned = keyList(t, baseAlias+".") + ", " + returned
	}
	update := fmt.Sprintf("UPDATE %s AS %s SET %s FROM slotsql_t, slotsql_o WHERE %s AND %s RETURNING %s",
		qualified(t.Schema, t.Name), baseAlias, strings.Join(set, ", "), matched(t), touches, returned)
	if t.Triggers.UpdateRule {
		update = unchanged(t)
	}
	return []string{
		fmt.Sprintf(
			"WITH "+whole+"slotsql_d AS (DELETE FROM %s AS %s%s RETURNING %s), slotsql_t AS (SELECT %s FROM slotsql_d%s), %s, slotsql_u AS (%s) %s",
			slotTable(t),
			slotAlias,
			where,
			strings.Join(columns, ", "),
			strings.Join(sums, ", "),
			group,
			before(t, touches),
			update,
			moved(t, moves),
		),
	}
}

// unchanged stands for the update of a table with a rewrite rule for UPDATE, which the
// server may refuse as a part of another statement, also where it has no row to change.
// No row is updated, so the statement fails where slots hold something; where they do
// not, the rows are drained.
func unchanged(t *schema.Table) string {
	list := "CAST(NULL AS boolean) AS slotsql_in"
	if len(t.Counter.Key) > 0 {
		list = keyList(t, baseAlias+".") + ", " + list
	}
	return "SELECT " + list + " FROM " + qualified(t.Schema, t.Name) + " AS " + baseAlias + " WHERE false"
}

package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Aliases of slotsql's own statements. A table reference of the application
// only ever stands beside them in a scope of its own.
const (
	slotAlias = "slotsql_s"
	baseAlias = "slotsql_b"
)

// Increment writes INSERT ... SELECT ... FOR SHARE ... ON CONFLICT DO UPDATE, or in a journal
// FOR KEY SHARE (rowLock).
//
// FOR SHARE lets other increments pass, and rows that refer to the row. It conflicts with every
// update of the row, with a DELETE, and with the lock of a drain: the increment that got the lock
// counts before them, and one that had to wait after them, where a row is left. Of FOR KEY
// SHARE an increment has to be certain; one that is not affects no row, and its form with FOR
// SHARE follows. The base row is locked before an unlocked slot row is looked for, and locked:
// the other way round a statement that has the slot row and waits for the base row would meet a
// drain that has the base row and waits for the slot row.
//
//nolint:funlen // one statement, read from its beginning to its end
func (d *Dialect) Increment(t *schema.Table, in rewrite.IncrementSQL) string {
	if t.Counter.Layout == schema.LayoutShared {
		return incrementShared(t, in)
	}
	var into, values, guards, set, within []string
	for _, k := range t.Counter.Key {
		into = append(into, quote(k))
		values = append(values, lockedAlias+"."+quote(k))
	}
	into = append(into, quote(t.Counter.SlotTable.Column))
	conflict := strings.Join(into, ", ")
	values = append(values, "CAST("+slotChoice(t, in)+" AS "+numberType(t)+")")
	if t.Counter.Single() {
		guards = append(guards, oneRow(t), newSnapshot)
	}
	for _, dl := range in.Deltas {
		col, c := t.Column(dl.Column), quote(dl.Column)
		delta := "CAST(" + dl.SQL + " AS " + col.Type + ")"
		into = append(into, c)
		values = append(values, delta)
		sum := slotAlias + "." + c + " + excluded." + c
		set = append(set, c+" = "+sum)

		guards = append(guards, baseGuard(t, in.Qualifier, dl.Column))
		_, slotBound := bounds(col, t.Counter)
		if slotBound == "" {
			continue
		}
		guards = append(guards, between(delta, slotBound))
		within = append(within, between(sum, slotBound))
		if col.Numeric == schema.Decimal {
			// The column rounds the sum, not the delta: the same only for a
			// delta that needs no rounding.
			guards = append(guards, "CAST("+dl.SQL+" AS numeric) = "+delta)
		}
	}
	for _, co := range in.Companions {
		c := quote(co.Column)
		into, values = append(into, c), append(values, co.SQL)
		switch co.Merge {
		case schema.Latest:
			stamp := quote(co.Stamp())
			into, values = append(into, stamp), append(values, stampNow)
			set = append(set, c+" = excluded."+c, stamp+" = "+later(slotAlias+"."+stamp, "excluded."+stamp))
		default:
			set = append(set, c+" = "+extreme(co.Merge)+"("+slotAlias+"."+c+", excluded."+c+")")
			if t.Column(co.Column).Nullable {
				guards = append(guards, in.Qualifier+"."+c+" IS NOT NULL")
			}
		}
		if co.NotNull {
			guards = append(guards, "CAST("+co.SQL+" AS "+t.Column(co.Column).Type+") IS NOT NULL")
		}
	}
	guards = append(guards, mayWrite(t, deltaColumns(in.Deltas), in.Companions, in.Inserts))
	source, holds := lockedRow(t, in, guards)
	s := fmt.Sprintf("INSERT INTO %s AS %s (%s) SELECT %s FROM %s WHERE %s ON CONFLICT (%s) DO UPDATE SET %s",
		slotTable(t), slotAlias, strings.Join(into, ", "), strings.Join(values, ", "), source, holds, conflict, strings.Join(set, ", "))
	if len(within) > 0 {
		s += " WHERE " + strings.Join(within, " AND ")
	}
	return s
}

// oneRow is the condition that a table of the empty key has one row. An INSERT drains the
// table first, which excludes increments by a lock on the slot table: the
// statement's snapshot is taken when it has that lock too, and so has the new
// row.
func oneRow(t *schema.Table) string {
	return "(SELECT COUNT(*) FROM " + qualified(t.Schema, t.Name) + ") = 1"
}

// newSnapshot reports whether each statement of the transaction has a snapshot of its own. A
// transaction that keeps one snapshot must not make a slot row of the empty key: there may be
// another base row since, which it does not see, and the lock need not tell it. To a slot
// row that it sees it may add: who inserts has deleted that, so that the UPDATE then fails with
// 40001.
const newSnapshot = "pg_catalog.current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')"

// slotChoice is the slot that an increment takes: with PlacementSkipLocked one that no session
// has locked, and the given one only when there is none.
func slotChoice(t *schema.Table, in rewrite.IncrementSQL) string {
	if t.Counter.Options.Placement != schema.PlacementSkipLocked {
		return in.Slot
	}
	const alias = "slotsql_l"
	where := fmt.Sprintf(" WHERE %s.%s < %d", alias, quote(t.Counter.SlotTable.Column), t.Counter.Slots) // see bounds
	if on := slotEquals(t, alias, lockedAlias, in.Deltas[0].Column); on != "" {
		where += " AND " + on
	}
	return "COALESCE((SELECT " + alias + "." + quote(t.Counter.SlotTable.Column) + " FROM " + slotTable(t) + " AS " + alias + where +
		" LIMIT 1 FOR UPDATE SKIP LOCKED), " + in.Slot + ")"
}

func between(expr, bound string) string { return expr + " BETWEEN -" + bound + " AND " + bound }

// Total writes base value + SUM(slots) in the column's own type, if the row has slots: looking for one is faster than
// starting a sum. PostgreSQL plans EXISTS in two ways, as an index lookup for each row or as one hash of all keys: a total
// may be compared for very many rows. For few rows it still chooses the hash too often, so a total that is only
// selected asks a scalar subquery, which is never hashed. Its ORDER BY is the primary key's: without it PostgreSQL would scan
// a slot table that it takes for small, and that of a hot row is full of dead tuples.
func (d *Dialect) Total(t *schema.Table, qualifier, column string, comparable bool) string {
	if co := t.Companion(column); co != nil {
		return merged(t, co, qualifier)
	}
	base := qualifier + "." + quote(column)
	where := ""
	if on := slotEquals(t, slotAlias, qualifier, column); on != "" {
		where = " WHERE " + on
	}
	slots := slotTable(t) + " " + slotAlias + where
	sum := fmt.Sprintf("%s + (SELECT SUM(%s.%s) FROM %s)", base, slotAlias, quote(t.Counter.Cell(column)), slots)
	typ := valueType(t.Column(column))
	total := fmt.Sprintf("CAST(COALESCE(%s, %s) AS %s)", sum, base, typ)
	switch {
	case where == "":
		return total
	case comparable:
		return fmt.Sprintf("CASE WHEN EXISTS (SELECT 1 FROM %s) THEN %s ELSE %s END", slots, total, base)
	}
	first := fmt.Sprintf("(SELECT TRUE FROM %s ORDER BY %s.%s LIMIT 1)", slots, slotAlias, quote(t.Counter.SlotTable.Column))
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", first, total, base)
}

// slotTable is the slot table's full name.
func slotTable(t *schema.Table) string {
	schema := t.Counter.SlotTable.Schema
	if schema == "" {
		schema = t.Schema
	}
	return qualified(schema, t.Counter.SlotTable.Name)
}

func qualified(schema, table string) string {
	if schema == "" {
		return quote(table)
	}
	return quote(schema) + "." + quote(table)
}

// slotEquals is the condition that a slot row is the base row's, and holds one of the
// counters; empty for a table without key.
func slotEquals(t *schema.Table, slots, base string, counters ...string) string {
	var on []string
	if of := t.Counter.OfCounters(quote, slots+".", counters...); of != "" {
		on = append(on, of)
	}
	for i, k := range t.Counter.SlotKey() {
		on = append(on, slots+"."+quote(k)+" = "+base+"."+quote(t.Counter.Key[i]))
	}
	return strings.Join(on, " AND ")
}

// slotKeyList is the columns of a slot row that hold the key, each behind the
// prefix.
func slotKeyList(t *schema.Table, prefix string) string {
	var out []string
	for _, k := range t.Counter.SlotKey() {
		out = append(out, prefix+quote(k))
	}
	return strings.Join(out, ", ")
}

// keyEquals compares the keys of two rows; empty for a table without key.
func keyEquals(t *schema.Table, left, right string) string {
	var on []string
	for _, k := range t.Counter.Key {
		on = append(on, left+"."+quote(k)+" = "+right+"."+quote(k))
	}
	return strings.Join(on, " AND ")
}

// keyList is the key's columns, each behind the prefix.
func keyList(t *schema.Table, prefix string) string {
	var out []string
	for _, k := range t.Counter.Key {
		out = append(out, prefix+quote(k))
	}
	return strings.Join(out, ", ")
}

// valueType is the type of a column's values: a function may be of the domain, and
// a table that is made of a query has it.
func valueType(c *schema.Column) string {
	if c.Domain != "" {
		return c.Domain
	}
	return c.Type
}

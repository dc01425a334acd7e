package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// Aliases of slotsql's own statements. A table reference of the application
// only ever stands beside them in a scope of its own.
const (
	slotAlias = "slotsql_s"
	baseAlias = "slotsql_b"
)

// Increment writes INSERT ... SELECT ... FOR KEY SHARE ... ON CONFLICT DO
// UPDATE.
//
// FOR KEY SHARE is the weakest row lock (rowLock says when it is another). It lets other increments and
// ordinary updates of the row pass, and conflicts with FOR UPDATE only, which
// a drain takes, and with a DELETE or a change of the key: the increment that
// got the lock counts before them, the one that waited for it sees what they
// left, and affects no row where there is none.
//
//nolint:funlen // one statement, read from its beginning to its end
func (d *Dialect) Increment(t *rewrite.Table, in rewrite.IncrementText) string {
	if t.Counter.Layout == rewrite.LayoutShared {
		return incrementShared(t, in)
	}
	var into, values, guards, set, within []string
	for _, k := range t.Counter.Key {
		into = append(into, quote(k))
		values = append(values, in.Qualifier+"."+quote(k))
	}
	into = append(into, quote(t.Counter.SlotColumn))
	conflict := strings.Join(into, ", ")
	values = append(values, "CAST("+slotChoice(t, in)+" AS "+numberType(t)+")")
	if t.Counter.Single() {
		guards = append(guards, oneRow(t), newSnapshot)
	}
	for _, dl := range in.Deltas {
		col, c := t.Column(dl.Column), quote(dl.Column)
		delta := "CAST(" + dl.Text + " AS " + col.Type + ")"
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
		if col.Numeric == rewrite.Decimal {
			// The column rounds the sum, not the delta: the same only for a
			// delta that needs no rounding.
			guards = append(guards, "CAST("+dl.Text+" AS numeric) = "+delta)
		}
	}
	for _, co := range in.Companions {
		c := quote(co.Column)
		into, values = append(into, c), append(values, co.Text)
		switch co.Merge {
		case rewrite.Latest:
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
			guards = append(guards, "CAST("+co.Text+" AS "+t.Column(co.Column).Type+") IS NOT NULL")
		}
	}
	guards = append(guards, mayWrite(t, deltaColumns(in.Deltas), in.Companions, in.Inserts))
	from := in.Ref + " WHERE (" + in.Where + ") AND " + strings.Join(guards, " AND ") + " " + rowLock(in)
	if t.Counter.Placement == rewrite.PlacementSkipLocked {
		values, from = lockedFirst(t, in, into, values, from)
	}
	s := fmt.Sprintf("INSERT INTO %s AS %s (%s) SELECT %s FROM %s ON CONFLICT (%s) DO UPDATE SET %s",
		slotTable(t), slotAlias, strings.Join(into, ", "), strings.Join(values, ", "), from, conflict, strings.Join(set, ", "))
	if len(within) > 0 {
		s += " WHERE " + strings.Join(within, " AND ")
	}
	return s
}

// rowLock is the lock on the base row. A predicate on other columns than the key
// holds when the increment is committed, as with the plain UPDATE, only if no other session
// can change them before: FOR SHARE keeps out every UPDATE of the row, and lets
// other increments pass.
func rowLock(in rewrite.IncrementText) string {
	if in.Holds {
		return "FOR SHARE"
	}
	return "FOR KEY SHARE"
}

// lockedFirst puts what is selected from the base row into a query of its own, so that
// the row is locked before an unlocked slot row is looked for, and locked: the
// other way round, a statement that has the slot row and waits for the base row
// would meet a drain that has the base row and waits for the slot row.
func lockedFirst(t *rewrite.Table, in rewrite.IncrementText, into, values []string, from string) (outer []string, source string) {
	const locked = "slotsql_q"
	slot := len(t.Counter.Key)
	inner := make([]string, 0, len(into))
	for i, c := range into {
		if i == slot {
			inOuter := in
			inOuter.Qualifier = locked
			outer = append(outer, "CAST("+slotChoice(t, inOuter)+" AS "+numberType(t)+")")
			continue
		}
		inner = append(inner, values[i]+" AS "+c)
		outer = append(outer, locked+"."+c)
	}
	return outer, "(SELECT " + strings.Join(inner, ", ") + " FROM " + from + ") AS " + locked
}

// oneRow says that a table of the empty key has one row. An INSERT drains the
// table first, which excludes increments by a lock on the slot table: the
// statement's snapshot is taken when it has that lock too, and so has the new
// row.
func oneRow(t *rewrite.Table) string {
	return "(SELECT COUNT(*) FROM " + qualified(t.Schema, t.Name) + ") = 1"
}

// newSnapshot keeps a transaction that has a snapshot of its own from making a
// slot row of the empty key: there may be another base row since, which it does
// not see, and FOR KEY SHARE does not tell it. To a slot row that it sees it may
// add: who inserts has deleted that, so that the UPDATE then fails with 40001.
const newSnapshot = "pg_catalog.current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')"

// slotChoice is the slot that an increment takes: with SkipLocked one that no session
// has locked, and the given one only when there is none.
func slotChoice(t *rewrite.Table, in rewrite.IncrementText) string {
	if t.Counter.Placement != rewrite.PlacementSkipLocked {
		return in.Slot
	}
	const alias = "slotsql_l"
	where := fmt.Sprintf(" WHERE %s.%s < %d", alias, quote(t.Counter.SlotColumn), t.Counter.Slots) // see bounds
	if on := slotEquals(t, alias, in.Qualifier, in.Deltas[0].Column); on != "" {
		where += " AND " + on
	}
	return "COALESCE((SELECT " + alias + "." + quote(t.Counter.SlotColumn) + " FROM " + slotTable(t) + " AS " + alias + where +
		" LIMIT 1 FOR UPDATE SKIP LOCKED), " + in.Slot + ")"
}

func between(expr, bound string) string { return expr + " BETWEEN -" + bound + " AND " + bound }

// Total writes base value + SUM(slots) in the column's own type.
func (d *Dialect) Total(t *rewrite.Table, qualifier, column string, _ bool) string {
	if co := t.Companion(column); co != nil {
		return merged(t, co, qualifier)
	}
	c := quote(t.Counter.Cell(column))
	base := qualifier + "." + quote(column)
	where := ""
	if on := slotEquals(t, slotAlias, qualifier, column); on != "" {
		where = " WHERE " + on
	}
	return fmt.Sprintf("CAST(COALESCE(%s + (SELECT SUM(%s.%s) FROM %s %s%s), %s) AS %s)",
		base, slotAlias, c, slotTable(t), slotAlias, where, base, valueType(t.Column(column)))
}

// TotalOf writes base value + sum in the column's own type.
func (d *Dialect) TotalOf(t *rewrite.Table, qualifier, column, sum string) string {
	return fmt.Sprintf("CAST(%s.%s + %s AS %s)", qualifier, quote(column), sum, valueType(t.Column(column)))
}

// slotTable is the slot table's full name.
func slotTable(t *rewrite.Table) string {
	schema := t.Counter.SlotSchema
	if schema == "" {
		schema = t.Schema
	}
	return qualified(schema, t.Counter.SlotTable)
}

func qualified(schema, table string) string {
	if schema == "" {
		return quote(table)
	}
	return quote(schema) + "." + quote(table)
}

// slotEquals says that a slot row is the base row's, and holds one of the
// counters; empty for a table without key.
func slotEquals(t *rewrite.Table, slots, base string, counters ...string) string {
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
func slotKeyList(t *rewrite.Table, prefix string) string {
	var out []string
	for _, k := range t.Counter.SlotKey() {
		out = append(out, prefix+quote(k))
	}
	return strings.Join(out, ", ")
}

// keyEquals compares the keys of two rows; empty for a table without key.
func keyEquals(t *rewrite.Table, left, right string) string {
	var on []string
	for _, k := range t.Counter.Key {
		on = append(on, left+"."+quote(k)+" = "+right+"."+quote(k))
	}
	return strings.Join(on, " AND ")
}

// keyList is the key's columns, each behind the prefix.
func keyList(t *rewrite.Table, prefix string) string {
	var out []string
	for _, k := range t.Counter.Key {
		out = append(out, prefix+quote(k))
	}
	return strings.Join(out, ", ")
}

// valueType is the type of a column's values: a function may be of the domain, and
// a table that is made of a query has it.
func valueType(c *rewrite.Column) string {
	if c.Domain != "" {
		return c.Domain
	}
	return c.Type
}

package sqlite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Names that slotsql's own statements use for the slot table and the base table.
const (
	slotAlias = "slotsql_s"
	baseAlias = "slotsql_b"
)

// maxSlots is the largest number of slots per key that a configuration allows.
const maxSlots = 4096

// slotTable writes the qualified name of t's slot table.
func slotTable(t *schema.Table) string {
	schema := t.Counter.SlotTable.Schema
	if schema == "" {
		schema = schemaOf(t)
	}
	return quote(schema) + "." + quote(t.Counter.SlotTable.Name)
}

// baseTable writes the qualified name of t.
func baseTable(t *schema.Table) string { return quote(schemaOf(t)) + "." + quote(t.Name) }

func schemaOf(t *schema.Table) string {
	if t.Schema == "" {
		return "main"
	}
	return t.Schema
}

// columns writes names qualified by q, or bare when q is empty.
func columns(q string, names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
		if q != "" {
			out[i] = q + "." + out[i]
		}
	}
	return out
}

func list(parts []string) string { return strings.Join(parts, ", ") }

// match writes the comparison of the key columns of two relations. The left
// side's collation decides, and both sides have the base column's.
func match(left, right string, key []string) string { return matchTo(left, key, right, key) }

func matchTo(left string, lk []string, right string, rk []string) string {
	l, r := columns(left, lk...), columns(right, rk...)
	for i := range l {
		l[i] += " = " + r[i]
	}
	return strings.Join(l, " AND ")
}

// slotsOf writes `FROM slots AS slotsql_s WHERE <key of the row q>`, of some
// counters.
func slotsOf(t *schema.Table, q string, counters ...string) string {
	from := "FROM " + slotTable(t) + " AS " + slotAlias
	if len(t.Counter.Key) == 0 {
		return from
	}
	return from + " WHERE " +
		and(t.Counter.OfCounters(quote, slotAlias+".", counters...), matchTo(slotAlias, t.Counter.SlotKey(), q, t.Counter.Key))
}

// and joins two conditions, the first of which may be empty.
func and(first, second string) string {
	if first == "" {
		return second
	}
	return first + " AND " + second
}

// ofTable reports whether a row of the alias holds slots of t.
func ofTable(t *schema.Table, alias string) string {
	if of := t.Counter.OfTable(quote, alias+"."); of != "" {
		return of
	}
	return "TRUE"
}

// nonZero writes that some counter of the slot row q is not zero.
func nonZero(t *schema.Table, q string) string {
	return strings.Join(t.Counter.Filled(quote, q+".", nil), " OR ")
}

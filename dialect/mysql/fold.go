package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.LockingDialect = (*Dialect)(nil)

// Lock writes the statement that takes the exclusive lock on the clustered
// record of each covered base row. InnoDB always locks the clustered record
// for FOR UPDATE, whatever index it reads; a sum, unlike COUNT(*), is never
// answered without reading the rows.
//
// It also asks for the columns of the slot table, which from then on cannot
// change until the transaction ends.
func (d *Dialect) Lock(t *schema.Table, s rewrite.Scope) []string {
	sum := "SELECT SUM(1)"
	if whole := wholeToWrite(t); whole != "" {
		sum += ", " + whole
	}
	if s.Where == "" && len(t.Counter.Key) > 0 {
		all := strings.Replace(sum, "SUM(1)", "SUM(1), "+here+", "+d.level(), 1)
		return d.unlimited([]string{all + " FROM " + baseTable(t) + clusteredHint(t) + " FOR UPDATE"})
	}
	if list := d.LockColumns(t, s); list != nil {
		from := s.Ref + " WHERE (" + s.Where + ")"
		if s.Where == "" {
			from = baseTable(t) + clusteredHint(t)
		}
		return d.unlimited([]string{"SELECT " + strings.Join(list, ", ") + " FROM " + from + " FOR UPDATE"})
	}
	return d.unlimited([]string{sum + " FROM " + s.Ref + " WHERE (" + s.Where + ") FOR UPDATE"})
}

// LockColumns implements rewrite.LockingDialect.
func (d *Dialect) LockColumns(t *schema.Table, s rewrite.Scope) []string {
	if !d.Nameable(t) {
		return nil
	}
	list := append([]string{"1", here, d.level()}, keyStrings(t, s.Qualifier, t.Counter.Key)...)
	if whole := wholeToWrite(t); whole != "" {
		list = append(list, whole)
	}
	return list
}

// wholeToWrite is the question for the slot table's columns, asked as who is
// about to write it: with the metadata lock of a reader the transaction would have
// to ask for a writer's later on, and with an ALTER TABLE that waits for it in between
// it would be chosen as a deadlock victim.
func wholeToWrite(t *schema.Table) string {
	return t.Counter.SlotTable.Whole(slotTable(t), " FOR UPDATE")
}

// Count counts: FOR UPDATE of a row that is not there locks the gap it would be
// in, which many may do at once, and which then keeps each of them from
// inserting.
func (d *Dialect) Count(t *schema.Table, s rewrite.Scope) string {
	return d.unlimitedText("SELECT COUNT(*) FROM " + s.Ref + " WHERE (" + s.Where + ")")
}

// Fold writes nothing: a drain names the slot rows that it moves (named.go).
func (*Dialect) Fold(*schema.Table, rewrite.Scope) []string { return nil }

// addSlots writes the statement that adds slot rows to their base rows: those of a
// source that a condition selects. Newest selects them once more, as slotsql_l.
func addSlots(t *schema.Table, source, these, newest string) string {
	key := t.Counter.Key
	var sums, set, nonzero []string
	for i, c := range t.Counter.Counters {
		sums = append(sums, fmt.Sprintf("SUM(%s) AS c%d", t.Counter.Held(quote, "slotsql_s.", c), i+1))
		set = append(set, fmt.Sprintf("slotsql_b.%s = slotsql_b.%s + slotsql_f.c%d", quote(c), quote(c), i+1))
		nonzero = append(nonzero, fmt.Sprintf("slotsql_f.c%d <> 0", i+1))
	}
	for i := range t.Counter.Companions {
		co := &t.Counter.Companions[i]
		c, b := quote(co.Column), "slotsql_b."+quote(co.Column)
		if co.Merge != schema.Latest {
			sums = append(sums, fmt.Sprintf("%s(slotsql_s.%s) AS m%d", co.Merge, c, i+1))
			set = append(set, fmt.Sprintf("%s = COALESCE(%s(%s, slotsql_f.m%d), %s)", b, extreme(co.Merge), b, i+1, b))
			nonzero = append(nonzero, fmt.Sprintf("slotsql_f.m%d IS NOT NULL", i+1))
			continue
		}
		sums = append(sums, fmt.Sprintf("MAX(slotsql_s.%s) AS m%d", quote(co.Stamp()), i+1))
		latest := fmt.Sprintf("SELECT slotsql_l.%s FROM %s AS slotsql_l WHERE %s AND slotsql_l.%s IS NOT NULL",
			c, slotTable(t), newest, quote(co.Stamp()))
		if len(key) > 0 {
			latest += " AND " + sameAs("slotsql_l", key, "slotsql_f")
		}
		set = append(
			set,
			fmt.Sprintf("%s = IF(slotsql_f.m%d IS NULL, %s, (%s%s LIMIT 1))", b, i+1, b, latest, latestFirst(t, co, "slotsql_l")),
		)
		nonzero = append(nonzero, fmt.Sprintf("slotsql_f.m%d IS NOT NULL", i+1))
	}
	for _, c := range t.Columns {
		if c.OnUpdate && t.Companion(c.Name) == nil { // would be set to the current time otherwise
			set = append(set, "slotsql_b."+quote(c.Name)+" = slotsql_b."+quote(c.Name))
		}
	}
	var keys, group []string
	for i, k := range t.Counter.SlotKey() {
		keys = append(keys, fmt.Sprintf("slotsql_s.%s AS k%d", quote(k), i+1))
		group = append(group, "slotsql_s."+quote(k))
	}
	derived := "SELECT " + strings.Join(append(keys, sums...), ", ") + " FROM " + source + " WHERE " + these
	if len(group) > 0 {
		derived += " GROUP BY " + strings.Join(group, ", ")
	}
	base := baseTable(t) + " AS slotsql_b"
	if len(key) > 0 {
		if u := keyIndex(t); u != nil {
			base += " FORCE INDEX (" + indexName(u) + ")"
		}
		base += " ON " + sameAs("slotsql_b", key, "slotsql_f")
	}
	return "UPDATE (" + derived + ") AS slotsql_f STRAIGHT_JOIN " + base +
		" SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(nonzero, " OR ")

}

// sameAs writes a.key1 = b.k1 AND ... .
func sameAs(a string, key []string, b string) string {
	out := make([]string, len(key))
	for i, k := range key {
		out[i] = fmt.Sprintf("%s.%s = %s.k%d", a, quote(k), b, i+1)
	}
	return strings.Join(out, " AND ")
}

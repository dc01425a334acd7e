package postgres

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Add writes the update of one slot row. A drain deletes the slot rows of the keys it covers. It waits for one
// that this update has locked, and this update does not find one that it has deleted. So nothing slips past a
// drain, though no lock is taken on the base row, and no MultiXact made for it. The lock of
// in.Locks is for the order only, so it need not be certain, as that of a journal (rowlock.go).
func (d *Dialect) Add(t *schema.Table, in rewrite.AddSQL) string {
	if t.Counter.Layout == schema.LayoutShared && len(in.Deltas) > 1 {
		return ""
	}
	var set []string
	where := t.Counter.SlotRow(quote, in.Deltas[0].Column, in.Key, in.Slot)
	for _, dl := range in.Deltas {
		col, c := t.Column(dl.Column), quote(t.Counter.Cell(dl.Column))
		delta := "CAST(" + dl.SQL + " AS " + col.Type + ")"
		set = append(set, c+" = "+c+" + "+delta)
		if _, slotBound := bounds(col, t.Counter); slotBound != "" {
			where = append(where, between(c+" + "+delta, slotBound))
			if col.Numeric == schema.Decimal {
				where = append(where, "CAST("+dl.SQL+" AS numeric) = "+delta)
			}
		}
	}
	for _, co := range in.Companions {
		set = append(set, quote(co.Column)+" = "+co.SQL, quote(co.Stamp())+" = "+later(quote(co.Stamp()), stampNow))
		if co.NotNull {
			where = append(where, "CAST("+co.SQL+" AS "+t.Column(co.Column).Type+") IS NOT NULL")
		}
	}
	if in.CheckBase {
		// The slot row and the base row are those of one snapshot: a drain that
		// has set the base value since has deleted the slot row, which this
		// update then does not find, or, at the higher levels, is refused for.
		base := []string{}
		for i, k := range t.Counter.Key {
			base = append(base, baseAlias+"."+quote(k)+" = "+in.Key[i])
		}
		for _, dl := range in.Deltas {
			base = append(base, baseGuard(t, baseAlias, dl.Column))
		}
		where = append(
			where,
			"EXISTS (SELECT 1 FROM "+qualified(t.Schema, t.Name)+" AS "+baseAlias+" WHERE "+strings.Join(base, " AND ")+")",
		)
	}
	where = append(where, mayCount(t, deltaColumns(in.Deltas), in.Companions, in.Inserts))
	from := ""
	if in.Locks {
		// The row that is joined is locked before the update gets to see it.
		var key []string
		for i, k := range t.Counter.Key {
			key = append(key, baseAlias+"."+quote(k)+" = "+in.Key[i])
		}
		from = " FROM (SELECT 1 AS slotsql_one FROM " + qualified(t.Schema, t.Name) + " AS " + baseAlias
		if len(key) > 0 {
			from += " WHERE " + strings.Join(key, " AND ")
		}
		from += " FOR KEY SHARE) AS slotsql_locked"
	}
	return "UPDATE " + slotTable(t) + " SET " + strings.Join(set, ", ") + from + " WHERE " + strings.Join(where, " AND ")
}

// baseGuard reports whether a base value may have slots.
func baseGuard(t *schema.Table, qualifier, column string) string {
	base := qualifier + "." + quote(column)
	bound, _ := bounds(t.Column(column), t.Counter)
	if bound == "" {
		return base + " IS NOT NULL"
	}
	return between(base, bound)
}

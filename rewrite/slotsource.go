package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// SlotSource writes what stands in FROM for the slots of some counters of a
// table: rows of the base key and of the counters, under the base table's names.
func SlotSource(d Dialect, t *schema.Table, counters ...string) string {
	c := t.Counter
	ref := d.Quote(c.SlotTable.Name)
	if c.SlotTable.Schema != "" {
		ref = d.Quote(c.SlotTable.Schema) + "." + ref
	}
	if c.Layout != schema.LayoutShared {
		return ref
	}
	list := []string{d.Quote(c.Shared.ID) + " AS " + d.Quote(c.Key[0])}
	for _, name := range counters {
		held := d.Quote(c.Shared.Count)
		if len(counters) > 1 {
			held = c.Held(d.Quote, "", name)
		}
		list = append(list, held+" AS "+d.Quote(name))
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + ref + " WHERE " + c.OfCounters(d.Quote, "", counters...) + ")"
}

// SlotNumbers writes what stands in FROM for all slots of a table: rows of the
// base key, under the base table's names, and of the slot's number, under the
// name that it returns, quoted.
func SlotNumbers(d Dialect, t *schema.Table) (source, number string) {
	c := t.Counter
	if c.Layout != schema.LayoutShared {
		return SlotSource(d, t), d.Quote(c.SlotTable.Column)
	}
	ref := d.Quote(c.SlotTable.Name)
	if c.SlotTable.Schema != "" {
		ref = d.Quote(c.SlotTable.Schema) + "." + ref
	}
	return "(SELECT " + d.Quote(c.Shared.ID) + " AS " + d.Quote(c.Key[0]) + ", " + d.Quote(c.SlotTable.Column) + " AS slotsql_n FROM " + ref +
		" WHERE " + c.OfTable(d.Quote, "") + ")", "slotsql_n"
}

// FullSlots writes a query for a slot row of the table that holds something; a
// lock may follow.
func FullSlots(d Dialect, t *schema.Table) string {
	c := t.Counter
	ref := d.Quote(c.SlotTable.Name)
	if c.SlotTable.Schema != "" {
		ref = d.Quote(c.SlotTable.Schema) + "." + ref
	}
	var some []string
	for _, cell := range c.Cells() {
		some = append(some, d.Quote(cell)+" <> 0")
	}
	for i := range c.Companions {
		some = append(some, d.Quote(c.Companions[i].Column)+" IS NOT NULL")
	}
	where := "(" + strings.Join(some, " OR ") + ")"
	if of := c.OfTable(d.Quote, ""); of != "" {
		where = of + " AND " + where
	}
	return "SELECT 1 FROM " + ref + " WHERE " + where + " LIMIT 1"
}

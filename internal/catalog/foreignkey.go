package catalog

import (
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Whether the database deletes the slots of a deleted row is a fact about the slot table, whatever
// the configuration says: its foreign key to the base table may have been left out when it was
// created, or dropped since. Without one, more statements drain.

// learnSlots notes in t, a table with its Counter set, what the existing slot table shows: whether
// it refers to the table, how wide its slot numbers are, and which counters it has that the
// configuration does not name.
func (c *Catalog) learnSlots(t, slots *schema.Table) {
	if slots == nil {
		return
	}
	learnPassive(t, slots)
	c.noteMisfits(t, slots)
	if k, ok := c.Dialect.(dialect.TriggerKeeper); ok {
		t.Counter.SlotTable.Untended = len(k.MissingTriggers(t)) > 0
	}
	if t.Counter.Layout != schema.LayoutShared {
		number, _ := FindColumn(slots, t.Counter.SlotTable.Column)
		t.Counter.SlotTable.Wide = number != nil && number.Bits >= 64
		t.Counter.SlotTable.Width = len(slots.Columns)
	}
	if len(t.Counter.Key) == 0 {
		return
	}
	if t.Counter.Layout == schema.LayoutShared {
		c.CheckSlots(t, slots) // for what it notes of the table
	}
	t.Counter.SlotTable.NoForeignKey = !slices.ContainsFunc(slots.ForeignKeys.Parents, func(p schema.Parent) bool { return c.ties(t, &p) })
}

// ties reports whether a foreign key of a slot table makes the database delete the slots of a row
// of t together with the row.
func (c *Catalog) ties(t *schema.Table, p *schema.Parent) bool {
	d := c.Dialect
	name := func(written, stored string) bool {
		return d.SameTable(ast.Ident{Name: written, Quoted: true}, stored)
	}
	column := func(written, stored string) bool {
		return d.SameColumn(ast.Ident{Name: written, Quoted: true}, stored)
	}
	if !p.Cascades || !name(p.Name, t.Name) || !name(p.Schema, t.Schema) || len(p.Columns) != len(t.Counter.Key) {
		return false
	}
	for _, k := range t.Counter.Key {
		if !slices.ContainsFunc(p.Columns, func(written string) bool { return column(written, k) }) {
			return false
		}
	}
	for i, referenced := range p.References { // each slot column refers to the key column of its own name
		if referenced != "" && !column(p.Columns[i], referenced) { // "": the primary key (SQLite)
			return false
		}
	}
	return true
}

// DeletedInside returns how rows of a table whose slots nothing deletes may be deleted, or get
// other keys, without slotsql: through a foreign key of the table, which the database follows by
// itself. One sentence each.
func DeletedInside(t *schema.Table) (out []string) {
	for _, p := range t.ForeignKeys.Parents {
		switch {
		case p.Cascades:
			out = append(out, fmt.Sprintf("rows are deleted with those of %s (ON DELETE CASCADE)", p.Name))
		case p.Rekeys && slices.ContainsFunc(p.Columns, t.ChangesKey):
			out = append(out, fmt.Sprintf("keys follow those of %s (ON UPDATE CASCADE)", p.Name))
		}
	}
	return out
}

// LeavesSlots reports whether nothing in the database deletes the slots of a row.
func (c *Catalog) LeavesSlots(t *schema.Table) bool {
	slots := &t.Counter.SlotTable
	return slots.NoForeignKey && (t.Counter.Layout == schema.LayoutShared || !c.Traits.SlotTriggers || slots.Untended)
}

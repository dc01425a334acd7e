package session

import (
	"math/rand/v2"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// place finds the slot for an increment on this connection.
func (r *Run) place() slots.Place {
	c, n := r.conn, r.Plan.Increment.Table.Counter.Slots
	if r.Plan.Increment.Table.Counter.Layout == rewrite.LayoutJournal {
		return slots.Place{SlotRow: slots.SlotRow{Slot: c.Shared.placement.Journal.Next()}, Ordinal: -1}
	}
	picker := r.picker()
	row, keyed := r.rowKey()
	p := slots.Place{SlotRow: slots.SlotRow{Row: row}, Keyed: keyed, Ordinal: -1}
	switch {
	case !keyed && !picker.Shares():
		// The row is not known. A slot of this connection's own, from the last
		// one down.
		p.Slot = picker.Range.Slot(n-1-c.slot%n, n)
	case c.Tx.KeepsLocks() && keyed && !picker.Shares():
		i, held := c.held[row]
		if !held {
			if i = picker.Placement.Take(row, n); i < 0 {
				i = rand.IntN(n)
			} else {
				c.hold(row, i)
			}
		}
		p.Slot = picker.Range.Slot(i, n)
	default:
		p.Slot, p.Ordinal = picker.Pick(row)
	}
	return p
}

func (r *Run) picker() slots.Picker { return r.pickerOf(r.Plan.Increment.Table.Counter) }

func (r *Run) pickerOf(c *rewrite.Counter) slots.Picker {
	s := r.conn.Shared
	random := c.Options.Placement == rewrite.PlacementRandom || c.Options.Placement == rewrite.PlacementSkipLocked && !s.Traits.MissLocks
	return slots.Picker{Placement: s.placement, Range: r.conn.node.Range, Slots: c.Slots, One: s.Traits.OneWriter, Random: random}
}

// rowKey names the row of this execution; false when the increment is not by
// the slots' own key, or for a value of a type whose equality is not plain.
func (r *Run) rowKey() (slots.RowKey, bool) {
	return r.rowOf(r.Plan.Increment.Table, r.Plan.Increment.Key)
}

// heatKey names the row of this execution for its heat: by the slots' own key, or by another
// one. In a transaction that has counted in slots of the table the other name may be that of a
// row that it has counted in; then there is none, for the increment to go to a slot as well:
// two transactions that change the base row behind that would wait for each other.
func (r *Run) heatKey() (slots.RowKey, bool) {
	inc := r.Plan.Increment
	row, ok := r.rowOf(inc.Table, inc.Which)
	if inc.ByOther == "" || !ok {
		return row, ok
	}
	row.Values = inc.ByOther + ":" + row.Values
	return row, !r.conn.Tx.KeepsLocks() || !r.conn.addedToSlots(inc.Table)
}

// rowOf names the row of a table whose key is as given.
func (r *Run) rowOf(t *rewrite.Table, key []rewrite.KeyValue) (slots.RowKey, bool) {
	if t.Counter.Single() {
		return slots.RowKey{Table: t.Counter.Slotted(), Node: r.conn.node.Number}, true
	}
	if len(key) == 0 {
		return slots.RowKey{}, false
	}
	var buf [64]byte
	b := buf[:0]
	for _, k := range key {
		b = append(b, ',')
		for i := range k.Parts {
			b = append(b, k.Parts[i].Of(r.Plan.Holes)...)
			if i == len(k.Args) {
				break
			}
			v, ok := r.value(k.Args[i])
			if !ok {
				return slots.RowKey{}, false
			}
			if b, ok = slots.AppendValue(b, v); !ok {
				return slots.RowKey{}, false
			}
		}
	}
	return slots.RowKey{Table: t.Counter.Slotted(), Values: string(b), Node: r.conn.node.Number}, true
}

// hold keeps a slot until the transaction ends.
func (c *Conn) hold(k slots.RowKey, i int) {
	if c.held == nil {
		c.held = map[slots.RowKey]int{}
	}
	c.held[k] = i
}

// release gives back what the transaction that has ended has held.
func (c *Conn) release() {
	if c.end(c.Shared.placement.Give, c.Shared.heat.Release) {
		c.Shared.Made.WakeJournal()
	}
}

// noteSlotRow reports whether the increment has made a slot row, for the roll-up to come early
// where there are many, and for each row of a journal: at once when the row is
// committed, else with the end of the transaction.
func (r *Run) noteSlotRow() {
	c := r.conn
	c.Shared.Made.Add()
	switch {
	case r.Plan.Increment.Table.Counter.Layout != rewrite.LayoutJournal:
	case r.batch != nil || c.InAutocommit():
		c.Shared.Made.WakeJournal()
	default:
		c.history.made = madeJournalRows
	}
}

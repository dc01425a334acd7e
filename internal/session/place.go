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
	seats := r.seats()
	row, keyed := r.rowKey()
	p := slots.Place{SlotRow: slots.SlotRow{Row: row}, Keyed: keyed, Ordinal: -1}
	switch {
	case !keyed && !seats.Any():
		// The row is not known. A slot of this connection's own, from the last
		// one down.
		p.Slot = seats.Places.Slot(n-1-c.slot%n, n)
	case c.Tx.KeepsLocks() && keyed && !seats.Any():
		i, held := c.held[row]
		if !held {
			if i = seats.Placement.Take(row, n); i < 0 {
				i = rand.IntN(n)
			} else {
				c.hold(row, i)
			}
		}
		p.Slot = seats.Places.Slot(i, n)
	default:
		p.Slot, p.Ordinal = seats.Find(row)
	}
	return p
}

func (r *Run) seats() slots.Seats {
	s, c := r.conn.Shared, r.Plan.Increment.Table.Counter
	random := c.Placement == rewrite.PlacementRandom || c.Placement == rewrite.PlacementSkipLocked && !s.Traits.MissLocks
	return slots.Seats{Placement: s.placement, Places: r.conn.node.Places, Slots: c.Slots, One: s.Traits.OneWriter, Random: random}
}

// rowKey names the row of this execution; false when the increment is not by
// the slots' own key, or for a value of a type whose equality is not plain.
func (r *Run) rowKey() (slots.RowKey, bool) {
	inc := r.Plan.Increment
	if inc.Table.Counter.Single() {
		return slots.RowKey{Table: inc.Table.Counter.Slotted(), Node: r.conn.node.Number}, true
	}
	if len(inc.Key) == 0 {
		return slots.RowKey{}, false
	}
	var b []byte
	for _, k := range inc.Key {
		b = append(b, ',')
		for i, text := range k.Texts {
			b = append(b, text...)
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
	return slots.RowKey{Table: inc.Table.Counter.Slotted(), Values: string(b), Node: r.conn.node.Number}, true
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
		c.Shared.Made.Journaled()
	}
}

// made reports whether the increment has made a slot row, for the roll-up to come early
// where there are many, and for each row of a journal: at once when the row is
// committed, else with the end of the transaction.
func (r *Run) made() {
	c := r.conn
	c.Shared.Made.Add()
	switch {
	case r.Plan.Increment.Table.Counter.Layout != rewrite.LayoutJournal:
	case r.with != nil || c.InAutocommit():
		c.Shared.Made.Journaled()
	default:
		c.history.made = madeJournalRows
	}
}

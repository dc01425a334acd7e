package slotsql

import "math/rand/v2"

// place finds the slot for an increment on this connection.
func (r *run) place() place {
	c, n := r.conn, r.plan.Increment.Table.Counter.Slots
	if r.plan.Increment.Table.Counter.Journal {
		return place{slotRow: slotRow{slot: c.shared.placement.journal.next()}, ordinal: -1}
	}
	seats := r.seats()
	row, keyed := r.rowKey()
	p := place{slotRow: slotRow{row: row}, keyed: keyed, ordinal: -1}
	switch {
	case !keyed && !seats.any():
		// The row is not known. A slot of this connection's own, from the last
		// one down.
		p.slot = seats.places.slot(n-1-c.slot%n, n)
	case c.lasting && keyed && !seats.any():
		i, held := c.held[row]
		if !held {
			if i = seats.placement.take(row, n); i < 0 {
				i = rand.IntN(n)
			} else {
				c.hold(row, i)
			}
		}
		p.slot = seats.places.slot(i, n)
	default:
		p.slot, p.ordinal = seats.find(row)
	}
	return p
}

func (r *run) seats() seats {
	s, c := r.conn.shared, r.plan.Increment.Table.Counter
	return seats{placement: s.placement, places: r.conn.node.places, slots: c.Slots,
		one: s.traits.OneWriter, random: c.RandomSlots || c.SkipLocked && !s.traits.MissLocks}
}

// rowKey names the row of this execution; false when the increment is not by
// the slots' own key, or for a value of a type whose equality is not plain.
func (r *run) rowKey() (rowKey, bool) {
	inc := r.plan.Increment
	if inc.Table.Counter.Single() {
		return rowKey{table: inc.Table.Counter.Slotted(), node: r.conn.node.number}, true
	}
	if len(inc.Key) == 0 {
		return rowKey{}, false
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
				return rowKey{}, false
			}
			if b, ok = appendValue(b, v); !ok {
				return rowKey{}, false
			}
		}
	}
	return rowKey{inc.Table.Counter.Slotted(), string(b), r.conn.node.number}, true
}

// hold keeps a slot until the transaction ends.
func (c *conn) hold(k rowKey, i int) {
	if c.held == nil {
		c.held = map[rowKey]int{}
	}
	c.held[k] = i
}

// release gives back what the transaction that has ended has held.
func (c *conn) release() {
	for k, i := range c.held {
		c.shared.placement.give(k, i)
	}
	clear(c.held)
	if c.journaled {
		c.journaled = false
		c.shared.made.journaled()
	}
	c.forget()
}

// made says that the increment has made a slot row, for the roll-up to come early
// where there are many, and for each row of a journal: at once when the row is
// committed, else with the end of the transaction.
func (r *run) made() {
	c := r.conn
	c.shared.made.add()
	switch {
	case !r.plan.Increment.Table.Counter.Journal:
	case r.with != nil || c.inAutocommit():
		c.shared.made.journaled()
	default:
		c.journaled = true
	}
}

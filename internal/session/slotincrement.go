package session

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// execInSlot adds to a slot, together with others in flight where that is possible. If that affects
// no row, the row may be missing, or its counter NULL or close to the end of its range: the
// increment falls back.
func (r *Run) execInSlot(ctx context.Context) (answer, error) {
	v := r.share(ctx)
	if v.Outcome == slots.OutcomeAlone {
		var n int64
		v.Result, n, v.Err = r.addToSlot(ctx, r.place(), r.conn.Tx.KeepsLocks(), r.conn.InAutocommit())
		switch {
		case v.Err == nil && n == 0:
			return r.because(noRowAffected).fallback(ctx)
		case v.Err != nil && r.conn.Engine.SlotFull(v.Err):
			if r.conn.Engine.Unreferenced(v.Err) {
				r.conn.Shared.Watch.Due() // another table has taken the counter table's place
			}
			return r.because(outOfRange).fallback(ctx)
		}
	}
	if v.Err != nil {
		return answer{}, v.Err
	}
	r.Plan.tally.ranSlotted()
	r.noteIncrement()
	if err := r.holdIncrement(ctx); err != nil {
		return answer{}, err
	}
	var n int64 = 1
	if r.Plan.Increment.Upsert && r.conn.Shared.Traits.UpsertCounts {
		n = 2
	}
	return answer{result: &result{v.Result, n}}, nil
}

// addToSlot adds to a slot. In autocommit (auto) it retries after a conflict: on a cluster a process
// on another node may use the same slot. From the second retry on it takes any other slot.
func (r *Run) addToSlot(ctx context.Context, p slots.Place, lasting, auto bool) (res driver.Result, n int64, err error) {
	picker := r.picker()
	defer picker.Release(p)
	for tries := 1; ; tries++ {
		res, n, err = r.addOnce(ctx, p, lasting)
		if !auto || !r.conn.Retry(ctx, tries, err) {
			return res, n, err
		}
		if tries > 1 {
			p.Slot = r.anotherSlot()
		}
	}
}

// anotherSlot returns another slot to try.
func (r *Run) anotherSlot() int64 {
	c := r.Plan.Increment.Table.Counter
	if c.Layout == schema.LayoutJournal {
		return r.conn.Shared.placement.Journal.Next()
	}
	return rand.Int64N(int64(c.Slots))
}

// addOnce adds to a slot: by an update of the slot row if the process has written it before, else by
// the upsert. In a transaction (lasting) both lock the base row before the slot row, as a drain does.
// Where an update that finds no row would keep others from creating theirs (MySQL), a transaction
// only has the upsert.
func (r *Run) addOnce(ctx context.Context, p slots.Place, lasting bool) (res driver.Result, n int64, err error) {
	defer func() {
		if n > 0 {
			r.conn.Shared.woke(r.Plan.Increment.Table, slots.WokenByIncrement)
		}
	}()
	r.slot = p.Slot
	places, st := r.conn.Shared.placement, r.slotStatements(lasting)
	if p.Keyed && st.update != nil && places.Knows(p.SlotRow) {
		if res, n, err = r.execBound(ctx, st.update); err != nil {
			return res, n, err
		}
		if n > 0 {
			places.NoteFound(p.Row.Table)
			return res, n, nil
		}
		places.NoteMissing(p.SlotRow)
	}
	res, n, err = r.upsertSlot(ctx, st)
	switch {
	case err != nil:
	case n > 0:
		r.noteSlotRow()
		if p.Keyed {
			places.Learn(p.SlotRow)
			r.noteRowExists(p.Row)
		}
	case p.Keyed && r.Plan.Increment.Upsert:
		places.Forget(slots.SlotRow{Row: p.Row, Slot: existence})
	}
	return res, n, err
}

// slotStatements are the statements that add to a slot. Any but upsert may be nil.
type slotStatements struct {
	update *rewrite.Bound // of a slot row that exists
	upsert *rewrite.Bound
	firm   *rewrite.Bound // the upsert that certainly locks the base row
}

// slotStatements returns the statements for this execution, alone or as the leader of a batch.
func (r *Run) slotStatements(lasting bool) slotStatements {
	inc := r.Plan.Increment
	st := slotStatements{inc.Add, &inc.Bound, inc.Holding}
	if r.batch != nil {
		st = slotStatements{inc.Coalesced.Add, &inc.Coalesced.Upsert, inc.Coalesced.Holding}
	}
	if lasting && !r.conn.Shared.Traits.OneWriter {
		st.update = inc.AddLocked
	}
	return st
}

// upsertSlot adds to a slot by the upsert.
func (r *Run) upsertSlot(ctx context.Context, st slotStatements) (res driver.Result, n int64, err error) {
	if r.firm = st.firm != nil && r.conn.Origin.RoleSet(); r.firm {
		return r.execBound(ctx, st.firm)
	}
	res, n, err = r.execBound(ctx, st.upsert)
	if n == 0 && err == nil && st.firm != nil && !r.Plan.Increment.Upsert {
		// The lock on the row is not certain, or there is no row. (After an upsert the application's
		// own statement follows, which waits for the row, or inserts it.)
		r.firm = true
		return r.execBound(ctx, st.firm)
	}
	return res, n, err
}

// place chooses the slot for an increment on this connection.
func (r *Run) place() slots.Place {
	c, n := r.conn, r.Plan.Increment.Table.Counter.Slots
	if r.Plan.Increment.Table.Counter.Layout == schema.LayoutJournal {
		return slots.Place{SlotRow: slots.SlotRow{Slot: c.Shared.placement.Journal.Next()}, Ordinal: -1}
	}
	picker := r.picker()
	row, keyed := r.rowKey()
	p := slots.Place{SlotRow: slots.SlotRow{Row: row}, Keyed: keyed, Ordinal: -1}
	switch {
	case !keyed && !picker.Shares():
		// The row is not known: take a slot of this connection's own, counting down from the last
		// one.
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

func (r *Run) pickerOf(c *schema.Counter) slots.Picker {
	s := r.conn.Shared
	random := c.Options.Placement == schema.PlacementRandom || c.Options.Placement == schema.PlacementSkipLocked && !s.Traits.MissLocks
	return slots.Picker{Placement: s.placement, Range: r.conn.node.Range, Slots: c.Slots, One: s.Traits.OneWriter, Random: random}
}

// rowKey names the row of this execution; false if the increment does not find it by the key of
// the slots, or by a value of a type whose equality is not plain.
func (r *Run) rowKey() (slots.RowKey, bool) {
	return r.rowOf(r.Plan.Increment.Table, r.Plan.Increment.Key)
}

// heatKey names the row of this execution for its heat, by the key of the slots or by another one.
// In a transaction that has counted in slots of the table, another key may mean a row that it has
// counted in. Then heatKey returns false, so that this increment goes to a slot, too: two
// transactions that then changed the base row would wait for each other.
func (r *Run) heatKey() (slots.RowKey, bool) {
	inc := r.Plan.Increment
	row, ok := r.rowOf(inc.Table, inc.Which)
	if inc.ByOther == "" || !ok {
		return row, ok
	}
	row.Values = inc.ByOther + ":" + row.Values
	return row, !r.conn.Tx.KeepsLocks() || !r.conn.addedToSlots(inc.Table)
}

// rowOf names the row of a table by its key.
func (r *Run) rowOf(t *schema.Table, key []rewrite.KeyValue) (slots.RowKey, bool) {
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
			b = append(b, k.Parts[i].Of(r.Plan.Values)...)
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

// release gives back what the transaction held, which has ended.
func (c *Conn) release() {
	if c.end(c.Shared.placement.Give, c.Shared.heat.Release) {
		c.Shared.Made.WakeJournal()
	}
}

// noteSlotRow notes that the increment has made a slot row, for the roll-up to come early if there
// are many. It wakes the roll-up for each row of a journal: at once if the row is committed, else
// when the transaction ends.
func (r *Run) noteSlotRow() {
	c := r.conn
	c.Shared.Made.Add()
	switch {
	case r.Plan.Increment.Table.Counter.Layout != schema.LayoutJournal:
	case r.batch != nil || c.InAutocommit():
		c.Shared.Made.WakeJournal()
	default:
		c.history.made = madeJournalRows
	}
}

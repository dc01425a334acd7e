package session

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// inSlot adds to a slot, together with others in flight where that is possible. If that affects
// no row, the row may be missing, or its counter NULL or close to the end of its range: the
// increment falls back.
func inSlot(ctx context.Context, r *Run) (a answer, done bool, err error) {
	in, v := incrementOf(r), slots.Verdict{Outcome: slots.OutcomeAlone}
	if !r.conn.Rare.Any(link.TxOpen) {
		v = sharingOf(r).share(ctx)
	}
	if v.Outcome == slots.OutcomeAlone {
		var n int64
		v.Result, n, v.Err = in.addToSlot(ctx, in.place(), nil)
		switch {
		case v.Err == nil && n == 0:
			r.cause = noRowAffected
			return answer{}, false, nil
		case v.Err != nil && r.conn.Engine.SlotFull(v.Err):
			if r.conn.Engine.Unreferenced(v.Err) {
				r.conn.Shared.Watch.Due() // another table has taken the counter table's place
			}
			r.cause = outOfRange
			return answer{}, false, nil
		}
	}
	if v.Err != nil {
		return answer{}, false, v.Err
	}
	r.Plan.tally.slotted.Add(1)
	noteChange(r, &in.of.Row, changedInSlot)
	if len(r.conn.readTables) > 0 {
		if err := rowChangesOf(r).holdIncrement(ctx); err != nil {
			return answer{}, false, err
		}
	}
	var n int64 = 1
	if r.Plan.Increment.Upsert && r.conn.Shared.Traits.UpsertCounts {
		n = 2
	}
	return answer{result: &result{v.Result, n}}, true, nil
}

// addition is what is added to slots: by one execution, or by those of a batch. It is the binding of the statements that add.
type addition struct {
	slot   int64
	batch  *slots.Batch // nil for one execution
	shares []rewrite.Share
}

// bound implements binding.
func (a *addition) bound(arg rewrite.Arg) (any, bool) {
	switch {
	case arg.Slot:
		return a.slot, true
	case arg.Total > 0:
		return slots.Decimal(a.batch.Rows[0].Sums[arg.Total-1], a.shares[arg.Total-1].Scale), true
	}
	return nil, false
}

// addToSlot adds to a slot what the execution adds, or its batch. Outside transactions it retries after a conflict: on a cluster a process
// on another node may use the same slot. From the second retry on it takes any other slot.
func (in increment) addToSlot(ctx context.Context, p slots.Place, b *slots.Batch) (res driver.Result, n int64, err error) {
	if p.Ordinal >= 0 {
		defer in.conn.Shared.placement.Give(p.Row, p.Ordinal)
	}
	auto := b != nil || in.conn.InAutocommit()
	for tries := 1; ; tries++ {
		res, n, err = in.addOnce(ctx, p, b)
		if !auto || !in.conn.Retry(ctx, tries, err) {
			return res, n, err
		}
		if tries > 1 {
			p.Slot = in.anotherSlot()
		}
	}
}

// anotherSlot returns another slot to try.
func (in increment) anotherSlot() int64 {
	c := in.of.Table.Counter
	if c.Layout == schema.LayoutJournal {
		return in.conn.Shared.placement.Journal.Next()
	}
	return rand.Int64N(int64(c.Slots))
}

// addOnce adds to a slot: by an update of the slot row if the process has written it before, else by
// the upsert. In a transaction both lock the base row before the slot row, as a drain does, unless its
// like end after the increment: each lock that many share costs the server time for all of them.
// Where an update that finds no row would keep others from creating theirs (MySQL), a transaction
// only has the upsert.
func (in increment) addOnce(ctx context.Context, p slots.Place, b *slots.Batch) (res driver.Result, n int64, err error) {
	defer func() {
		if n > 0 && in.run.Plan.sleeps {
			in.conn.Shared.woke(in.of.Table, slots.WokenByIncrement)
		}
	}()
	st, err := in.slotStatements(ctx, b != nil)
	if err != nil {
		return nil, 0, err
	}
	places, own := in.conn.Shared.placement, &in.run.added
	*own = addition{slot: p.Slot, batch: b}
	if b != nil {
		own.shares = in.of.Coalesced.Shares
	}
	if p.Keyed && st.update != nil && places.Knows(p.SlotRow) {
		if res, n, err = in.run.execBound(ctx, st.update, own); err != nil {
			return res, n, err
		}
		if n > 0 {
			places.NoteFound(p.Row.Table)
			return res, n, nil
		}
		places.NoteMissing(p.SlotRow)
	}
	res, n, err = in.upsertSlot(ctx, st, own)
	switch {
	case err != nil:
	case n > 0:
		in.noteSlotRow(b != nil)
		if p.Keyed {
			places.Learn(p.SlotRow)
			in.noteRowExists(p.Row)
		}
	case p.Keyed && in.of.Upsert:
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

// slotStatements returns the statements for this execution, or for the batch that it leads. A transaction held to a snapshot may have
// read other columns of the row. So it has the upsert, whose lock fails if another has changed these since, as the plain statement does.
func (in increment) slotStatements(ctx context.Context, batch bool) (st slotStatements, err error) {
	inc := in.of
	st = slotStatements{inc.Add, &inc.Bound, inc.Holding}
	switch {
	case batch:
		st = slotStatements{inc.Coalesced.Add, &inc.Coalesced.Upsert, inc.Coalesced.Holding}
	case !in.conn.Rare.Any(link.TxOpen) || in.conn.Shared.Traits.OneWriter:
	case inc.AddLocked == nil || !in.run.Plan.habit.LeavesRow():
		st.update = inc.AddLocked
	}
	if st.update == nil || !in.conn.Rare.Any(link.TxOpen) || in.conn.Tx.Unread() {
		return st, nil
	}
	held, err := in.conn.heldToSnapshot(ctx)
	if held {
		st.update = nil
	}
	return st, err
}

// upsertSlot adds to a slot by the upsert.
func (in increment) upsertSlot(ctx context.Context, st slotStatements, own *addition) (res driver.Result, n int64, err error) {
	if in.run.firm = st.firm != nil && in.conn.Rare.Any(link.RoleSet); in.run.firm {
		return in.run.execBound(ctx, st.firm, own)
	}
	res, n, err = in.run.execBound(ctx, st.upsert, own)
	if n == 0 && err == nil && st.firm != nil && !in.of.Upsert {
		// The lock on the row is not certain, or there is no row. (After an upsert the application's
		// own statement follows, which waits for the row, or inserts it.)
		in.run.firm = true
		return in.run.execBound(ctx, st.firm, own)
	}
	return res, n, err
}

// place chooses the slot for an increment on this connection.
func (in increment) place() slots.Place {
	c, counter, places := in.conn, in.of.Table.Counter, in.conn.Shared.placement
	if counter.Layout == schema.LayoutJournal {
		return slots.Place{SlotRow: slots.SlotRow{Slot: places.Journal.Next()}, Ordinal: -1}
	}
	row, keyed := in.rowKey()
	p := slots.Place{SlotRow: slots.SlotRow{Row: row}, Keyed: keyed, Ordinal: -1}
	var i int
	n := counter.Slots
	switch placement, tr := counter.Options.Placement, &c.Shared.Traits; {
	case tr.OneWriter:
		return p // all increments use the first slot
	case placement == schema.PlacementRandom, placement == schema.PlacementSkipLocked && !tr.MissLocks:
		p.Slot = int64(rand.IntN(n))
		return p
	case !keyed:
		// The row is not known: take a slot of this connection's own, counting down from the last
		// one.
		i = n - 1 - c.slot%n
	case c.Rare.Any(link.TxOpen):
		i = c.holdSlot(row, n)
	default:
		i = places.Take(row, n)
		p.Ordinal = i
	}
	if i < 0 {
		i = rand.IntN(n)
	}
	p.Slot = c.node.Range.Slot(i, n)
	return p
}

// rowKey names the row of this execution; false if the increment does not find it by the key of
// the slots, or by a value of a type whose equality is not plain.
func (in increment) rowKey() (slots.RowKey, bool) {
	if !in.run.Plan.keyed {
		return slots.RowKey{}, false
	}
	return in.run.Plan.row.of(in.run)
}

// namedByOther marks the key of a row as one that is not the key of the slots. In a transaction that has counted in slots of the table,
// such a key may mean a row that it has counted in. Then namedByOther returns false, so that this increment goes to a slot, too: two
// transactions that then changed the base row would wait for each other.
func (in increment) namedByOther(row *slots.RowKey) bool {
	row.Values = in.of.ByOther + ":" + row.Values
	return !in.conn.Rare.Any(link.TxOpen) || !in.conn.addedToSlots(in.of.Table)
}

// holdSlot returns the ordinal of the slot of a row that the transaction holds until it ends; -1 if others hold all n.
func (c *Conn) holdSlot(row slots.RowKey, n int) int {
	i, held := c.held[row]
	if held {
		return i
	}
	if i = c.Shared.placement.Take(row, n); i >= 0 {
		if c.held == nil {
			c.held = map[slots.RowKey]int{}
		}
		c.held[row] = i
	}
	return i
}

// noteSlotRow notes that the increment has made a slot row, for the roll-up to come early if there
// are many. It wakes the roll-up for each row of a journal: at once if the row is committed, else
// when the transaction ends.
func (in increment) noteSlotRow(batch bool) {
	c := in.conn
	c.Shared.Made.Add()
	switch {
	case in.of.Table.Counter.Layout != schema.LayoutJournal:
	case batch || c.InAutocommit():
		c.Shared.Made.WakeJournal()
	default:
		c.history.made = madeJournalRows
	}
}

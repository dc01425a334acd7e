package session

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
)

// An execution that draws a number from a counter with tickets takes it from a block that the
// process has leased. docs/design/tickets.md says why no number is given out twice.
//
// Outside a transaction a block is leased on the execution's own connection, by its own statement
// with the size of the block in place of 1. In a transaction that would lock the row until it
// ends, so it is done on a side connection. If that is not possible, or the transaction may have
// locked the row itself, the execution draws from the base row by its statement as written: that
// is always right, because the base value is at or above all numbers that have been leased.

// tickets are the blocks of numbers that a process has leased, and the connections on which
// it leases them beside transactions.
type tickets struct {
	blocks  *slots.Tickets
	holding slots.Holding
	side    *sidePool
}

func newTickets(oneWriter bool) *tickets {
	h := slots.HoldingFor(oneWriter)
	return &tickets{blocks: slots.NewTickets(h.Draw), holding: h, side: newSidePool(maxLeasers, leaserRest)}
}

const (
	maxLeasers    = 4
	leaserRest    = 10 * time.Second
	leasePatience = 2 * time.Second
)

// ticketWait is how long an execution in a transaction waits for another one's lease, which may
// itself wait for a lock that the transaction has.
const ticketWait = 100 * time.Millisecond

// draw is an execution that may draw its number from a block.
type draw struct {
	run  *Run
	conn *Conn
}

func drawOf(r *Run) draw { return draw{r, r.conn} }

// drawTicket draws a number from a block; false if the execution is to run as written.
func (r *Run) drawTicket(ctx context.Context) (a answer, done bool, err error) {
	dw := drawOf(r)
	if r.Plan.Group == nil || r.Plan.Group.Lease.Block == 0 {
		return answer{}, false, nil
	}
	key, inTx, ok, err := dw.mayDraw(ctx)
	if !ok || err != nil {
		return answer{}, err != nil, err
	}
	s := r.conn.Shared
	most, roll := r.Plan.Group.Lease.Block, s.sides.tickets.blocks.Of(key)
	var patience <-chan time.Time
	for {
		n, drawn, ahead := roll.Draw(most, !s.Traits.OneWriter)
		if ahead != nil {
			dw.leaseAhead(ctx, ahead)
		}
		if drawn {
			return dw.ticketAnswer(n), true, nil
		}
		lease, ended := roll.Lead(most)
		switch {
		case lease != nil && inTx:
			return dw.leaseInTx(ctx, lease)
		case lease != nil:
			return dw.leaseHere(ctx, lease)
		case ended == nil:
			return answer{}, false, nil
		}
		if inTx && patience == nil {
			timer := time.NewTimer(ticketWait)
			defer timer.Stop()
			patience = timer.C
		}
		if !roll.Wait(ctx, ended, patience) {
			return answer{}, ctx.Err() != nil, ctx.Err()
		}
	}
}

// mayDraw reports whether the execution may draw from a block, what it has in common with others
// that draw from the same block, and whether it is in a transaction.
func (dw draw) mayDraw(ctx context.Context) (key string, inTx, ok bool, err error) {
	c, g, rows := dw.conn, dw.run.Plan.Group, dw.run.call.wantsRows
	if rows != (len(g.Returns) > 0) || !rows && g.InsertID == 0 || // nobody sees the number
		dw.run.partsStay || ctx.Err() != nil || len(dw.run.call.options) > 0 || len(dw.run.call.args) != dw.run.Plan.Inputs {
		return "", false, false, nil
	}
	if inTx = c.Rare.Any(link.TxOpen) || !c.InAutocommit(); inTx {
		if ok, err := dw.mayDrawInTx(ctx); !ok || err != nil {
			return "", true, false, err
		}
	} else if !c.AsConnected() {
		return "", false, false, nil
	}
	var buf [128]byte
	args, ok := sharingOf(dw.run).groupArgs(buf[:0])
	if !ok {
		return "", inTx, false, nil
	}
	if _, _, ok = sharingOf(dw.run).member(ctx, args); !ok {
		return "", inTx, false, nil
	}
	return g.SameSQL.Of(dw.run.Plan.Values) + "\x00" + string(args), inTx, true, nil
}

// mayDrawInTx reports whether a transaction may draw from a block. It may not once it has touched
// rows of a table with tickets: if it has changed the row it must see its own version of it, and a
// lease would wait for it. Nor if it would fail because the row has changed since its snapshot:
// the lease changes the row. On an engine with one writer any lease would make it fail.
func (dw draw) mayDrawInTx(ctx context.Context) (bool, error) {
	c := dw.conn
	if c.Shared.Traits.OneWriter || !c.Ordinary() || c.tickets == ticketsTouched || c.readOnly || c.Tx.Own() {
		return false, nil
	}
	held, err := c.heldToSnapshot(ctx)
	return !held, err
}

// leaseHere leases a block on the execution's own connection.
func (dw draw) leaseHere(ctx context.Context, l *slots.Lease) (answer, bool, error) {
	b, err := dw.leaseOn(ctx, dw.conn, l)
	if b != nil {
		return dw.ticketAnswer(l.Complete(b, b.top)), true, nil
	}
	e := &dw.conn.Engine
	if ctx.Err() != nil || err != nil && (e.LockTimeout(err) || !e.NotApplied(err) && !e.SlotFull(err)) {
		dw.conn.noteRan(dw.run.Plan, err)
		return answer{}, true, err
	}
	return answer{}, false, nil // as it is written it meets its own error, or affects no row
}

// leaseInTx leases a block on a side connection. Other executions draw from it, too, so the lease
// outlives the caller's context.
func (dw draw) leaseInTx(ctx context.Context, l *slots.Lease) (answer, bool, error) {
	cp, got := dw.run.clone(), make(chan *slots.Ticket, 1)
	go func() {
		if b := drawOf(cp).leaseAside(ctx, l); b != nil {
			n := l.Complete(b, b.top)
			got <- &n
		}
		close(got)
	}()
	select {
	case n := <-got:
		if n == nil {
			return answer{}, false, nil
		}
		return dw.ticketAnswer(*n), true, nil
	case <-ctx.Done():
		return answer{}, true, ctx.Err()
	}
}

// leaseAhead leases the next block while the last one is still being drawn from.
func (dw draw) leaseAhead(ctx context.Context, l *slots.Lease) {
	cp := dw.run.clone()
	go func() {
		if b := drawOf(cp).leaseAside(ctx, l); b != nil {
			l.CompleteAhead(b, b.top)
		}
	}()
}

// leaseAside runs a lease on a side connection; nil if that fails.
func (dw draw) leaseAside(ctx context.Context, l *slots.Lease) *block {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leasePatience)
	defer cancel()
	s := dw.conn.Shared
	d, ok := s.Dialect.(dialect.TicketLeaser)
	if !ok || !s.OpensAside {
		l.Fail(true)
		return nil
	}
	b, err := link.WithContext(ctx, &s.Database, func() (*block, error) { return dw.leaseOnSide(ctx, d, l), nil }, func(*block, error) {})
	if err != nil {
		l.Fail(true) // a block that comes later is not drawn from
	}
	return b
}

// leaseOnSide is leaseAside, but may return later than the end of ctx.
func (dw draw) leaseOnSide(ctx context.Context, d dialect.TicketLeaser, l *slots.Lease) *block {
	s := dw.conn.Shared
	side, tx := s.sides.tickets.side, d.Leasing()
	c, err := side.takeNow(ctx, func(ctx context.Context) (*Conn, error) { return s.openSide(ctx, tx.Connected) })
	if err != nil {
		l.Fail(true)
		return nil
	}
	b, err := dw.leaseInTxOf(ctx, c, tx, l)
	if err != nil {
		s.warnAside(ctx, "a block of numbers could not be leased, so they are drawn from the row itself", err)
	}
	usable := err == nil || c.Engine.NotApplied(err) || c.Engine.LockTimeout(err)
	if usable && b == nil {
		usable = c.Session().ExecAll(ctx, tx.Rollback) == nil
	}
	if usable {
		side.keep(c)
	} else {
		side.drop(c)
	}
	return b
}

// leaseInTxOf runs a lease in a transaction of a side connection, which is left open if it returns no block.
func (dw draw) leaseInTxOf(ctx context.Context, c *Conn, tx dialect.SideTx, l *slots.Lease) (b *block, err error) {
	if _, err = c.inOneTrip(ctx, statements(tx.Begin, "", nil, nil)); err == nil {
		b, err = dw.leaseOn(ctx, c, l)
	}
	if b != nil {
		err = c.Session().ExecAll(ctx, tx.Commit)
	}
	if err != nil {
		l.Fail(true) // of a commit that fails it is not known whether the numbers have been leased
		return nil, err
	}
	return b, nil
}

// block is what a lease has returned.
type block struct {
	groupReply
	columns []string
	types   columnTypes
	top     int64 // the last number
}

// leaseOn runs a lease on a connection: the statement of a group, with the size of the block as
// its sum. If it returns no block the lease has ended, with an error or because there is no row.
func (dw draw) leaseOn(ctx context.Context, c *Conn, l *slots.Lease) (b *block, err error) {
	failed := true
	defer func() {
		if failed {
			l.Fail(b == nil)
			b = nil
		}
	}()
	form, rows := dw.run.Plan.Group, dw.run.call.wantsRows
	on := c.newRun(dw.run.Plan, direct{c}, dw.run.call)
	bound := &form.Bound
	if form.One != nil && l.Size == 1 {
		bound = form.One
	}
	args, err := on.bind(bound.Args, &sums{of: form, totals: []int64{l.Size}})
	if err != nil {
		return nil, err
	}
	if form.Lease.TryLock != nil && c != dw.conn { // beside a transaction, which may have the row itself
		if _, err := on.find(ctx, form.Lease.TryLock); err != nil {
			return nil, err
		}
	}
	g := &group{run: on}
	var a groupReply
	for tries := 1; ; tries++ {
		if a, err = g.send(ctx, bound, "", args); !c.Retry(ctx, tries, err) {
			break
		}
	}
	if err != nil || a.affected == 0 || rows && len(a.rows) != 1 {
		return nil, err
	}
	b = &block{groupReply: a, columns: g.columns, types: g.types}
	known := false
	if rows {
		b.top, known = ticketNumber(a.rows[0][0])
	} else {
		b.top, err = a.result.LastInsertId()
		known = err == nil
	}
	if failed = !known; failed {
		err = link.Settled(err)
	}
	return b, err
}

// ticketNumber reads a number that RETURNING has given. Numbers above 63 bits wrap around, and
// differences between them stay right.
func ticketNumber(v driver.Value) (int64, bool) {
	var text string
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), true
	case string:
		text = v
	case []byte:
		text = string(v)
	default:
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return int64(n), err == nil
}

// ticketAnswer returns the answer to the execution that has drawn a number.
func (dw draw) ticketAnswer(n slots.Ticket) answer {
	b := n.Answer.(*block)
	dw.run.Plan.tally.tickets.Add(1)
	if !dw.run.call.wantsRows {
		drew(dw.conn, b.top-n.Behind)
		return answer{result: &result{insertID(b.top - n.Behind), b.affected}}
	}
	row := slices.Clone(b.rows[0])
	for i, v := range row {
		row[i] = less(v, n.Behind, 0)
	}
	return answer{rows: dw.run.asCalled(&bufferedRows{columns: b.columns, columnTypes: b.types, heldRows: heldRows{[][]driver.Value{row}}})}
}

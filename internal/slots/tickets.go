package slots

import (
	"context"
	"sync"
	"time"
)

// Tickets keeps the blocks of numbers that a process has leased, by what its executions have in
// common: the statement and its arguments. A block is drawn from until it is used up, or for a
// little less time than a statement waits that lowers the counter: see docs/design/tickets.md.
//
// How many numbers are leased depends on how many are drawn, up to the block that the
// configuration allows: a row that is drawn from now and then has no gaps.
type Tickets struct {
	hold time.Duration
	now  func() time.Time

	mu   sync.Mutex
	rows map[string]*Roll
}

// Holding is how long a block is drawn from after its lease was sent, and how long a statement
// that lowers the counter waits with the row locked. The difference is for clocks that run at
// different speeds. On an engine with one writer all processes are on one machine, and a waiting
// statement keeps out all others.
type Holding struct{ Draw, Recall time.Duration }

// HoldingFor returns the times for an engine, which has one writer or many.
func HoldingFor(oneWriter bool) Holding {
	if oneWriter {
		return Holding{40 * time.Millisecond, 50 * time.Millisecond}
	}
	return Holding{400 * time.Millisecond, 500 * time.Millisecond}
}

const (
	maxRolls = 4096
	// rollRest is how long nothing is leased for a row after a lease has failed, because the row
	// was locked or its column is at the end of its range.
	rollRest = 100 * time.Millisecond
	// leaseAhead is how large a block must be for the next one to be leased in advance.
	leaseAhead = 8
)

// NewTickets returns a Tickets without blocks. Each block is drawn from for hold.
func NewTickets(hold time.Duration) *Tickets {
	return &Tickets{hold: hold, now: time.Now, rows: map[string]*Roll{}}
}

// Roll is the blocks of one row.
type Roll struct {
	t *Tickets

	mu      sync.Mutex
	blocks  []*Block      // those in use come first
	top     int64         // the last number of the last lease
	last    time.Time     // when that was asked for
	size    int64         // of the last lease
	drawn   int64         // since it was asked for
	waiting int64         // executions that have found no number
	leasing chan struct{} // closed when the lease under way has ended; nil while there is none
	rest    time.Time
}

// Block is what a lease has returned: Answer is the database's answer, and Left how many numbers
// have not been drawn. They end with the number in the answer.
type Block struct {
	Answer any
	Left   int64
	asked  time.Time // when the lease was sent
}

// Ticket is one number of a block: the number that the database has returned, less Behind.
type Ticket struct {
	Answer any
	Behind int64
}

// Of returns the blocks of a row.
func (t *Tickets) Of(key string) *Roll {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[key]
	if r == nil {
		if len(t.rows) >= maxRolls {
			t.sweep()
		}
		r = &Roll{t: t}
		t.rows[key] = r
	}
	return r
}

// sweep forgets the rows that have no block in use, or all of them if that leaves too many; the
// numbers of their blocks are lost. The lock is held.
func (t *Tickets) sweep() {
	for k, r := range t.rows {
		r.mu.Lock()
		if r.leasing == nil && !r.fresh() {
			delete(t.rows, k)
		}
		r.mu.Unlock()
	}
	if len(t.rows) >= maxRolls {
		clear(t.rows)
	}
}

// Draw draws a number. Ahead is the lease of the next block, for the caller to run, if that is due
// and allowed (may).
func (r *Roll) Draw(most int64, may bool) (n Ticket, ok bool, ahead *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.fresh() {
		return Ticket{}, false, nil
	}
	b := r.blocks[0]
	b.Left--
	r.drawn++
	n = Ticket{b.Answer, b.Left}
	if b.Left == 0 {
		r.blocks = r.blocks[1:]
	}
	if may && r.leasing == nil && len(r.blocks) < 2 && r.size >= leaseAhead && !r.t.now().Before(r.rest) && r.runsOut() {
		ahead = r.lease(most)
	}
	return n, true, ahead
}

// runsOut reports whether the last block is half used, or half of its time has passed.
func (r *Roll) runsOut() bool {
	if len(r.blocks) == 0 {
		return true
	}
	b := r.blocks[len(r.blocks)-1]
	return b.Left <= r.size/2 || r.t.now().Sub(b.asked) > r.t.hold/2
}

// fresh drops blocks whose time has passed, and reports whether one is left. The lock is held.
func (r *Roll) fresh() bool {
	now := r.t.now()
	for len(r.blocks) > 0 {
		if asked := r.blocks[0].asked; within(asked, now, r.t.hold) {
			return true
		}
		r.blocks = r.blocks[1:]
	}
	return false
}

// within reports whether less than d has passed, by both clocks: the monotonic one stops while a
// machine sleeps, and the wall clock may be set.
func within(from, to time.Time, d time.Duration) bool {
	steady, wall := to.Sub(from), to.Round(0).Sub(from.Round(0))
	return steady < d && wall < d && wall >= 0
}

// Lease is a lease that is under way. Its execution ends it. After it has Failed it stays so.
type Lease struct {
	roll  *Roll
	Size  int64 // how many numbers to ask for; 1 for none ahead
	asked time.Time
	ended bool
}

// Lead returns a lease for the caller to run. It is nil if one is in flight, which closes ended
// when it ends, or if none is to be run now.
func (r *Roll) Lead(most int64) (l *Lease, ended <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.fresh():
		return nil, closed
	case r.leasing != nil:
		return nil, r.leasing
	case r.t.now().Before(r.rest):
		return nil, nil
	}
	return r.lease(most), nil
}

// closed is a channel that is closed already.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// lease begins a lease, of twice as many numbers as have been drawn since the last one, if that
// was not long ago, and at least as many as are waited for.
func (r *Roll) lease(most int64) *Lease {
	now := r.t.now()
	size := r.waiting + 1
	if within(r.last, now, r.t.hold) {
		size = max(size, 2*r.drawn)
	}
	r.size, r.drawn, r.last = min(size, most), 0, now
	r.leasing = make(chan struct{})
	return &Lease{roll: r, Size: r.size, asked: now}
}

// Wait waits for the lease in flight. It reports false if ctx or patience ends first.
func (r *Roll) Wait(ctx context.Context, ended <-chan struct{}, patience <-chan time.Time) bool {
	r.mu.Lock()
	r.waiting++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.waiting--
		r.mu.Unlock()
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	case <-patience:
		return false
	}
}

// Complete ends the lease with the database's answer and the last number of the block. The first
// number is the caller's: its execution began before the lease, so it does not matter how long
// that took.
func (l *Lease) Complete(answer any, top int64) Ticket {
	r := l.roll
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drawn++
	l.end(answer, top, l.Size-1)
	return Ticket{answer, l.Size - 1}
}

// CompleteAhead ends a lease that no execution waits for.
func (l *Lease) CompleteAhead(answer any, top int64) {
	r := l.roll
	r.mu.Lock()
	defer r.mu.Unlock()
	l.end(answer, top, l.Size)
}

func (l *Lease) end(answer any, top, left int64) {
	r := l.roll
	if top-l.Size < r.top {
		r.blocks = nil // a client that slotsql does not know has set the counter lower
	}
	r.top = top
	if left > 0 {
		r.blocks = append(r.blocks, &Block{Answer: answer, Left: left, asked: l.asked})
	}
	l.ended = true
	close(r.leasing)
	r.leasing = nil
}

// Fail ends the lease without a number. If rest is set, no lease is run for a while, and blocks
// begin with single numbers again.
func (l *Lease) Fail(rest bool) {
	r := l.roll
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.ended {
		return
	}
	l.ended, r.drawn = true, 0
	if rest {
		r.rest = r.t.now().Add(rollRest)
	}
	close(r.leasing)
	r.leasing = nil
}

package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// This file takes an increment in a slot through the coalescer.

// sharing takes an execution through groups, on the base row or in a slot.
type sharing struct {
	run  *Run
	conn *Conn
}

func sharingOf(r *Run) sharing { return sharing{r, r.conn} }

// share runs the increment together with others of the same row that are in flight, and returns
// its verdict: counted; failed, with the error; or alone, if nothing has been applied and it is to
// run by itself.
func (sh sharing) share(ctx context.Context) slots.Verdict {
	alone := slots.Verdict{Outcome: slots.OutcomeAlone}
	co := sh.run.Plan.Increment.Coalesced
	if co == nil || !sh.mayShare() {
		return alone
	}
	m := sh.conn.spares.takeMember()
	m.Key = m.Begin(len(co.Shares), len(co.Key))
	m.Used, m.Context = sh.conn.led, sh.conn.Shared.traced(ctx)
	var ok bool
	for i, s := range co.Shares {
		if m.Adds[i], ok = sh.run.args().Adds(s); !ok {
			return alone
		}
	}
	var buf [64]byte
	var common []byte
	form := sh.slotForm(co)
	if form.Many = sh.mayShareRows(co, m, &form.Picker); form.Many {
		form.SQL = sh.run.sql(co.Many)
	} else if common, ok = sh.run.args().Common(buf[:0], co.Upsert.Args); !ok {
		return alone
	}
	for range 3 {
		v := slots.Verdict{Outcome: slots.OutcomeLead, Batch: sh.conn.Shared.coalescer.Join(form, common, m)}
		for v.Outcome == slots.OutcomeLead {
			if v.Batch == nil {
				v = m.Wait(ctx)
			} else {
				v = sh.leadBatch(ctx, m, v.Batch)
			}
			switch {
			case v.Outcome != slots.OutcomeLead:
			case v.Batch == nil:
				v.Batch = m.Group.Take(m)
			default:
				m.Accept()
			}
		}
		if v.Outcome != slots.OutcomeRetry {
			sh.conn.spares.keepMember(m, v)
			return v
		}
	}
	return alone
}

// slotForm returns the form of executions that add to a slot of one row.
func (sh sharing) slotForm(co *rewrite.Coalesced) slots.Form {
	return slots.Form{SQL: sh.run.sql(&co.Upsert), Peers: sh.conn.peers(), Shares: co.Shares, Picker: incrementOf(sh.run).picker()}
}

// mayShareRows reports whether the increment may share a statement with those of other rows: its
// row has a slot, and a key of whole numbers.
func (sh sharing) mayShareRows(co *rewrite.Coalesced, m *slots.Member, picker *slots.Picker) bool {
	if co.Many == nil {
		return false
	}
	if !sh.run.args().NumberKey(co.Key, m.Key) {
		return false
	}
	row := slots.RowKey{Table: sh.run.Plan.Increment.Table.Counter.Slotted(), Values: argument.WriteNumbers(m.Key), Node: sh.conn.node.Number}
	if !picker.KnowsLowest(row) {
		return false
	}
	m.Row = row
	return true
}

// leadBatch runs the statement of a batch, and tells its members.
func (sh sharing) leadBatch(ctx context.Context, m *slots.Member, b *slots.Batch) slots.Verdict {
	if len(b.Members) == 1 {
		defer m.Group.Next()
		return sh.leadAlone(ctx, sh.placeOf(b))
	}
	sh.conn.led++
	p := slots.Place{Ordinal: -1}
	if len(b.Rows) == 1 {
		p = sh.placeOf(b)
	}
	return sh.leadShared(ctx, m, b, func(ctx context.Context, r *Run) { sharingOf(r).runShared(ctx, m, b, p) })
}

// leadShared runs what a batch's members share, by the execution that it is given, and returns the leader's own verdict.
func (sh sharing) leadShared(ctx context.Context, m *slots.Member, b *slots.Batch, run func(context.Context, *Run)) slots.Verdict {
	run = sh.conn.Shared.traceGroup(m, b, run)
	if ctx.Done() == nil {
		run(ctx, sh.run)
		return m.Receive().ForLeader()
	}
	// The statement is also the other members', so it outlives this caller's context. It runs in a
	// goroutine of its own, from which the caller may walk away (see detached), and may then change its arguments.
	cp := sh.run.clone()
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.Mu.Lock()
	b.Cancel = cancel
	b.Mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer cancel()
		defer close(done)
		run(shared, cp)
	}()
	v := m.Wait(ctx)
	if v.Outcome == slots.OutcomeAbandoned {
		sh.conn.detached.leave(done)
		return v
	}
	<-done
	return v.ForLeader()
}

// leadAlone runs the increment by itself, while others may queue behind it.
func (sh sharing) leadAlone(ctx context.Context, p slots.Place) slots.Verdict {
	start := time.Now()
	res, n, err := incrementOf(sh.run).addToSlot(ctx, p, nil)
	sh.conn.Shared.coalescer.Pace.Note(time.Since(start))
	switch {
	case err != nil && !sh.conn.Engine.SlotFull(err):
		return slots.Verdict{Outcome: slots.OutcomeFailed, Err: err}
	case n == 0:
		return slots.Verdict{Outcome: slots.OutcomeAlone}
	}
	return slots.Verdict{Outcome: slots.OutcomeCounted, Result: res}
}

// placeOf returns the place of a batch of one row.
func (sh sharing) placeOf(b *slots.Batch) slots.Place {
	if b.Many {
		return b.Rows[0].Place
	}
	return incrementOf(sh.run).place()
}

// runShared runs the one statement of a batch and tells its members, the leader last. The leader's
// caller may have given up, so it changes nothing of the connection except by its statements.
func (sh sharing) runShared(ctx context.Context, m *slots.Member, b *slots.Batch, p slots.Place) {
	v := slots.Verdict{Outcome: slots.OutcomeFailed, Err: errLeaderGone}
	start := time.Now()
	defer func() {
		sh.conn.Shared.coalescer.Pace.Note(time.Since(start))
		if len(b.Rows) > 1 && v.Outcome == slots.OutcomeAlone {
			m.Group.Split(b) // tells the leader, too
			m.Group.Next()
			return
		}
		b.Deliver(v)
		m.Group.Next() // now that their callers may be back
		m.Tell(v)
	}()
	var n int64
	var err error
	if len(b.Rows) > 1 {
		v.Result, n, err = sh.addMany(ctx, b)
		if v.Outcome, v.Err = judgeMany(sh.run, n, err, len(b.Rows)); v.Outcome == slots.OutcomeCounted {
			sh.conn.Shared.placement.NoteFound(b.Rows[0].Row.Table)
		}
	} else {
		v.Result, n, err = incrementOf(sh.run).addToSlot(ctx, p, b)
		v.Outcome, v.Err = judge(sh.run, n, err)
	}
	if v.Outcome == slots.OutcomeCounted {
		sh.run.Plan.tally.shared(len(b.Members) - 1)
	}
}

// addMany adds to slots of many rows: to all of them, or to none if a roll-up or a drain has
// deleted one meanwhile.
func (sh sharing) addMany(ctx context.Context, b *slots.Batch) (driver.Result, int64, error) {
	picker := incrementOf(sh.run).picker()
	defer func() {
		for _, row := range b.Rows {
			picker.Release(row.Place)
		}
	}()
	co := sh.run.Plan.Increment.Coalesced
	return sh.run.execBound(ctx, co.Many, &addition{batch: b, shares: co.Shares})
}

// errLeaderGone is the error of members whose leader has panicked.
var errLeaderGone = &link.UnknownOutcomeError{Cause: "the goroutine running the coalesced statement panicked"}

// judge returns what the result of a shared statement means for each member.
func judge(r *Run, n int64, err error) (slots.Outcome, error) {
	switch {
	case err == nil && n > 0:
		return slots.OutcomeCounted, nil
	case err == nil, r.conn.Engine.SlotFull(err):
		return slots.OutcomeAlone, nil // no row, or a counter near a limit: each for itself
	case errors.Is(err, driver.ErrBadConn):
		return slots.OutcomeRetry, nil // the parent says so only when nothing has been sent
	case r.conn.Engine.TimedOut(err):
		return slots.OutcomeFailed, err // each has waited as long as the leader
	case r.conn.Engine.NotApplied(err):
		return slots.OutcomeAlone, nil
	}
	return slots.OutcomeFailed, err
}

// judgeMany returns what the result of a statement for many rows means: it must have updated all
// of them, or none.
func judgeMany(r *Run, n int64, err error, rows int) (slots.Outcome, error) {
	switch {
	case err == nil && n == int64(rows):
		return slots.OutcomeCounted, nil
	case err == nil && n != 0:
		return slots.OutcomeFailed, &link.UnknownOutcomeError{Cause: fmt.Sprintf("of %d rows only %d were counted", rows, n)}
	case err != nil && r.conn.Engine.LockTimeout(err):
		return slots.OutcomeAlone, nil // it does not wait at all
	}
	return judge(r, n, err)
}

// mayShare reports whether the execution may share a statement, in a slot or on the base row: it
// has exactly the arguments of the statement, and its session is as the connector opened it.
func (sh sharing) mayShare() bool {
	return len(sh.run.call.options) == 0 && len(sh.run.call.args) == sh.run.Plan.Inputs && sh.conn.AsConnected()
}

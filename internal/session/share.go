package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
)

// This file takes an increment in a slot through the coalescer.

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
	m.Begin(len(co.Shares), 0)
	m.Used, m.Context = sh.conn.led, sh.conn.Shared.traced(ctx)
	for i, s := range co.Shares {
		var ok bool
		if m.Adds[i], ok = sh.run.args().Adds(s); !ok {
			return alone
		}
	}
	var buf [64]byte
	form := slots.Form{SQL: sh.run.sql(&co.Upsert), Peers: sh.conn.peers(), Shares: co.Shares}
	common, ok := sh.run.args().Common(buf[:0], co.Upsert.Args)
	if !ok {
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
			if v.Outcome == slots.OutcomeLead {
				v.Batch = m.Group.Take(m)
			}
		}
		if v.Outcome != slots.OutcomeRetry {
			sh.conn.spares.keepMember(m, v)
			return v
		}
	}
	return alone
}

// leadBatch runs the statement of a batch, and tells its members.
func (sh sharing) leadBatch(ctx context.Context, m *slots.Member, b *slots.Batch) slots.Verdict {
	if len(b.Members) == 1 {
		defer m.Group.Next()
		return sh.leadAlone(ctx, incrementOf(sh.run).place())
	}
	sh.conn.led++
	p := incrementOf(sh.run).place()
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

// runShared runs the one statement of a batch and tells its members, the leader last. The leader's
// caller may have given up, so it changes nothing of the connection except by its statements.
func (sh sharing) runShared(ctx context.Context, m *slots.Member, b *slots.Batch, p slots.Place) {
	v := slots.Verdict{Outcome: slots.OutcomeFailed, Err: errLeaderGone}
	start := time.Now()
	defer func() {
		sh.conn.Shared.coalescer.Pace.Note(time.Since(start))
		b.Deliver(v)
		m.Group.Next() // now that their callers may be back
		m.Tell(v)
	}()
	var n int64
	var err error
	v.Result, n, err = incrementOf(sh.run).addToSlot(ctx, p, b)
	if v.Outcome, v.Err = judge(sh.run, n, err); v.Outcome == slots.OutcomeCounted {
		sh.run.Plan.tally.coalesced.Add(uint64(len(b.Members) - 1))
	}
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
	}
	return judge(r, n, err)
}

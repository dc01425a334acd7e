package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// This file takes an increment in a slot through the coalescer.

// share runs the increment together with others of the same row that are in flight, and returns
// its verdict: counted; failed, with the error; or alone, if nothing has been applied and it is to
// run by itself.
func (r *Run) share(ctx context.Context) slots.Verdict {
	alone := slots.Verdict{Outcome: slots.OutcomeAlone}
	co := r.Plan.Increment.Coalesced
	if co == nil || !r.mayShare() {
		return alone
	}
	m := r.conn.spares.takeMember()
	m.Key = m.Begin(len(co.Shares), len(co.Key))
	m.Used, m.Context = r.conn.led, r.conn.Shared.traced(ctx)
	var ok bool
	for i, s := range co.Shares {
		if m.Adds[i], ok = r.adds(s); !ok {
			return alone
		}
	}
	var buf [64]byte
	var common []byte
	form := r.slotForm(co)
	if form.Many = r.mayShareRows(co, m, &form.Picker); form.Many {
		form.SQL = r.sql(co.Many)
	} else if common, ok = r.commonArgs(buf[:0], co.Upsert.Args); !ok {
		return alone
	}
	for range 3 {
		v := slots.Verdict{Outcome: slots.OutcomeLead, Batch: r.conn.Shared.coalescer.Join(form, common, m)}
		for v.Outcome == slots.OutcomeLead {
			if v.Batch == nil {
				v = m.Wait(ctx)
			} else {
				v = r.leadBatch(ctx, m, v.Batch)
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
			r.conn.spares.keepMember(m, v)
			return v
		}
	}
	return alone
}

// slotForm returns the form of executions that add to a slot of one row.
func (r *Run) slotForm(co *rewrite.Coalesced) slots.Form {
	return slots.Form{SQL: r.sql(&co.Upsert), Peers: r.conn.peers(), Shares: co.Shares, Picker: r.picker()}
}

// mayShareRows reports whether the increment may share a statement with those of other rows: its
// row has a slot, and a key of whole numbers.
func (r *Run) mayShareRows(co *rewrite.Coalesced, m *slots.Member, picker *slots.Picker) bool {
	if co.Many == nil {
		return false
	}
	if !r.numberKey(co.Key, m.Key) {
		return false
	}
	row := slots.RowKey{Table: r.Plan.Increment.Table.Counter.Slotted(), Values: numbers(m.Key), Node: r.conn.node.Number}
	if !picker.KnowsLowest(row) {
		return false
	}
	m.Row = row
	return true
}

// numberKey stores the values of a key in into, and reports whether all of them are numbers.
func (r *Run) numberKey(key []rewrite.KeyNumber, into []int64) bool {
	for i, k := range key {
		if k.Arg == nil {
			into[i] = k.Literal.Of(r.Plan.Values)
			continue
		}
		v, ok := r.value(*k.Arg)
		if !ok {
			return false
		}
		switch n := v.Value.(type) {
		case int64:
			into[i] = n
		case int:
			into[i] = int64(n)
		default:
			return false
		}
	}
	return true
}

// numbers writes a key as rowKey does.
func numbers(key []int64) string {
	var buf [64]byte
	b := buf[:0]
	for _, n := range key {
		b = strconv.AppendInt(append(b, ','), n, 10)
	}
	return string(b)
}

// leadBatch runs the statement of a batch, and tells its members.
func (r *Run) leadBatch(ctx context.Context, m *slots.Member, b *slots.Batch) slots.Verdict {
	if len(b.Members) == 1 {
		defer m.Group.Next()
		return r.leadAlone(ctx, r.placeOf(b))
	}
	r.conn.led++
	p := slots.Place{Ordinal: -1}
	if len(b.Rows) == 1 {
		p = r.placeOf(b)
	}
	return r.leadShared(ctx, m, b, func(ctx context.Context, r *Run) { r.runShared(ctx, m, b, p) })
}

// leadShared runs what a batch's members share, by the execution that it is given, and returns the leader's own verdict.
func (r *Run) leadShared(ctx context.Context, m *slots.Member, b *slots.Batch, run func(context.Context, *Run)) slots.Verdict {
	run = r.conn.Shared.traceGroup(m, b, run)
	if ctx.Done() == nil {
		run(ctx, r)
		return m.Receive().ForLeader()
	}
	// The statement is also the other members', so it outlives this caller's context. It runs in a
	// goroutine of its own, from which the caller may walk away (see detached), and may then change its arguments.
	cp := r.clone()
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
		r.conn.detached.leave(done)
		return v
	}
	<-done
	return v.ForLeader()
}

// leadAlone runs the increment by itself, while others may queue behind it.
func (r *Run) leadAlone(ctx context.Context, p slots.Place) slots.Verdict {
	start := time.Now()
	res, n, err := r.addToSlot(ctx, p, false, true)
	r.conn.Shared.coalescer.Pace.Note(time.Since(start))
	switch {
	case err != nil && !r.conn.Engine.SlotFull(err):
		return slots.Verdict{Outcome: slots.OutcomeFailed, Err: err}
	case n == 0:
		return slots.Verdict{Outcome: slots.OutcomeAlone}
	}
	return slots.Verdict{Outcome: slots.OutcomeCounted, Result: res}
}

// placeOf returns the place of a batch of one row.
func (r *Run) placeOf(b *slots.Batch) slots.Place {
	if b.Many {
		return b.Rows[0].Place
	}
	return r.place()
}

// runShared runs the one statement of a batch and tells its members, the leader last. The leader's
// caller may have given up, so it changes nothing of the connection except by its statements.
func (r *Run) runShared(ctx context.Context, m *slots.Member, b *slots.Batch, p slots.Place) {
	v := slots.Verdict{Outcome: slots.OutcomeFailed, Err: errLeaderGone}
	start := time.Now()
	defer func() {
		r.conn.Shared.coalescer.Pace.Note(time.Since(start))
		if len(b.Rows) > 1 && v.Outcome == slots.OutcomeAlone {
			m.Group.Split(b) // tells the leader, too
			m.Group.Next()
			return
		}
		b.Deliver(v)
		m.Group.Next() // now that their callers may be back
		m.Tell(v)
	}()
	shared := *r
	shared.batch = b
	var n int64
	var err error
	if len(b.Rows) > 1 {
		v.Result, n, err = shared.addMany(ctx)
		if v.Outcome, v.Err = r.judgeMany(n, err, len(b.Rows)); v.Outcome == slots.OutcomeCounted {
			r.conn.Shared.placement.NoteFound(b.Rows[0].Row.Table)
		}
	} else {
		v.Result, n, err = shared.addToSlot(ctx, p, false, true)
		v.Outcome, v.Err = r.judge(n, err)
	}
	if v.Outcome == slots.OutcomeCounted {
		r.Plan.tally.shared(len(b.Members) - 1)
	}
}

// addMany adds to slots of many rows: to all of them, or to none if a roll-up or a drain has
// deleted one meanwhile.
func (r *Run) addMany(ctx context.Context) (driver.Result, int64, error) {
	picker := r.picker()
	defer func() {
		for _, row := range r.batch.Rows {
			picker.Release(row.Place)
		}
	}()
	return r.execBound(ctx, r.Plan.Increment.Coalesced.Many)
}

// errLeaderGone is the error of members whose leader has panicked.
var errLeaderGone = &link.UnknownOutcomeError{Cause: "the goroutine running the coalesced statement panicked"}

// judge returns what the result of a shared statement means for each member.
func (r *Run) judge(n int64, err error) (slots.Outcome, error) {
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
func (r *Run) judgeMany(n int64, err error, rows int) (slots.Outcome, error) {
	switch {
	case err == nil && n == int64(rows):
		return slots.OutcomeCounted, nil
	case err == nil && n != 0:
		return slots.OutcomeFailed, &link.UnknownOutcomeError{Cause: fmt.Sprintf("of %d rows only %d were counted", rows, n)}
	case err != nil && r.conn.Engine.LockTimeout(err):
		return slots.OutcomeAlone, nil // it does not wait at all
	}
	return r.judge(n, err)
}

// mayShare reports whether the execution may share a statement, in a slot or on the base row: it
// has exactly the arguments of the statement, and its session is as the connector opened it.
func (r *Run) mayShare() bool {
	return len(r.call.options) == 0 && len(r.call.args) == r.Plan.Inputs && r.conn.AsConnected()
}

// commonArgs appends the arguments that all executions of a shared statement have in common; false
// if one has a type whose equality is not plain.
func (r *Run) commonArgs(b []byte, args []rewrite.Arg) ([]byte, bool) {
	for _, a := range args {
		if a.Slot || a.Total > 0 || a.Bound > 0 || a.Free {
			continue
		}
		v, ok := r.value(a)
		if !ok {
			return nil, false
		}
		if b, ok = slots.AppendValue(append(b, ','), v); !ok {
			return nil, false
		}
	}
	return b, true
}

// adds returns what the execution adds to a counter, in units of its last digit.
func (r *Run) adds(s rewrite.Share) (int64, bool) {
	if s.Arg == nil {
		return s.Literal.Of(r.Plan.Values), true
	}
	v, ok := r.value(*s.Arg)
	if !ok {
		return 0, false
	}
	n, ok := units(v.Value, s.Scale)
	if s.Arg.Negate {
		n = -n
	}
	return n, ok && n >= -s.Max && n <= s.Max
}

// units returns a number in units of the last of scale digits after the decimal point; false if it
// is no number, or has more digits.
func units(v any, scale int) (int64, bool) {
	kind, n, text := readArgument(v)
	switch kind {
	case signedArgument, unsignedArgument:
		least := int64(0)
		if kind == signedArgument {
			least = -maxUnits
		}
		return n * int64(math.Pow10(scale)), n >= least && n <= maxUnits
	case textArgument:
		return decimalUnits(text, scale)
	}
	return 0, false
}

// maxUnits times ten to the largest scale is within 64 bits.
const maxUnits = 1 << 42

func decimalUnits(s string, scale int) (int64, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > scale || len(whole) > 13 {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", scale-len(frac)), 10, 64)
	return n, err == nil
}

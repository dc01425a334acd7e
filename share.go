package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// This file is an execution's way through the coalescer.

// share runs the increment together with others of the same row that are under
// way. It says what has become of it: counted, failed with the error, or alone,
// when nothing has been applied and it is to run by itself.
func (r *run) share(ctx context.Context) verdict {
	own := verdict{outcome: alone}
	co := r.plan.Increment.Coalesced
	if co == nil || len(r.call.options) > 0 || !r.conn.asConnected() {
		return own
	}
	n := len(co.Shares)
	values := make([]int64, n+len(co.Key))
	m := &member{adds: values[:n:n], key: values[n:], used: r.conn.led}
	var ok bool
	for i, s := range co.Shares {
		if m.adds[i], ok = r.adds(s); !ok {
			return own
		}
	}
	seats := r.seats()
	many := r.known(co, m, &seats)
	key := shareKey{node: r.conn.node.number}
	if many {
		key.text = co.Many.SQL
	} else if key, ok = r.shareKey(co); !ok {
		return own
	}
	m.verdict = make(chan verdict, 1)
	for range 3 {
		v := verdict{outcome: lead, batch: r.conn.shared.coalescer.join(key, co.Shares, many, seats, m)}
		for v.outcome == lead {
			if v.batch == nil {
				v = m.wait(ctx)
			} else {
				v = r.lead(ctx, m, v.batch)
			}
			switch {
			case v.outcome != lead:
			case v.batch == nil:
				v.batch = m.group.take(m)
			default:
				m.accept()
			}
		}
		if v.outcome != again {
			return v
		}
	}
	return own
}

// known says that the increment may share a statement with those of other rows:
// its row has a slot, and is told from others by numbers.
func (r *run) known(co *rewrite.Coalesced, m *member, seats *seats) bool {
	if co.Many == nil {
		return false
	}
	for i, k := range co.Key {
		m.key[i] = k.Literal
		if k.Arg == nil {
			continue
		}
		v, ok := r.value(*k.Arg)
		if !ok {
			return false
		}
		switch n := v.Value.(type) {
		case int64:
			m.key[i] = n
		case int:
			m.key[i] = int64(n)
		default:
			return false
		}
	}
	row := rowKey{r.plan.Increment.Table.Counter.Slotted(), numbers(m.key), r.conn.node.number}
	if !seats.settled(row) {
		return false
	}
	m.row = row
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

// lead runs the statement of a batch, and tells its members.
func (r *run) lead(ctx context.Context, m *member, b *batch) verdict {
	if len(b.members) == 1 {
		defer m.group.next()
		return r.leadAlone(ctx, r.placeOf(b))
	}
	r.conn.led++
	p := place{ordinal: -1}
	if len(b.rows) == 1 {
		p = r.placeOf(b)
	}
	if ctx.Done() == nil {
		r.runShared(ctx, m, b, p)
		return (<-m.verdict).forLeader()
	}
	// The statement is also the others', so it outlives this caller's context:
	// it runs beside the caller, who may leave while the connection is lent.
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.mu.Lock()
	b.cancel = cancel
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer cancel()
		defer close(done)
		r.runShared(shared, m, b, p)
	}()
	v := m.wait(ctx)
	if v.outcome == left {
		r.conn.lent = done
		return v
	}
	<-done
	return v.forLeader()
}

// leadAlone runs the increment as it is, while others may queue behind it.
func (r *run) leadAlone(ctx context.Context, p place) verdict {
	start := time.Now()
	res, n, err := r.addTo(ctx, p, false, true)
	r.conn.shared.coalescer.pace.note(time.Since(start))
	switch {
	case err != nil && !r.conn.engine.slotFull(err):
		return verdict{outcome: failed, err: err}
	case n == 0:
		return verdict{outcome: alone}
	}
	return verdict{outcome: counted, result: res}
}

// placeOf is the place of a batch of one row.
func (r *run) placeOf(b *batch) place {
	if b.many {
		return b.rows[0].place
	}
	return r.place()
}

// runShared runs the one statement of a batch and tells its members, the leader
// last. It may run beside the leader's caller, and so changes nothing of the
// connection but what its statements themselves do.
func (r *run) runShared(ctx context.Context, m *member, b *batch, p place) {
	v := verdict{outcome: failed, err: errLeaderGone}
	start := time.Now()
	defer func() {
		r.conn.shared.coalescer.pace.note(time.Since(start))
		if len(b.rows) > 1 && v.outcome == alone {
			m.group.split(b) // tells the leader, too
			m.group.next()
			return
		}
		b.tell(v)
		m.group.next() // now that their callers may be back
		m.verdict <- v
	}()
	shared := *r
	shared.with = b
	var n int64
	var err error
	if len(b.rows) > 1 {
		v.result, n, err = shared.addMany(ctx)
		if v.outcome, v.err = r.judgeMany(n, err, len(b.rows)); v.outcome == counted {
			r.conn.shared.placement.met(b.rows[0].row.table)
		}
	} else {
		v.result, n, err = shared.addTo(ctx, p, false, true)
		v.outcome, v.err = r.judge(n, err)
	}
	if v.outcome == counted {
		r.plan.tally.shared(len(b.members) - 1)
	}
}

// addMany adds to slots of many rows. Those that a roll-up or a drain has deleted
// since they were made it makes again; what is in the way of that, too, is for
// each row to find out.
func (r *run) addMany(ctx context.Context) (res driver.Result, n int64, err error) {
	seats := r.seats()
	defer func() {
		for _, row := range r.with.rows {
			seats.leave(row.place)
		}
	}()
	co := r.plan.Increment.Coalesced
	res, n, err = r.own(ctx, co.Many)
	if co.UpsertMany == nil || err == nil || ctx.Err() != nil || r.conn.engine.lockTimeout(err) || !r.conn.engine.notApplied(err) {
		return res, n, err
	}
	if res, n, err = r.own(ctx, co.UpsertMany); err == nil {
		r.made()
		n = min(n, int64(len(r.with.rows))) // it counts a row that was there twice
	}
	return res, n, err
}

// errLeaderGone is what members are told when their leader panics.
var errLeaderGone = &lostError{"the goroutine running the coalesced statement panicked"}

// judge says what the result of a shared statement means for each member.
func (r *run) judge(n int64, err error) (outcome, error) {
	switch {
	case err == nil && n > 0:
		return counted, nil
	case err == nil, r.conn.engine.slotFull(err):
		return alone, nil // no row, or a counter near a limit: each for itself
	case errors.Is(err, driver.ErrBadConn):
		return again, nil // the parent says so only when nothing has been sent
	case r.conn.engine.lockTimeout(err):
		return failed, err // each has waited as long as the leader
	case r.conn.engine.notApplied(err):
		return alone, nil
	}
	return failed, err
}

// judgeMany says what the result of a statement for many rows means: it has
// updated all of them, or none.
func (r *run) judgeMany(n int64, err error, rows int) (outcome, error) {
	switch {
	case err == nil && n == int64(rows):
		return counted, nil
	case err == nil && n != 0:
		return failed, &lostError{fmt.Sprintf("of %d rows only %d were counted", rows, n)}
	case err != nil && r.conn.engine.lockTimeout(err):
		return alone, nil // it does not wait at all
	}
	return r.judge(n, err)
}

// shareKey is what this execution must have in common with others.
func (r *run) shareKey(co *rewrite.Coalesced) (shareKey, bool) {
	var b []byte
	for _, a := range co.Upsert.Args {
		if a.Slot || a.Total > 0 || a.Free {
			continue
		}
		v, ok := r.value(a)
		if !ok {
			return shareKey{}, false
		}
		if b, ok = appendValue(append(b, ','), v); !ok {
			return shareKey{}, false
		}
	}
	return shareKey{co.Upsert.SQL, string(b), r.conn.node.number}, true
}

// adds returns what the execution adds to a counter, in units of its last digit.
func (r *run) adds(s rewrite.Share) (int64, bool) {
	if s.Arg == nil {
		return s.Literal, true
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

// units returns a number in units of a digit behind the point; false when it is
// none, or has more digits.
func units(v any, scale int) (int64, bool) {
	factor := int64(math.Pow10(scale))
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := rv.Int()
		return n * factor, n >= -maxUnits && n <= maxUnits
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := rv.Uint()
		return int64(n) * factor, n <= maxUnits
	case reflect.String:
		return decimalUnits(rv.String(), scale)
	}
	if b, ok := v.([]byte); ok {
		return decimalUnits(string(b), scale)
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

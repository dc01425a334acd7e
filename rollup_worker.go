package slotsql

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// rollUpWorker moves slots into base rows, on a connection of its own. What is
// exact about it is in the dialects' texts and in each batch being one
// transaction; nothing depends on what the worker remembers.
type rollUpWorker struct {
	catalog *catalog
	dialect dialect.RollUpper
	options RollUpOptions
	holder  string

	free  bool // without a lease: two at a time are exact, and this one is to be quick
	conn  *view
	lost  bool      // the connection is not to be used again
	until time.Time // the lease is held, as far as is known
	size  int       // slot rows of a batch
	swept time.Time // when slots that hold nothing were last deleted
}

// rollUpLease is the name of the lease.
const rollUpLease = "roll-up"

// Batches aim at this time, so that an increment that meets one hardly notices.
const batchAim = 10 * time.Millisecond

func newRollUpWorker(s *catalog, o RollUpOptions) (*rollUpWorker, error) {
	o = o.withDefaults(s.config)
	return &rollUpWorker{catalog: s, options: o, holder: rand.Text(), size: min(firstBatch, o.Batch)}, nil
}

const firstBatch = 100

// open makes the connection, and returns the tables as they are now.
func (w *rollUpWorker) open(ctx context.Context) (*schema, error) {
	if w.lost || w.conn != nil && w.conn.broken {
		w.close()
	}
	if w.conn == nil {
		raw, err := w.catalog.dial(ctx)
		if err != nil {
			return nil, err
		}
		if err := w.catalog.meet(ctx, raw); err != nil {
			_ = raw.Close()
			return nil, err
		}
		w.conn, w.lost = ownView(ctx, w.catalog, raw), false
		w.dialect = w.catalog.dialect
		if err := w.conn.session().execAll(ctx, w.dialect.RollUpSession()); err != nil {
			return nil, err
		}
	}
	return w.catalog.open(ctx, w.conn)
}

func (w *rollUpWorker) close() {
	if w.conn != nil {
		w.conn.prepared.close()
		_ = w.conn.parent.Close()
	}
	w.conn, w.until = nil, time.Time{}
}

// fencer is where the lease is; nil where none is needed because only one
// connection writes at a time.
func (w *rollUpWorker) fencer() dialect.Fencer {
	f, ok := w.catalog.dialect.(dialect.Fencer)
	if !ok || w.free {
		return nil
	}
	return f
}

// lease takes the lease or extends it, when that is due.
func (w *rollUpWorker) lease(ctx context.Context) (held bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchPatience)
	defer cancel()
	f := w.fencer()
	now := time.Now()
	if f == nil || now.Before(w.until.Add(-w.options.Lease*2/3)) {
		return true, nil
	}
	held, err = f.Lease(ctx, w.conn.session(), rollUpLease, w.holder, int(max(w.options.Lease/time.Second, 1)))
	if err != nil && w.conn.engine.schemaChanged(err) {
		if !w.catalog.config.AutoMigrate() {
			return false, fmt.Errorf("slotsql: the roll-up needs table %s: run `slotsql migrate`: %w", dialect.LeaseTable, err)
		}
		if err := w.conn.migrate(ctx, f.CreateLeases()); err != nil {
			return false, err
		}
		held, err = f.Lease(ctx, w.conn.session(), rollUpLease, w.holder, int(max(w.options.Lease/time.Second, 1)))
	}
	if err != nil && w.conn.engine.retryable(err) {
		held, err = false, nil // somebody else has its row: a batch is under way, or a take-over
	}
	if w.until = (time.Time{}); held {
		w.until = now.Add(w.options.Lease)
	}
	return held, err
}

// release ends the lease, so that another worker need not wait for that.
func (w *rollUpWorker) release(ctx context.Context) {
	if f := w.fencer(); f != nil && w.conn != nil && !w.lost && !w.until.IsZero() {
		for range 5 {
			if err := f.Release(ctx, w.conn.session(), rollUpLease, w.holder); err == nil || !w.conn.engine.retryable(err) {
				break
			}
			time.Sleep(10 * time.Millisecond) // another one is looking at it
		}
	}
	w.until = time.Time{}
}

// pass goes over all tables once. Slots that hold nothing are deleted first,
// when that is due: those that the pass before has emptied, and nobody has
// counted in since.
func (w *rollUpWorker) pass(ctx context.Context) (report RollUpReport, err error) {
	return w.over(ctx, func(*rewrite.Table) bool { return true }, time.Since(w.swept) >= w.options.Idle)
}

// journals goes over the tables whose slots are a journal, and leaves what holds
// nothing to a pass.
func (w *rollUpWorker) journals(ctx context.Context) (report RollUpReport, err error) {
	return w.over(ctx, func(t *rewrite.Table) bool { return t.Counter.Journal }, false)
}

// over goes over some of the tables once.
func (w *rollUpWorker) over(ctx context.Context, these func(*rewrite.Table) bool, sweep bool) (report RollUpReport, err error) {
	start := time.Now()
	defer func() { report.Took = time.Since(start) }()
	sc, err := w.open(ctx)
	if err != nil {
		w.lost = true
		return report, err
	}
	if report.Held, err = w.lease(ctx); err != nil || !report.Held {
		return report, err
	}
	for _, t := range sc.Counters() {
		if !these(t) {
			continue
		}
		tr := RollUpTable{Table: t.Name}
		tally := rollUpTallyOf(w.catalog.dialect.Name(), t.Name)
		begun := time.Now()
		err := w.table(ctx, t, sweep, &tr)
		tally.pass(tr, begun, err == nil)
		report.Tables = append(report.Tables, tr)
		if err != nil {
			if w.conn.engine.schemaChanged(err) {
				w.catalog.expire()
			}
			if errors.Is(err, errFenced) {
				w.until, report.Held = time.Time{}, false
				return report, nil
			}
			return report, err
		}
	}
	if sweep {
		w.swept = start
	}
	if sc.lacking && w.catalog.beside {
		w.catalog.expire() // slot tables may be made at any time
	}
	return report, nil
}

func (w *rollUpWorker) table(ctx context.Context, t *rewrite.Table, sweep bool, tr *RollUpTable) error {
	if sweep {
		if err := w.walk(ctx, t, sweepSlots, tr); err != nil {
			return err
		}
		if err := w.walk(ctx, t, reclaimSlots, tr); err != nil {
			return err
		}
	}
	return w.walk(ctx, t, moveSlots, tr)
}

// walk does a job for all keys, a batch at a time, in their order.
func (w *rollUpWorker) walk(ctx context.Context, t *rewrite.Table, job rollUpJob, tr *RollUpTable) error {
	var after []any
	for {
		keys, all, err := w.find(ctx, t, job, after)
		if err != nil {
			w.lost = true
			return err
		}
		for len(keys) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if held, err := w.lease(ctx); err != nil {
				w.lost = true
				return err
			} else if !held {
				return errFenced
			}
			n, rows := 1, keys[0].rows
			for job != reclaimSlots && n < len(keys) && rows+keys[n].rows <= w.size {
				rows += keys[n].rows
				n++
			}
			ok, err := w.try(ctx, t, job, after, keys[:n], rows, tr)
			if err != nil {
				return err
			}
			if !ok {
				continue // with smaller batches
			}
			after, keys = keys[n-1].values, keys[n:]
		}
		if all {
			return nil
		}
	}
}

// try runs one batch. It says no when the batch is to be tried again, smaller;
// a batch of one key that fails for long is left for the next pass.
func (w *rollUpWorker) try(ctx context.Context, t *rewrite.Table, job rollUpJob, after []any, keys []rollUpKey, rows int, tr *RollUpTable) (ok bool, err error) {
	upTo := keys[len(keys)-1].values
	for attempt := 0; ; attempt++ {
		start := time.Now()
		var n batchCount
		most := max(w.size, 2) // two can be merged
		n, err = w.batch(ctx, t, job, after, upTo, most)
		if err == nil {
			took := rows
			if w.partly(t, job) {
				took = min(rows, most)
			}
			tr.count(job, n, took)
			if w.options.Progress != nil && job == moveSlots {
				w.options.Progress(took)
			}
			w.pace(time.Since(start), took)
			// Of a journal there may be more; what has come since is for the
			// next pass.
			if rows -= took; rows > 0 && max(n.done, n.merged) >= most {
				if err := ctx.Err(); err != nil {
					return false, err
				}
				if held, err := w.lease(ctx); err != nil || !held {
					w.lost = err != nil
					return false, cmp.Or(err, errFenced)
				}
				attempt = -1
				continue
			}
			tr.Skipped += max(rows, 0)
			return true, nil
		}
		if w.lost || errors.Is(err, errFenced) || errors.Is(err, driver.ErrBadConn) {
			w.lost = w.lost || !errors.Is(err, errFenced)
			return false, err
		}
		if errors.Is(err, errLeft) {
			if len(keys) > 1 {
				w.size = max(rows/2, 1)
				return false, nil
			}
			job = keepLatest
			continue
		}
		conflict := w.conn.engine.retryable(err)
		if conflict {
			tr.Conflicts++
		} else if w.conn.engine.schemaChanged(err) {
			return false, err
		}
		if len(keys) > 1 {
			w.size = max(rows/2, 1)
			return false, w.rest(ctx, conflict, attempt)
		}
		if !conflict || attempt >= 3 {
			tr.Skipped += rows
			if !conflict {
				if tr.Err == nil || tr.Err.Error() != err.Error() {
					w.catalog.log().WarnContext(ctx, "slotsql: slots cannot be rolled up", "table", t.Name, "error", err.Error())
				}
				tr.Errors++
				tr.Err = err
			}
			return true, nil
		}
		if err := w.rest(ctx, true, attempt); err != nil {
			return false, err
		}
	}
}

// partly says that a batch may be for a part of a row's slots: they need not move
// together, and there may be any number of them.
func (w *rollUpWorker) partly(t *rewrite.Table, job rollUpJob) bool {
	return t.Counter.Journal && job == moveSlots && !w.catalog.traits.OneWriter &&
		!slices.ContainsFunc(t.Counter.Companions, func(co rewrite.Companion) bool { return co.Merge == rewrite.Latest })
}

// rest waits after a conflict, longer each time.
func (w *rollUpWorker) rest(ctx context.Context, conflict bool, attempt int) error {
	if !conflict {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Millisecond << min(attempt, 6)):
		return nil
	}
}

// pace fits the batches' size to the time they take.
func (w *rollUpWorker) pace(took time.Duration, rows int) {
	switch {
	case took > 2*batchAim:
		w.size = max(min(w.size, rows)/2, 1)
	case took < batchAim && rows >= w.size/2:
		w.size = min(w.size*2, w.options.Batch)
	}
}

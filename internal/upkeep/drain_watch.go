package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// What a drain says of the time after it.
//
// A drain leaves no slot row of a table, so each that is there later has been
// made since: an application counts in slots. Right after the drain there may be none
// all the same, while its transaction has kept them all waiting. So tables are
// watched for a while after the last of them is drained, and then each is locked
// once more as for a drain. The lock is behind the increments that have waited for
// the first one, and waits for those in flight; what is not there then has not
// been made. Nothing tells what an application does afterwards.

// watch fills in what has come since the tables were drained.
func (d *drainer) watch(ctx context.Context, tables []*schema.Table, reports []DrainReport, howLong time.Duration) error {
	for until := time.Now().Add(howLong); ; {
		quiet := false
		for i, t := range tables {
			if reports[i].Refilled > 0 {
				continue
			}
			n, err := d.count(ctx, t, rollup.MoveSlots, rollup.SweepSlots)
			if err != nil {
				return notWatched(t, err)
			}
			reports[i].Refilled = max(n-reports[i].stayed, 0)
			quiet = quiet || reports[i].Refilled == 0
		}
		if !quiet || time.Now().After(until) {
			break
		}
		if err := d.mover.Rest(ctx, true, 0); err != nil {
			return err
		}
	}
	// An increment that has waited for an update of a slot row, and found none, has
	// an upsert to come: the next look is behind that.
	for range looks {
		for i, t := range tables {
			if r := &reports[i]; r.Refilled == 0 {
				if err := d.look(ctx, t, r); err != nil {
					return notWatched(t, err)
				}
			}
		}
		if err := d.mover.Rest(ctx, true, 0); err != nil {
			return err
		}
	}
	return nil
}

// looks is how often tables without new slot rows are locked and looked at.
const looks = 3

func notWatched(t *schema.Table, err error) error {
	return fmt.Errorf(
		"slotsql: table %s is drained, but slotsql could not check whether applications still count in its slots: %w",
		t.Name,
		err,
	)
}

// look counts slot rows with the table locked.
func (d *drainer) look(ctx context.Context, t *schema.Table, r *DrainReport) error {
	count := func(statements dialect.RollUp) error {
		empty := time.Now()
		n, err := d.present(ctx, statements.Find, statements.Idle)
		if err != nil {
			return err
		}
		r.Refilled = max(n-r.stayed, 0)
		if r.Refilled == 0 {
			r.Empty = empty
		}
		return nil
	}
	if done, err := d.withoutWriters(ctx, t, count); err != nil || done {
		return err
	}
	locked := rewrite.DrainAll(d.shared.Dialect, t)
	locked.Folding = rewrite.FoldNothing
	return d.patiently(ctx, func() error {
		return d.locked(ctx, locked, func() error { return count(d.mover.Statements(t, nil)) })
	})
}

// present counts slot rows on the connection that has the table locked: all that
// Steps find, if these are not very many.
func (d *drainer) present(ctx context.Context, steps ...dialect.Step) (n int, err error) {
	for _, step := range steps {
		rows, err := d.conn.Session().Query(ctx, step.SQL)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			of, err := link.WholeOf(row[len(row)-1])
			if err != nil {
				return 0, err
			}
			n += of
		}
	}
	return n, nil
}

// patiently runs f again while others are in its way.
func (d *drainer) patiently(ctx context.Context, f func() error) error {
	deadline := time.Now().Add(d.patience)
	for attempt := 0; ; attempt++ {
		err := f()
		if err == nil || d.conn == nil || !d.conn.Engine.Retryable(err) || time.Now().After(deadline) {
			return err
		}
		if err := d.mover.Rest(ctx, true, attempt); err != nil {
			return err
		}
	}
}

// locked runs f in a transaction that has the table as a drain has it.
func (d *drainer) locked(ctx context.Context, rows rewrite.DrainTable, f func() error) error {
	if err := d.open(ctx); err != nil {
		return err
	}
	p := &rewrite.Plan{Class: rewrite.Drain, Drain: rewrite.DrainPlan{Tables: []rewrite.DrainTable{rows}}}
	return d.conn.InOwnTx(ctx, func() error {
		if err := d.conn.DrainFor(ctx, p, nil); err != nil {
			return err
		}
		return f()
	})
}

var errNotDrained = errors.New("slot rows remain after a drain: this is a bug in slotsql; nothing has been changed")

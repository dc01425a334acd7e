package rollup

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// batchPatience bounds a batch, which is not interrupted when the worker is
// stopped.
const batchPatience = 30 * time.Second

// errFenced is the error of a worker that has lost the lease to another one.
var errFenced = errors.New("slotsql: the roll-up has lost its lease")

// Job is what a batch does.
type Job int

// The jobs.
const (
	MoveSlots    Job = iota // into their base rows
	SweepSlots              // deletes those that hold nothing
	ReclaimSlots            // deletes those without a base row
	keepLatest              // MoveSlots without the companions that must move together
)

// errLeft is the error of a batch that cannot move what must move together.
var errLeft = errors.New("slotsql: another transaction has locked rows that must be rolled up together")

// errProbed is the error of a batch that has met rows which another transaction has locked, where
// to look at them again could make that transaction a deadlock's victim.
var errProbed = errors.New("slotsql: another transaction has locked rows of the batch")

// Key is a key as the database gives it, with the number of its slot rows
// that a job is for.
type Key struct {
	Values []any
	Rows   int
}

// Find returns the keys that a job is for, after one key where that is not nil,
// and whether they are all there are.
func (w *Worker) Find(ctx context.Context, t *schema.Table, job Job, after []any) (keys []Key, all bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchPatience)
	defer cancel()
	statements := w.Statements(t, after)
	step := statements.Find
	switch job {
	case SweepSlots:
		step = statements.Idle
	case ReclaimSlots:
		step = statements.Orphans
	}
	rows, err := w.query(ctx, step, after)
	if err != nil {
		return nil, false, err
	}
	for _, r := range rows {
		n := len(r) - 1
		count, err := link.WholeOf(r[n])
		if err != nil {
			return nil, false, err
		}
		for i, v := range r[:n] {
			if b, ok := v.([]byte); ok && statements.BytesAreText {
				r[i] = string(b)
			}
		}
		keys = append(keys, Key{r[:n], count})
	}
	return keys, statements.Unordered || len(keys) < findLimit, nil
}

// findLimit is how many keys are looked for at once.
const findLimit = 1000

// batch does a job for the keys from one to another, in one transaction, and
// returns the number of slot rows. Either all of it has happened or nothing; an
// error of the commit leaves that open, and the next pass finds what is there.
// Where most is more than 0, it takes so many slot rows at most. Of a journal it merges
// what it cannot move. Least is how many slot rows it has to pick where it must not look at locked
// ones, or 0.
func (w *Worker) batch(ctx context.Context, t *schema.Table, job Job, first, last []any, most, least int) (n batchCount, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchPatience)
	defer cancel()
	statements := w.dialect.RollUp(t, dialect.RollUpPart{Between: len(first) > 0, Limit: findLimit, Rows: most})
	begun := false
	if err = w.Conn.Session().ExecAll(ctx, statements.Begin); err == nil {
		begun = true
		n, err = w.work(ctx, &statements, job, Bounds(t, first, last), most, least)
	}
	if err == nil {
		err = w.Conn.Session().ExecAll(ctx, statements.Commit)
	}
	if err == nil {
		return n, nil
	}
	if job == MoveSlots || job == keepLatest {
		err = w.Conn.Engine.ExplainNotMoved(t, err)
	}
	if rerr := w.Conn.Session().ExecAll(ctx, statements.Rollback); rerr != nil && (begun || !w.Conn.Engine.Retryable(err)) {
		w.state.lose()
	}
	return batchCount{}, err
}

// batchCount is what a batch has done, in slot rows: how many it has moved or
// deleted, and how many it has merged, of which one is left for each key.
type batchCount struct{ done, merged int }

func (w *Worker) work(ctx context.Context, statements *dialect.RollUp, job Job, values []any, most, least int) (n batchCount, err error) {
	switch job {
	case SweepSlots, ReclaimSlots:
		if err := w.fence(ctx); err != nil {
			return n, err
		}
		steps := statements.Sweep
		if job == ReclaimSlots {
			steps = statements.Reclaim
		}
		for _, s := range steps {
			if n.done, err = w.exec(ctx, s, values); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	steps := statements.Move
	if job == keepLatest {
		steps = statements.Keep
	}
	if !statements.Probes {
		least = 0
	}
	if n.done, err = w.picked(ctx, statements.Pick, steps, statements.Unmoved, values, least); err != nil {
		return n, err
	}
	if job == MoveSlots && n.done > 0 && statements.Left.SQL != "" {
		rows, err := w.query(ctx, statements.Left, values)
		if err != nil {
			return n, err
		}
		if left, err := link.WholeOf(rows[0][0]); left > 0 || err != nil {
			return n, errors.Join(err, errLeft)
		}
	}
	if len(statements.Merge) > 0 && (most == 0 || n.done < most) { // else there is more to move
		n.merged, err = w.picked(ctx, statements.Gather, statements.Merge, dialect.Step{}, values, 0)
	}
	return n, err
}

// fence makes certain that the worker has the lease until the batch ends.
func (w *Worker) fence(ctx context.Context) error {
	f := w.fencer()
	if f == nil {
		return nil
	}
	held, err := f.Fence(ctx, w.Conn.Session(), leaseName, w.holder)
	if err == nil && !held {
		err = errFenced
	}
	return err
}

// picked locks slot rows by one statement and works on them by others, and returns
// their number.
func (w *Worker) picked(
	ctx context.Context,
	pick dialect.Step,
	steps []dialect.Step,
	unmoved dialect.Step,
	values []any,
	least int,
) (n int, err error) {
	rows, err := w.query(ctx, pick, values)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 {
		return 0, fmt.Errorf("slotsql: the roll-up's query returned %d rows, want 1", len(rows))
	}
	if n, err = link.WholeOf(rows[0][0]); n == 0 || err != nil {
		return 0, err
	}
	if n < least {
		return 0, errProbed
	}
	// Not before: where the transaction has one snapshot, what others change after it
	// cannot be picked.
	if err := w.fence(ctx); err != nil {
		return 0, err
	}
	values = append(values[:len(values):len(values)], rows[0][1:]...)
	for i, s := range steps {
		if _, err := w.exec(ctx, s, values); err != nil {
			return 0, err
		}
		if i == 0 && unmoved.SQL != "" {
			reasons, err := w.query(ctx, unmoved, values)
			if err != nil {
				return 0, err
			}
			if len(reasons) > 0 {
				return 0, link.ErrUnmoved(link.TextOf(reasons[0][0]))
			}
		}
	}
	return n, nil
}

// Bounds are the values of both keys, as the steps count them.
func Bounds(t *schema.Table, first, last []any) []any {
	values := make([]any, 2*len(t.Counter.Key))
	copy(values, first)
	copy(values[len(t.Counter.Key):], last)
	return values
}

// Statements returns the statements of the jobs for the keys after one, or for all.
func (w *Worker) Statements(t *schema.Table, after []any) dialect.RollUp {
	return w.dialect.RollUp(t, dialect.RollUpPart{After: len(after) > 0, Limit: findLimit})
}

// Args returns the arguments of a step.
func (w *Worker) Args(s dialect.Step, values []any) []driver.NamedValue {
	args := make([]any, len(s.Args))
	for i, a := range s.Args {
		args[i] = values[a]
	}
	return link.NamedValues(args)
}

// exec runs a step, by a statement kept prepared where the parent takes
// arguments no other way.
func (w *Worker) exec(ctx context.Context, s dialect.Step, values []any) (int, error) {
	args := w.Args(s, values)
	var res driver.Result
	err := driver.ErrSkip
	if e, ok := w.Conn.Parent.(driver.ExecerContext); ok {
		res, err = e.ExecContext(ctx, s.SQL, args)
	}
	if err == driver.ErrSkip {
		st, perr := w.Conn.Kept.Get(ctx, &w.Conn.Conn, s.SQL, s.SQL)
		if perr != nil {
			return 0, perr
		}
		if st != nil {
			res, err = link.StmtExec(ctx, st, args)
		} else {
			res, err = w.Conn.ParentExec(ctx, s.SQL, args)
		}
	}
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// query is exec for a query.
func (w *Worker) query(ctx context.Context, s dialect.Step, values []any) ([][]any, error) {
	args := w.Args(s, values)
	var rows driver.Rows
	err := driver.ErrSkip
	if q, ok := w.Conn.Parent.(driver.QueryerContext); ok {
		rows, err = q.QueryContext(ctx, s.SQL, args)
	}
	if err == driver.ErrSkip {
		if rows, err = w.Conn.Kept.Query(ctx, &w.Conn.Conn, s.SQL, s.SQL, args); rows == nil && err == nil {
			rows, err = w.Conn.ParentQuery(ctx, s.SQL, args)
		}
	}
	if err != nil {
		return nil, err
	}
	return link.Collect(rows)
}

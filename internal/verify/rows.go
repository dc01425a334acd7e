package verify

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An audit of rows has two steps. A query finds what looks wrong: it is one
// statement, so base values, slots and the recount are of one snapshot. Then each
// such row is locked and folded as for a drain, and looked at again, by a
// statement that begins afterwards: no increment of it is in flight,
// and every earlier increment is committed. What is wrong then is reported,
// or put right in the same transaction; else it is rolled back, and the fold
// with it.
//
// The level is READ COMMITTED, at which each statement sees what the locks have
// waited for. Locks are taken in the order in which the query returns rows; a
// deadlock is tried again.

// verifier audits tables, on a connection of its own. (The mover's has settings
// of a roll-up.)
type verifier struct {
	options    Options
	shared     *session.Shared
	mover      *rollup.Worker
	conn       *session.Conn
	statements dialect.RollUp // of the table, without a part
}

func (v *verifier) close() {
	if v.conn != nil {
		v.conn.Kept.Close()
		_ = v.conn.Parent.Close()
		v.conn = nil
	}
}

func (v *verifier) open(ctx context.Context) error {
	if v.conn != nil && v.conn.Rare.Any(link.Broken) {
		v.close()
	}
	if v.conn != nil {
		return nil
	}
	raw, err := v.shared.Dial(ctx)
	if err != nil {
		return err
	}
	v.conn = session.OwnConn(ctx, v.shared, raw)
	if _, err := v.shared.Open(ctx, &v.conn.View); err != nil {
		return err
	}
	return v.conn.LimitLockWaits(ctx)
}

// planned says why a query cannot be read beside others; nil if it can.
func (v *verifier) planned(ctx context.Context, query string) error {
	if err := v.open(ctx); err != nil {
		return err
	}
	p, err := v.conn.Plan(ctx, query)
	switch {
	case err != nil:
		return err
	case p.Inputs > 0:
		return errors.New("takes an argument: write a query without placeholders")
	case p.Class != rewrite.Read && p.Class != rewrite.PassThrough: // the latter without slots
		return fmt.Errorf("is not a query that slotsql can rewrite: %s", p.Reason)
	}
	// One that the database rejects is the configuration's fault, too.
	_, err = v.query(ctx, query)
	return err
}

// query runs a query as an application would.
func (v *verifier) query(ctx context.Context, query string, args ...any) ([][]any, error) {
	rows, err := v.conn.QueryContext(ctx, query, link.NamedValues(args))
	if err == driver.ErrSkip {
		st, perr := v.conn.PrepareContext(ctx, query)
		if perr != nil {
			return nil, perr
		}
		defer st.Close()
		rows, err = st.(driver.StmtQueryContext).QueryContext(ctx, link.NamedValues(args))
	}
	if err != nil {
		return nil, err
	}
	return link.Collect(rows)
}

// atOnce is how many rows are locked together: a recount runs once for them.
const atOnce = 50

// wrong finds rows that a criterion finds wrong.
func (v *verifier) wrong(ctx context.Context, c *criterion, r *Report) error {
	if err := v.open(ctx); err != nil {
		return err
	}
	found, err := v.query(ctx, c.find(""))
	if err != nil {
		return err
	}
	n := len(c.t.Counter.Key)
	for len(found) > 0 {
		part := found[:min(atOnce, len(found))]
		found = found[len(part):]
		var keys [][]any
		for _, row := range part {
			keys = append(keys, v.arguments(row[:n]))
		}
		var findings []Finding
		err := v.locked(ctx, c.audit, keys, func() (fixed bool, err error) {
			findings, err = v.recheck(ctx, c, keys)
			for _, f := range findings {
				fixed = fixed || f.Fixed
			}
			return fixed, err
		})
		if err != nil {
			return err
		}
		r.Findings = append(r.Findings, findings...)
		v.progress(len(part))
	}
	return nil
}

func (v *verifier) progress(n int) {
	if v.options.Progress != nil {
		v.options.Progress(n)
	}
}

// recheck looks at locked rows again, and fixes them.
func (v *verifier) recheck(ctx context.Context, c *criterion, keys [][]any) (out []Finding, err error) {
	n := len(c.t.Counter.Key)
	var args []any
	for _, k := range keys {
		args = append(args, k...)
	}
	again := c.find(c.among(auditAlias, len(keys)))
	rows, err := v.query(ctx, again, args...)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, row := range rows {
		f := Finding{Kind: c.kind, Counter: c.counter, Key: v.key(c.t, row[:n]), Is: valueText(row[n]), Should: valueText(row[n+1])}
		if id := fmt.Sprint(f.Key); seen[id] {
			return nil, fmt.Errorf("the recount of %s returns more than one row for %s", c.counter, rowText(f.Key, c.t))
		} else {
			seen[id] = true
		}
		if c.recounts && v.options.Fix {
			values := append([]any{f.Should}, v.arguments(row[:n])...)
			if _, err := v.conn.ParentExec(ctx, c.set(), link.NamedValues(values)); err != nil {
				return nil, err
			}
			f.Fixed = true
		}
		out = append(out, f)
	}
	if len(out) > 0 && out[0].Fixed {
		left, err := v.query(ctx, again, args...)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("column %s does not accept the value %s", c.counter, valueText(left[0][n+1]))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// locked runs f in a transaction that has drained the rows of the keys; it is
// committed if f says so, else rolled back. Others that are in the way make it
// begin anew.
func (v *verifier) locked(ctx context.Context, a *audit, keys [][]any, f func() (commit bool, err error)) error {
	return v.patiently(ctx, func() error {
		return v.transaction(ctx, func() (bool, error) {
			if err := v.drain(ctx, a, keys, true); err != nil {
				return false, err
			}
			return f()
		})
	})
}

// drain locks rows, and folds their slots.
func (v *verifier) drain(ctx context.Context, a *audit, keys [][]any, fold bool) error {
	if a.t.Counter.Slots == 0 {
		return v.lock(ctx, a, keys)
	}
	rows := rewrite.DrainAll(v.shared.Dialect, a.t)
	if len(a.t.Counter.Key) > 0 {
		rows = rewrite.DrainKey(v.shared.Dialect, a.t, a.bound)
	}
	if !fold {
		rows.Folding = rewrite.FoldNothing
	}
	p := &rewrite.Plan{Class: rewrite.Drain, Reason: "an audit checks the row", Drain: rewrite.DrainPlan{Tables: []rewrite.DrainTable{rows}}}
	for _, k := range keys {
		if err := v.conn.DrainFor(ctx, p, link.NamedValues(k)); err != nil {
			return err
		}
	}
	return nil
}

// lock locks rows of a table without slots. Where one connection writes at a time the
// transaction has the one lock already.
func (v *verifier) lock(ctx context.Context, a *audit, keys [][]any) error {
	if v.shared.Traits.OneWriter {
		return nil
	}
	var args []any
	for _, k := range keys {
		args = append(args, k...)
	}
	_, err := v.query(ctx, "SELECT 1 FROM "+a.base()+" AS "+auditAlias+" WHERE "+a.among(auditAlias, len(keys))+" FOR UPDATE", args...)
	return err
}

func (v *verifier) transaction(ctx context.Context, f func() (commit bool, err error)) (err error) {
	if err := v.open(ctx); err != nil {
		return err
	}
	end, err := v.begin(ctx)
	if err != nil {
		return err
	}
	defer v.conn.Drain.End()
	commit, err := f()
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), link.EndPatience)
	defer cancel()
	if eerr := end(clean, commit && err == nil); eerr != nil {
		v.conn.Rare.Set(link.Broken)
		err = errors.Join(err, eerr)
	}
	v.conn.Drain.Undo() // rolled back with the rest
	return err
}

// begin opens a transaction. Where one connection writes at a time it has the
// one lock from the beginning.
func (v *verifier) begin(ctx context.Context) (end func(ctx context.Context, commit bool) error, err error) {
	if !v.shared.Traits.OneWriter {
		tx, err := v.conn.BeginTx(ctx, driver.TxOptions{Isolation: driver.IsolationLevel(sql.LevelReadCommitted)})
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, commit bool) error {
			if commit {
				return tx.Commit()
			}
			return tx.Rollback()
		}, nil
	}
	statements := v.statements
	if err := v.conn.Session().ExecAll(ctx, statements.Begin); err != nil {
		return nil, err
	}
	return func(ctx context.Context, commit bool) error {
		if commit {
			return v.conn.Session().ExecAll(ctx, statements.Commit)
		}
		return v.conn.Session().ExecAll(ctx, statements.Rollback)
	}, nil
}

// patiently runs f again while others are in its way.
func (v *verifier) patiently(ctx context.Context, f func() error) error {
	deadline := time.Now().Add(v.options.Patience)
	for attempt := 0; ; attempt++ {
		err := f()
		if err == nil || !v.retryable(err) || time.Now().After(deadline) {
			return err
		}
		if err := v.mover.Rest(ctx, true, attempt); err != nil {
			return err
		}
	}
}

func (v *verifier) retryable(err error) bool {
	e := link.EngineOf(v.shared.Dialect)
	return e.Retryable(err)
}

// arguments are the values of a key as they go back to the database.
func (v *verifier) arguments(values []any) []any {
	out := make([]any, len(values))
	for i, x := range values {
		if b, ok := x.([]byte); ok && v.statements.BytesAreText {
			x = string(b)
		}
		out[i] = x
	}
	return out
}

func (v *verifier) key(t *schema.Table, values []any) map[string]string {
	if len(values) == 0 {
		return nil
	}
	out := map[string]string{}
	for i, k := range t.Counter.Key {
		out[k] = valueText(values[i])
	}
	return out
}

// rowText names a row by its key.
func rowText(key map[string]string, t *schema.Table) string {
	var out []string
	for _, k := range t.Counter.Key {
		out = append(out, k+"="+key[k])
	}
	if len(out) == 0 {
		return "the row"
	}
	return strings.Join(out, ", ")
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return string(v)
	case time.Time:
		return v.Format("2006-01-02 15:04:05.999999999")
	}
	return fmt.Sprint(v)
}

func trimmed(err error) string { return strings.TrimPrefix(err.Error(), "slotsql: ") }

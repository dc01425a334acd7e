package slotsql

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/rewrite"
)

// A text of several statements, of which at least one cannot run as it is, is
// run statement by statement.

// execMulti runs the parts one after the other. Where the engine makes such a
// text one transaction (PostgreSQL), so does this: a block is opened before
// the first part that does something, unless the text or the session has
// opened one, and ended after the last.
func (r *run) execMulti(ctx context.Context) (driver.Result, error) {
	traits := &r.conn.shared.traits
	if traits.MultiProbe != "" {
		// The parent may have several statements in one text switched off.
		probe, args := traits.MultiProbe, r.call.args
		if len(args) > 0 {
			probe, args = traits.MultiProbeArg, args[:1]
		}
		if _, err := r.conn.parentExec(ctx, probe, args); err != nil {
			return nil, err
		}
	}
	var end func(error) error
	finish := func(err error) error {
		if end != nil {
			e := end
			end = nil
			return e(err)
		}
		return settled(err)
	}
	var out multiResult
	for _, part := range r.plan.Parts {
		switch {
		case part.TxEnd:
			end = nil // the text's own COMMIT or ROLLBACK ends the block
		case part.TxBegin && end != nil:
			end = nil // the block goes on as the application's
			continue
		case traits.MultiIsTx && !part.TxBegin && end == nil:
			open, err := r.conn.inTransaction(ctx)
			if err != nil {
				return nil, finish(err)
			}
			if !open {
				if end, err = r.conn.begin(ctx); err != nil {
					return nil, finish(err)
				}
			}
		}
		args := r.call.args
		if !traits.ArgsRestart && part.ArgBase <= len(args) {
			args = args[part.ArgBase:min(len(args), part.ArgBase+part.Params)]
		}
		p := &plan{Plan: part.Plan, tally: r.conn.shared.tallyOf(part.Plan), habit: r.conn.shared.habits.of(r.conn.shared.dialect, part.Plan, part.Text)}
		if part.Dynamic || r.conn.moved || r.conn.schema.stale() {
			// A part before it has changed what its names mean.
			lexis := r.conn.dialect().Lexis()
			var err error
			if p, err = r.conn.plan(ctx, part.Text); err != nil {
				return nil, finish(err)
			}
			if *r.conn.dialect().Lexis() != *lexis {
				return nil, finish(errRulesChanged)
			}
		}
		res, err := r.conn.run(p, direct{r.conn}, call{args: args, options: r.call.options}).exec(ctx)
		if err != nil {
			return nil, finish(err)
		}
		out.parts = append(out.parts, res)
	}
	if err := finish(nil); err != nil {
		return nil, err
	}
	return &out, nil
}

// errRulesChanged is for a text that was cut into its statements by rules which
// one of them has changed.
var errRulesChanged = &UnsupportedError{Reason: "one of several statements changes how the later ones are parsed (sql_mode or the character set); send them one by one"}

// queryMulti runs a text that returns rows whole, with every counter table of
// it drained before, in one transaction.
func (r *run) queryMulti(ctx context.Context) (driver.Rows, error) {
	drains := map[*rewrite.Table]bool{}
	whole := &rewrite.Plan{Class: rewrite.Drain, Text: r.plan.Text, Tables: r.plan.Tables, Effects: r.plan.Effects,
		Reason: "several statements in one call return rows"}
	for i, part := range r.plan.Parts {
		if part.Plan.Effects&rewrite.Namespace != 0 && i+1 < len(r.plan.Parts) {
			return nil, &UnsupportedError{Tables: r.plan.Tables,
				Reason: "several statements in one call that return rows, change what names mean and use counters cannot be run exactly; send them one by one"}
		}
		if part.TxBegin || part.TxEnd || part.Plan.Effects&rewrite.TxControl != 0 {
			return nil, &UnsupportedError{Tables: r.plan.Tables,
				Reason: "several statements in one call that return rows, control transactions and use counters cannot be run exactly; send them one by one"}
		}
		if err := r.conn.allowed(part.Plan); err != nil {
			return nil, err
		}
		for _, t := range part.Plan.Touched {
			if !drains[t] {
				drains[t] = true
				whole.Drains = append(whole.Drains, rewrite.DrainAll(r.conn.dialect(), t))
			}
		}
	}
	one := r.conn.run(&plan{Plan: whole, tally: r.plan.tally}, r.via, r.call)
	one.apart = !r.conn.shared.traits.MultiIsTx
	return one.queryDrained(ctx)
}

// multiResult is the result of several statements: as a whole that of the
// last one.
type multiResult struct{ parts []driver.Result }

func (m *multiResult) last() driver.Result {
	if len(m.parts) == 0 {
		return driver.ResultNoRows
	}
	return m.parts[len(m.parts)-1]
}

// LastInsertId implements driver.Result.
func (m *multiResult) LastInsertId() (int64, error) { return m.last().LastInsertId() }

// RowsAffected implements driver.Result.
func (m *multiResult) RowsAffected() (int64, error) { return m.last().RowsAffected() }

// AllRowsAffected and AllLastInsertIds are go-sql-driver/mysql's extras.
func (m *multiResult) AllRowsAffected() []int64 {
	out := make([]int64, len(m.parts))
	for i, p := range m.parts {
		out[i], _ = p.RowsAffected()
	}
	return out
}

// AllLastInsertIds returns the id of each statement.
func (m *multiResult) AllLastInsertIds() []int64 {
	out := make([]int64, len(m.parts))
	for i, p := range m.parts {
		out[i], _ = p.LastInsertId()
	}
	return out
}

package session

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A call of several statements, of which at least one cannot run as it is, is
// run statement by statement.

// execMulti runs the parts one after the other. Where the engine makes such a
// text one transaction (PostgreSQL), so does this: a block is opened before
// the first part that does something, unless the statement or the session has
// opened one, and ended after the last.
//
//nolint:funlen // the steps of a statement of several, in their order
func (r *Run) execMulti(ctx context.Context) (answer, error) {
	traits := &r.conn.Shared.Traits
	if traits.MultiProbe != "" {
		// The parent may refuse several statements in one call.
		probe, args := traits.MultiProbe, r.call.args
		if len(args) > 0 {
			probe, args = traits.MultiProbeArg, args[:1]
		}
		if _, err := r.conn.ParentExec(ctx, probe, args); err != nil {
			return answer{}, err
		}
	}
	var end func(error) error
	finish := func(err error) error {
		if end != nil {
			e := end
			end = nil
			r.conn.Tx.Doubt()
			return e(err)
		}
		return link.Settled(err)
	}
	var out multiResult
	for _, part := range r.Plan.Parts {
		switch {
		case part.TxEnd:
			end = nil // the statement's own COMMIT or ROLLBACK ends the block
		case part.TxBegin && end != nil:
			end = nil // the block goes on as the application's
			continue
		case traits.MultiIsTx && !part.TxBegin && end == nil:
			open, err := r.conn.InTransaction(ctx)
			if err != nil {
				return answer{}, finish(err)
			}
			if !open {
				if end, err = r.conn.BeginOwn(ctx); err != nil {
					return answer{}, finish(err)
				}
				r.conn.Tx.Answer(true) // else a drain of a part would end the block
			}
		}
		args := r.call.args
		if !traits.ArgsRestart {
			args = argsOf(part, args)
		}
		p := &plan{
			Plan:  part.Plan,
			tally: r.conn.Shared.countsOf(part.Plan, part.SQL),
			habit: r.conn.Shared.habits.Of(r.conn.Shared.Dialect, part.Plan, part.SQL),

			learned: &learned{},
		}
		if part.Dynamic || r.conn.Facts.Old() || r.conn.Schema.Stale() {
			// A part before it has changed what its names mean.
			lexis := r.conn.Dialect().Lexis()
			var err error
			if p, err = r.conn.Plan(ctx, part.SQL); err != nil {
				return answer{}, finish(err)
			}
			if *r.conn.Dialect().Lexis() != *lexis {
				return answer{}, finish(errRulesChanged)
			}
		}
		a, err := r.conn.newRun(p, direct{r.conn}, call{args: args, options: r.call.options}).run(ctx)
		if err != nil {
			return answer{}, finish(err)
		}
		out.parts = append(out.parts, a.result)
	}
	if err := finish(nil); err != nil {
		return answer{}, err
	}
	return answer{result: &out}, nil
}

// argsOf are the arguments of a part: those whose turn it is, numbered from 1 again, since some parents bind them by
// their numbers, and those with names, which any part with enough of its own may use (mattn/go-sqlite3).
func argsOf(part rewrite.Part, all []driver.NamedValue) []driver.NamedValue {
	if part.ArgBase > len(all) {
		return all
	}
	end := min(len(all), part.ArgBase+part.Params)
	out, full := slices.Clone(all[part.ArgBase:end]), part.ArgBase+part.Params <= len(all)
	for i, a := range all {
		if a.Name != "" && part.Params > 0 && full && (i < part.ArgBase || i >= end) {
			out = append(out, a)
		}
	}
	for i := range out {
		out[i].Ordinal = i + 1
	}
	return out
}

// errRulesChanged is for a call that was cut into its statements by rules which
// one of them has changed.
var errRulesChanged = &link.UnsupportedError{
	Reason: "one of several statements changes how the later ones are parsed (sql_mode or the character set); send them one by one",
}

// queryMulti runs a statement that returns rows whole, with every counter table of
// it drained before, in one transaction.
func (r *Run) queryMulti(ctx context.Context) (answer, error) {
	drains := map[*rewrite.Table]bool{}
	whole := &rewrite.Plan{Class: rewrite.Drain, SQL: r.Plan.SQL, Tables: r.Plan.Tables, Effects: r.Plan.Effects,
		Reason: "several statements in one call return rows"}
	for i, part := range r.Plan.Parts {
		if part.Plan.Effects&rewrite.Namespace != 0 && i+1 < len(r.Plan.Parts) {
			return answer{}, unsupported(r.Plan.Plan,
				"several statements in one call that return rows, change what names mean and use counters cannot be run exactly; send them one by one")
		}
		if part.TxBegin || part.TxEnd || part.Plan.Effects&rewrite.TxControl != 0 {
			return answer{}, unsupported(r.Plan.Plan,
				"several statements in one call that return rows, control transactions and use counters cannot be run exactly; send them one by one")
		}
		if err := r.conn.allowed(part.Plan); err != nil {
			return answer{}, err
		}
		if part.Plan.Effects&rewrite.TicketRecall != 0 {
			return answer{}, unsupported(r.Plan.Plan,
				"several statements in one call that return rows and set a counter with tickets cannot be run exactly; send them one by one")
		}
		for _, t := range part.Plan.Touched {
			if !drains[t] {
				drains[t] = true
				whole.Drain.Tables = append(whole.Drain.Tables, rewrite.DrainAll(r.conn.Dialect(), t))
			}
		}
	}
	one := r.conn.newRun(r.Plan.variant(whole), r.via, r.call)
	one.partsStay = !r.conn.Shared.Traits.MultiIsTx
	return one.runDrained(ctx)
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

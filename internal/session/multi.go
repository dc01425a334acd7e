package session

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A call of several statements, at least one of which cannot run as it is, is run statement by
// statement.

// several is the execution of several statements in one call.
type several struct {
	run  *Run
	conn *Conn
}

func severalOf(r *Run) several { return several{r, r.conn} }

// oneByOne runs the parts of a call by Exec one after the other.
func oneByOne(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if r.call.wantsRows {
		return answer{}, false, nil
	}
	if err := severalOf(r).probeMulti(ctx); err != nil {
		return answer{}, false, err
	}
	block := multiBlock{conn: r.conn}
	planned := r.conn.Schema // the facts that the parts were planned with
	var out multiResult
	for _, part := range r.Plan.Parts {
		skip, err := block.reach(ctx, part)
		if skip {
			continue
		}
		var a answer
		if err == nil {
			a, err = severalOf(r).runPart(ctx, part, planned)
		}
		if part.Plan.Effects&rewrite.SchemaChange != 0 {
			planned = nil
		}
		if err != nil {
			return answer{}, true, block.finish(err)
		}
		out.parts = append(out.parts, a.result)
	}
	if err := block.finish(nil); err != nil {
		return answer{}, false, err
	}
	return answer{result: &out}, true, nil
}

// probeMulti has the parent check what it checks of a call as a whole: it may refuse several statements, or the number of
// their arguments. Two statements without any effect, with the placeholders and arguments of the call, stand in for it, once on a
// connection for each number of them.
func (sv several) probeMulti(ctx context.Context) error {
	traits := &sv.conn.Shared.Traits
	probe, inputs := traits.MultiProbe, 0
	for _, part := range sv.run.Plan.Parts {
		if inputs += part.Params; part.Numbers != nil {
			inputs = -1
			break
		}
	}
	known := uint64(0) // bit of the number, where it is right
	if inputs == len(sv.run.call.args) && len(sv.run.call.options) == 0 {
		known = 1 << inputs // none from 64 on
	}
	if sv.conn.several&known != 0 {
		return nil
	}
	if len(sv.run.call.args) > 0 {
		probe = strings.Replace(traits.MultiProbeArg, "?", sv.placeholders(), 1)
	}
	if probe == "" {
		return nil
	}
	_, err := sv.conn.ParentExec(ctx, probe, link.JoinArgs(sv.run.call.options, sv.run.call.args))
	if err == nil {
		sv.conn.several |= known
	}
	return err
}

// placeholders lists those of all parts; without any, a number.
func (sv several) placeholders() string {
	var list []string
	for _, part := range sv.run.Plan.Parts {
		for i := range part.Params {
			n := part.ArgBase + i + 1
			if part.Numbers != nil {
				n = part.Numbers[i]
			}
			list = append(list, sv.conn.Dialect().Placeholder(n))
		}
	}
	if list == nil {
		return "0"
	}
	return strings.Join(list, ", ")
}

// multiBlock is the transaction of a call of several statements. Where the engine runs such a text
// in one transaction (PostgreSQL), so does this: a block is opened before the first part that does
// something, unless the statements or the session have opened one, and ended after the last part.
type multiBlock struct {
	conn *Conn
	end  func(error) error // nil where none is open that has to be ended
}

// reach is called before each part. Skip reports that the part is not to be run.
func (b *multiBlock) reach(ctx context.Context, part rewrite.Part) (skip bool, err error) {
	switch {
	case part.TxEnd:
		b.end = nil // the statement's own COMMIT or ROLLBACK ends the block
	case part.TxBegin && b.end != nil:
		b.end = nil // the block goes on as the application's
		return true, nil
	case b.conn.Shared.Traits.MultiIsTx && !part.TxBegin && b.end == nil:
		open, err := b.conn.InTransaction(ctx)
		if err != nil || open {
			return false, err
		}
		if b.end, err = b.conn.BeginOwn(ctx); err != nil {
			return false, err
		}
		b.conn.Tx.Answer(true) // else a drain of a part would end the block
	}
	return false, nil
}

// finish ends the block, if it is still open, and returns the error to report.
func (b *multiBlock) finish(err error) error {
	if b.end == nil {
		return link.Settled(err)
	}
	b.conn.Tx.Doubt()
	err = b.end(err)
	b.conn.noteTxEnd() // with what the parts have changed and read
	return err
}

// runPart runs one of several statements, which was planned with the given facts. If a part before
// it has changed what its names mean, it is planned again, even if a part in between has already
// had the facts read again.
func (sv several) runPart(ctx context.Context, part rewrite.Part, planned *catalog.Schema) (answer, error) {
	c, args := sv.conn, sv.run.call.args
	if !c.Shared.Traits.ArgsRestart {
		args = argsOf(part, args)
	}
	p := planOf(part.Plan)
	p.tally, p.habit = countsOf(c, part.Plan, part.SQL), c.Shared.habits.Of(c.Shared.Dialect, part.Plan, part.SQL)
	if part.Dynamic || c.Schema != planned || c.Facts.Old() || c.Schema.Stale() {
		lexRules := c.Dialect().LexRules()
		var err error
		if p, err = c.Plan(ctx, part.SQL); err != nil {
			return answer{}, err
		}
		if *c.Dialect().LexRules() != *lexRules {
			return answer{}, errRulesChanged
		}
	}
	return c.newRun(p, direct{c}, call{args: args, options: sv.run.call.options}).run(ctx)
}

// argsOf returns the arguments of a part: those of its numbers, or those that are its by position, numbered from 1 again
// because some parents bind by number, and all named ones, which any part that has all of its own
// may use (mattn/go-sqlite3).
func argsOf(part rewrite.Part, all []driver.NamedValue) []driver.NamedValue {
	if part.Numbers != nil {
		var out []driver.NamedValue
		for i, n := range part.Numbers {
			if n <= len(all) { // else the parent reports what is missing
				out = append(out, driver.NamedValue{Ordinal: i + 1, Value: all[n-1].Value})
			}
		}
		return out
	}
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

// errRulesChanged is for a call that was split into statements by rules that one of them has
// changed.
var errRulesChanged = &link.UnsupportedError{
	Reason: "one of several statements changes how the later ones are parsed (sql_mode or the character set); send them one by one",
}

// drainedWhole runs a call by Query as a whole. Every counter table that it names is drained first, in one transaction.
func drainedWhole(ctx context.Context, r *Run) (a answer, done bool, err error) {
	drains := map[*schema.Table]bool{}
	all := &rewrite.DrainPlan{}
	for i, part := range r.Plan.Parts {
		if part.Plan.Effects&rewrite.Namespace != 0 && i+1 < len(r.Plan.Parts) {
			return answer{}, false, unsupported(r.Plan.Plan,
				"several statements in one call that return rows, change what names mean and use counters cannot be run exactly; send them one by one")
		}
		if part.TxBegin || part.TxEnd || part.Plan.Effects&rewrite.TxControl != 0 {
			return answer{}, false, unsupported(r.Plan.Plan,
				"several statements in one call that return rows, control transactions and use counters cannot be run exactly; send them one by one")
		}
		if err := refusal(part.Plan); err != nil {
			return answer{}, false, err
		}
		if part.Plan.Effects&rewrite.TicketRecall != 0 {
			return answer{}, false, unsupported(r.Plan.Plan,
				"several statements in one call that return rows and set a counter with tickets cannot be run exactly; send them one by one")
		}
		for _, t := range part.Plan.Touched {
			if !drains[t] {
				drains[t] = true
				all.Tables = append(all.Tables, rewrite.DrainAll(r.conn.Dialect(), t))
			}
		}
	}
	dr := r.drainOf(all)
	dr.reason = "several statements in one call return rows"
	r.partsStay = !r.conn.Shared.Traits.MultiIsTx
	a, err = dr.orRead(ctx)
	return a, true, err
}

// multiResult is the result of several statements. As a whole it is that of the last one.
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

// AllRowsAffected and AllLastInsertIds are extra methods of go-sql-driver/mysql's results.
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

package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// An engine with one writer at a time has groups of tables and not of rows: increments of other rows would wait, too, and each commit
// by itself. That is exact for the same reasons as a row's group is: the members overlap, the statement does to each row what the
// members of that row add, and it is applied as a whole or not at all. If it has not been applied, its members go to the groups of
// their rows.

// A groupKey says which executions may share a statement with this one.
type groupKey struct {
	hash    uint64
	numbers []int64 // the row's key, where they may be for any row of the table; else nil
}

// tableKey is the groupKey of executions for any row of the table; false if the plan has no statement for many rows, the row's key does
// not consist of numbers, or what is added is unsigned.
func (sh sharing) tableKey() (k groupKey, ok bool) {
	g := sh.run.Plan.Group
	if g.Many == nil || sh.run.Plan.Class == rewrite.Drain || sh.run.args().UnsignedShares(g.Shares) != nil {
		return k, false
	}
	k.numbers = make([]int64, len(g.Many.Key))
	if !sh.run.args().NumberKey(g.Many.Key, k.numbers) {
		return k, false
	}
	k.hash = slots.RowHash(sh.run.Plan.together, "", sh.conn.peers())
	return k, true
}

// rowKey is the groupKey of executions for the same row: that of the increment, or else the one that the arguments tell.
func (sh sharing) rowKey(args []byte) groupKey {
	p := sh.run.Plan
	if sh.run.row.Table == "" {
		return groupKey{hash: slots.Hash(p.Group.SameSQL.Of(p.Values), args, sh.conn.peers())}
	}
	return groupKey{hash: slots.RowHash(p.alike, sh.run.row.Values, sh.conn.peers())}
}

// manyArgs appends what members of different rows have in common besides the statement: the sign
// of what each of them adds.
func manyArgs(b []byte, m *slots.Member) []byte {
	for _, n := range m.Adds {
		b = append(b, argument.Sign(n))
	}
	return b
}

// leadMany runs the statement of a batch of several rows, and tells its members.
func (g *group) leadMany(ctx context.Context, b *slots.Batch) {
	g.verdict = slots.Verdict{Outcome: slots.OutcomeFailed, Err: errLeaderGone}
	told := g.verdict
	defer func() {
		g.tell(told, g.members...)
		g.members[0].Turn().End() // now that their callers may be back
		g.members[0].Tell(g.verdict)
	}()
	r, form := g.run, g.run.Plan.Group
	args := make([]driver.NamedValue, len(form.Many.Args))
	for i, a := range form.Many.Args {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: b.Value(a, form.Shares)}
	}
	res, err := direct{r.conn}.execBound(ctx, nil, r.sql(&form.Many.Bound), args)
	var n int64
	if err == nil {
		n, err = res.RowsAffected()
		err = link.Settled(err)
	}
	outcome, err := judgeMany(r, n, err, len(b.Rows))
	switch outcome {
	case slots.OutcomeCounted:
		r.Plan.tally.ranGrouped(len(g.members))
		told = slots.Verdict{Outcome: outcome, Result: &groupResult{result: result{res, 1}}}
	case slots.OutcomeAlone:
		told = slots.Verdict{Outcome: slots.OutcomeByRow}
	default:
		told = slots.Verdict{Outcome: outcome, Err: err}
	}
}

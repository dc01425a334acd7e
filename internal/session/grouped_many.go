package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// Groups of different rows of a table run as one statement while the table is crowded: several of
// its rows have had groups of several members within a second, see slots.Heat. That is exact for
// the same reasons as one group is: the members overlap, the statement does to each row what the
// members of that row add, and it is applied as a whole or not at all. If it has not been applied,
// its members go to the groups of their rows.

// groupRow returns the row that the execution is for; false if its plan has no statement for many
// rows, or the key does not consist of numbers.
func (sh sharing) groupRow() (key []int64, row slots.RowKey, ok bool) {
	g := sh.run.Plan.Group
	if g.Many == nil || sh.run.Plan.Class == rewrite.Drain {
		return nil, row, false
	}
	key = make([]int64, len(g.Many.Key))
	if !sh.run.args().NumberKey(g.Many.Key, key) {
		return nil, row, false
	}
	return key, slots.RowKey{Table: g.Table.Counter.Slotted(), Values: argument.WriteNumbers(key)}, true
}

// joinsMany reports whether the execution is to share a statement with those of other rows. While
// a statement for its row alone is under way it waits for that one, which may be waiting for a
// transaction that holds the row.
func (sh sharing) joinsMany(byRow uint64) bool {
	return sh.inCrowd() && !sh.conn.Shared.coalescer.Busy(byRow)
}

// noteShared notes that members of one row have shared a statement.
func (sh sharing) noteShared(members []*slots.Member) {
	if len(members) < 2 {
		return
	}
	if _, row, ok := sh.groupRow(); ok {
		sh.conn.Shared.heat.NoteGrouped(row)
	}
}

// joinMany makes the execution one of a group of many rows, if its key consists of numbers.
func (sh sharing) joinMany(m *slots.Member, form *slots.Form) bool {
	key, row, ok := sh.groupRow()
	if ok {
		m.Key, m.Row, form.SQL, form.Many = key, row, sh.run.sql(&sh.run.Plan.Group.Many.Bound), true
	}
	return ok
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
	res, err := direct{r.conn}.execKept(ctx, r.sql(&form.Many.Bound), args)
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

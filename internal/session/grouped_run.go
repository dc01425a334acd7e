package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// group runs the executions of a batch, by one statement or, if that cannot be, by several. It may
// outlive the call of its leader, who may have given up; see detached.
type group struct {
	run     *Run
	members []*slots.Member
	drained map[*rewrite.Bound]*plan // of the group's statements, where their class is drain

	todo    [][]*slots.Member // parts of the batch that have no verdict yet
	verdict slots.Verdict     // the leader's, which comes last
	refused *slots.Member     // the last one for which no row was affected

	answered driver.Result // the last one of the parent, whose further methods members without a row have
	columns  []string
	types    columnTypes
}

// lead runs all members, and tells each its verdict. A part of them that cannot share one
// statement is split.
func (g *group) lead(ctx context.Context) {
	g.verdict = slots.Verdict{Outcome: slots.OutcomeFailed, Err: errLeaderGone}
	g.todo, g.answered = [][]*slots.Member{g.members}, driver.RowsAffected(0)
	defer func() {
		for _, part := range g.todo { // the parent panics
			g.tell(slots.Verdict{Outcome: slots.OutcomeFailed, Err: errLeaderGone}, part...)
		}
		g.members[0].Turn().End() // now that their callers may be back
		g.members[0].Tell(g.verdict)
	}()
	for len(g.todo) > 0 {
		parts := g.runPart(ctx, g.todo[0]) // those that have a verdict, or are returned
		g.todo = append(parts, g.todo[1:]...)
	}
}

// tell gives members their verdict, except for the leader, who is told last.
func (g *group) tell(v slots.Verdict, members ...*slots.Member) {
	for _, m := range members {
		if m == g.members[0] {
			g.verdict = v
			continue
		}
		m.Tell(v)
	}
}

// runPart runs the statement for some of the members. If it affects no row, or fails and leaves
// nothing, it returns the parts into which they are split, until each member has a result of its
// own: the row does not exist, or has no room for all of them, or a constraint refuses them.
func (g *group) runPart(ctx context.Context, members []*slots.Member) (parts [][]*slots.Member) {
	if g.run.Plan.Group.CompareAndSet != nil {
		g.compareAndSet(ctx, members)
		return nil
	}
	upsert := g.run.Plan.Group.Upsert
	if upsert != nil && len(members) == 1 {
		g.tell(slots.Verdict{Outcome: slots.OutcomeAlone}, members...)
		return nil
	}
	outcome, err := g.runStatement(ctx, members)
	switch {
	case outcome == slots.OutcomeCounted:
		return nil
	case outcome == slots.OutcomeAlone && err == nil && g.run.Plan.Group.Touch():
		for _, m := range members { // each would have met the same row
			g.refuse(m)
		}
		g.run.Plan.tally.ranGrouped(len(members))
		return nil
	case outcome == slots.OutcomeAlone && upsert != nil && (err == nil || upsert.Numbers):
		g.tell(slots.Verdict{Outcome: slots.OutcomeAlone}, members...)
		return nil
	case outcome != slots.OutcomeAlone:
		g.tell(slots.Verdict{Outcome: outcome, Err: err}, members...)
		return nil
	case len(members) > 1 && err == nil:
		return g.splitBound(ctx, members)
	case len(members) > 1:
		return halves(members)
	case err != nil:
		g.tell(slots.Verdict{Outcome: slots.OutcomeAlone}, members...) // to meet its own error
	default:
		g.refuse(members[0])
		g.run.Plan.tally.ranGrouped(1)
	}
	return nil
}

// splitBound splits members for whom no row was affected. The first of them runs alone: if it is
// refused, so are at this moment all that demand at least as much of the row. So a group at a
// bound takes a number of statements that grows with the logarithm of its members.
func (g *group) splitBound(ctx context.Context, members []*slots.Member) (parts [][]*slots.Member) {
	first, rest := members[0], members[1:]
	demanded := slices.Clone(first.Demands) // once it has been told the member may be another's
	g.runPart(ctx, members[:1])
	if g.refused != first {
		return halves(rest)
	}
	var lesser []*slots.Member
	for _, m := range rest {
		if g.demandsAsMuch(m, demanded) {
			g.refuse(m)
			g.run.Plan.tally.grouped.Add(1)
			g.run.Plan.tally.coalesced.Add(1)
		} else {
			lesser = append(lesser, m)
		}
	}
	if lesser == nil {
		return nil
	}
	return [][]*slots.Member{lesser}
}

// halves splits members in two; one member stays as it is.
func halves(members []*slots.Member) [][]*slots.Member {
	if len(members) < 2 {
		return [][]*slots.Member{members}
	}
	return [][]*slots.Member{members[:len(members)/2], members[len(members)/2:]}
}

// demandsAsMuch reports whether every row that refuses the given demands also refuses a member.
func (g *group) demandsAsMuch(m *slots.Member, demands []int64) bool {
	for i, guard := range g.run.Plan.Group.Guards {
		if guard.AtLeast && m.Demands[i] < demands[i] || !guard.AtLeast && m.Demands[i] > demands[i] {
			return false
		}
	}
	return true
}

// refuse tells a member that no row was affected.
func (g *group) refuse(m *slots.Member) {
	g.refused = m
	none := &groupResult{result: result{g.answered, 0}}
	if g.run.call.wantsRows {
		none.rows = &bufferedRows{columns: g.columns, columnTypes: g.types}
	}
	g.tell(slots.Verdict{Outcome: slots.OutcomeCounted, Result: none}, m)
}

// runStatement runs the group's statement for members, in their order, and tells them once it is
// committed. OutcomeAlone means that nothing has been applied: with an error, or because no row
// was affected.
func (g *group) runStatement(ctx context.Context, members []*slots.Member) (slots.Outcome, error) {
	r := g.run
	bound := &r.Plan.Group.Bound
	if one := r.Plan.Group.One; one != nil && len(members) == 1 {
		bound = one
	}
	args, err := g.bind(bound, members)
	if err != nil {
		return slots.OutcomeAlone, err
	}
	var a groupReply
	start := time.Now()
	for tries := 1; ; tries++ {
		if a, err = g.send(ctx, bound, members[len(members)-1].SQL, args); !r.conn.Retry(ctx, tries, err) {
			break
		}
	}
	r.noteDuration(start, err)
	if err == nil {
		r.conn.Shared.coalescer.NoteOnBase(start)
	}
	outcome, failure := judge(r, a.affected, err)
	switch outcome {
	case slots.OutcomeCounted:
		members = g.others(ctx, &a, members)
		g.tellEach(a, members)
		r.Plan.tally.ranGrouped(len(members))
	case slots.OutcomeAlone:
		return outcome, err // which says how the group is split
	}
	return outcome, failure
}

// groupReply is the database's answer to a group's statement.
type groupReply struct {
	affected int64 // of the first member
	others   int64 // of each other one
	result   driver.Result
	rows     [][]driver.Value
}

// send runs the statement, after a drain if its members' statements would need one. If the base row satisfies the guards of bounded
// counters nothing is drained: see rewrite.Bounded. Anything else that the group's statement demands is about the base row. The SQL is a
// member's own where that is not "".
func (g *group) send(ctx context.Context, bound *rewrite.Bound, sql string, args []driver.NamedValue) (a groupReply, err error) {
	r := g.run
	if sql == "" {
		sql = r.sql(bound)
	}
	drained := g.drained[bound]
	if drained == nil || r.Plan.Bounded != nil && !r.call.wantsRows {
		a, err = g.read(direct{r.conn}.sendKept(ctx, sql, callWith(r, args)))
		if drained == nil || a.affected > 0 || err != nil && !r.refusedBase(err) {
			return a, err
		}
	}
	return g.read(r.conn.newRun(drained, direct{r.conn}, callWith(r, args)).exactly(ctx, &drainWays))
}

// read reads the database's answer.
func (g *group) read(got answer, err error) (groupReply, error) {
	if err != nil {
		return groupReply{}, err
	}
	got, n, err := got.counted()
	a := groupReply{affected: n, result: got.result}
	if got.result != nil && g.run.Plan.Group.InsertID == 0 { // no other member's number
		g.answered = got.result
	}
	if all, ok := got.rows.(*bufferedRows); ok {
		g.columns, g.types, a.rows = all.columns, all.columnTypes, all.rows
	}
	return a, err
}

// bind makes the arguments of the statement for members in their order.
func (g *group) bind(bound *rewrite.Bound, members []*slots.Member) ([]driver.NamedValue, error) {
	r, form := g.run, g.run.Plan.Group
	totals := make([]int64, len(form.Shares))
	bounds := slices.Clone(members[0].Demands)
	for i, m := range members {
		for j, guard := range form.Guards {
			// The member finds the counter as those before it have left it.
			d := m.Demands[j] - totals[guard.Share]
			if i > 0 && (guard.AtLeast && d > bounds[j] || !guard.AtLeast && d < bounds[j]) {
				bounds[j] = d
			}
		}
		for j, n := range m.Adds {
			totals[j] += n
		}
	}
	firsts, err := newRow(form.Shares, totals, members[0])
	if err != nil {
		return nil, err
	}
	return r.bind(bound.Args, &sums{
		of: form, totals: totals, firsts: firsts, bounds: bounds,
		unsigned: r.args().UnsignedShares(form.Shares), first: members[0].Free, free: members[len(members)-1].Free,
	})
}

// errNewRow splits a group whose members would not make a new row of numbers that are certain to fit.
var errNewRow = errors.New("slotsql: the numbers of a new row may not fit")

// newRow returns what a new row of an upsert has for each counter, once the first member has made it
// and the others have added to it; nil where it begins with what is added.
func newRow(shares []rewrite.Share, totals []int64, first *slots.Member) ([]int64, error) {
	if first.Firsts == nil {
		return nil, nil
	}
	out := make([]int64, len(totals))
	for i, s := range shares {
		out[i] = first.Firsts[i] + totals[i] - first.Adds[i]
		if out[i] > s.Max || out[i] < -s.Max || out[i] < 0 && first.Firsts[i] >= 0 {
			return nil, errNewRow
		}
	}
	return out, nil
}

// sums are what a group's statement adds and demands, and the arguments in which its members may
// differ. It is the binding of the statement.
type sums struct {
	of             *rewrite.Group
	totals, bounds []int64
	firsts         []int64 // of a new row; nil where they are the totals
	unsigned       []bool  // of totals
	first, free    []any   // of the first member and the last one
}

// bound implements binding: all members have the other arguments in common.
func (s *sums) bound(a rewrite.Arg) (any, bool) {
	g, n, scale := s.of, int64(0), 0
	switch {
	case a.Free:
		v := s.free[0]
		if a.First {
			v = s.first[0]
		}
		s.first, s.free = s.first[1:], s.free[1:]
		return v, true
	case a.Total > 0:
		n, scale = s.totals[a.Total-1], g.Shares[a.Total-1].Scale
		if a.First {
			n = s.firsts[a.Total-1]
		}
	case a.Bound > 0:
		n, scale = s.bounds[a.Bound-1], g.Shares[g.Guards[a.Bound-1].Share].Scale
	default:
		return nil, false
	}
	if a.Negate {
		n = -n
	}
	if a.Total > 0 && s.unsigned != nil && s.unsigned[a.Total-1] && n > 0 {
		return uint64(n), true
	}
	return slots.Decimal(n, scale), true
}

// tellEach tells each member the result that it would have had, had the members run one after
// another.
func (g *group) tellEach(a groupReply, members []*slots.Member) {
	form := g.run.Plan.Group
	after := make([]int64, len(form.Shares)) // what the members behind one have added
	var id int64
	drawn := false
	if form.InsertID > 0 {
		var err error
		id, err = a.result.LastInsertId()
		drawn = err == nil
	}
	var res *groupResult
	for i, m := range slices.Backward(members) {
		if affected := g.affectedBy(i, a); res == nil || drawn || g.run.call.wantsRows || res.result.rows != affected {
			res = &groupResult{result: result{a.result, affected}}
		}
		if drawn {
			res.Result = insertID(id - after[form.InsertID-1])
		}
		if g.run.call.wantsRows {
			seen := &bufferedRows{columns: g.columns, columnTypes: g.types}
			for _, row := range a.rows {
				row = slices.Clone(row)
				for i, share := range form.Returns {
					if share > 0 {
						row[i] = less(row[i], after[share-1], form.Shares[share-1].Scale)
					}
				}
				seen.rows = append(seen.rows, row)
			}
			res.rows = seen
		}
		for i, n := range m.Adds {
			after[i] += n
		}
		g.tell(slots.Verdict{Outcome: slots.OutcomeCounted, Result: res}, m)
	}
}

// affectedBy returns the number of rows that the member with index i has affected. Of an upsert
// the first member may have inserted the row, which the others have updated.
func (g *group) affectedBy(i int, a groupReply) int64 {
	if i > 0 && g.run.Plan.Group.Upsert != nil && g.run.conn.Shared.Traits.UpsertCounts {
		return 2
	}
	if i > 0 && g.run.Plan.Group.Touch() {
		return a.others
	}
	return a.affected
}

// less returns a counter's value before what later members have added, which is in units of the
// last of scale digits after the decimal point. NULL stays NULL.
func less(v driver.Value, later int64, scale int) driver.Value {
	switch v := v.(type) {
	case int64:
		return v - later
	case uint64:
		return v - uint64(later)
	case string:
		return lessDecimal(v, later, scale)
	case []byte:
		return []byte(lessDecimal(string(v), later, scale))
	}
	return v
}

// lessDecimal is less for a decimal number as text. It keeps the number of digits after the
// decimal point.
func lessDecimal(s string, later int64, scale int) string {
	n, ok := new(big.Rat).SetString(s)
	if !ok {
		return s // NaN
	}
	_, frac, _ := strings.Cut(s, ".")
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return n.Sub(n, new(big.Rat).SetFrac(big.NewInt(later), unit)).FloatString(len(frac))
}

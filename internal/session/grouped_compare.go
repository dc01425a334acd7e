package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/slots"
)

// compareAndSet sends the statement of the first member, the only one that can have the version that all of them expect: see
// rewrite.CompareAndSet. Where it tells nothing about the others, as an error does, they run by themselves.
func (g *group) compareAndSet(ctx context.Context, members []*slots.Member) {
	first, rest, tally := members[:1], members[1:], g.run.Plan.tally
	outcome, err := g.runStatement(ctx, first)
	lost := outcome == slots.OutcomeAlone && err == nil
	switch {
	case lost:
		g.refuse(members[0])
		tally.ranGrouped(1)
	case outcome != slots.OutcomeCounted:
		if outcome == slots.OutcomeAlone {
			outcome = slots.OutcomeFailed // it has run as its caller's own
		}
		g.tell(slots.Verdict{Outcome: outcome, Err: err}, first...)
		g.tell(slots.Verdict{Outcome: slots.OutcomeAlone}, rest...)
		return
	}
	if len(rest) == 0 || !g.othersLose(ctx, lost) {
		g.tell(slots.Verdict{Outcome: slots.OutcomeAlone}, rest...)
		return
	}
	for _, m := range rest {
		g.refuse(m)
	}
	tally.ranGrouped(len(rest))
	tally.coalesced.Add(1) // and all the rest share the first one's
}

// othersLose reports whether all members but the first affect no row. Lost reports whether the first one has affected none either: where
// the engine counts the rows that are changed, it may have found one.
func (g *group) othersLose(ctx context.Context, lost bool) bool {
	cs := g.run.Plan.Group.CompareAndSet
	if g.run.args().Steps(cs.Step) || lost && !g.run.conn.Shared.Traits.CountsChanged {
		return true
	}
	args, err := g.run.bind(cs.Still.Args, nil)
	if err != nil {
		return false
	}
	still, err := g.read(direct{g.run.conn}.sendKept(ctx, g.run.sql(&cs.Still), call{args: args, wantsRows: true}))
	return err == nil && still.affected == 0
}

package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/slots"
)

// others finds out what a touch affects that sets what the row has already, and so all members but the first. Where the engine counts the
// rows that are changed that depends on the client's settings, which a statement that changes nothing tells. If it fails, only the first
// member has a result, and the others run alone.
func (g *group) others(ctx context.Context, a *groupReply, members []*slots.Member) []*slots.Member {
	a.others = a.affected
	unchanged := g.run.Plan.Group.Unchanged
	if unchanged == nil || len(members) == 1 {
		return members
	}
	args, err := g.bind(unchanged, members)
	if err == nil {
		var found groupReply
		found, err = g.send(ctx, unchanged, "", args)
		a.others = found.affected
	}
	if err != nil {
		g.tell(slots.Verdict{Outcome: slots.OutcomeAlone}, members[1:]...)
		return members[:1]
	}
	return members
}

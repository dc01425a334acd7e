package session

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A statement that may lower a counter with tickets, or remove its row, waits before the commit
// until no block that was leased before is drawn from any more. While it waits it has the row
// locked, so no block is leased. See docs/design/tickets.md.

// touchedTickets is whether the open transaction may have locked rows of tables with tickets.
type touchedTickets byte

const (
	ticketsUntouched touchedTickets = iota
	ticketsTouched
)

// touchTickets notes a statement that has run as it is. Where an error fails the whole transaction
// it counts as well: the next draw must meet that.
func (c *Conn) touchTickets(plan *rewrite.Plan, err error) {
	if plan.Effects&(rewrite.TicketLock|rewrite.TicketRecall) == 0 && (err == nil || !c.Shared.Traits.ErrorAborts) {
		return
	}
	if c.Rare.Any(link.TxOpen) || !c.InAutocommit() {
		c.tickets = ticketsTouched
	}
}

// recalls reports whether the statement ends the blocks of rows that it changes.
func (r *Run) recalls() bool {
	if r.Plan.Effects&rewrite.TicketRecall != 0 {
		return true
	}
	if r.Plan.Group == nil || r.Plan.Effects&rewrite.TicketLock == 0 {
		return false
	}
	for _, s := range r.Plan.Group.Shares {
		if !s.Ticket {
			continue
		}
		if n, ok := r.args().Adds(s); !ok || n < 0 {
			return true
		}
	}
	return false
}

// recall waits until no block is drawn from that was leased before the statement locked its rows.
// It waits even if the caller gives up: in a transaction the statement has been applied, and may
// yet be committed.
func recall(r *Run) { time.Sleep(r.conn.Shared.sides.tickets.holding.Recall) }

// needsRecall reports whether the statement has to wait so, and is of a class that has no
// transaction of its own for that.
func needsRecall(r *Run) bool {
	switch r.Plan.Class {
	case rewrite.Multi, rewrite.Drain, rewrite.Refused:
		return false
	}
	return r.recalls()
}

// runRecalled runs such a statement.
func runRecalled(ctx context.Context, r *Run) (answer, error) {
	if inc := r.Plan.Increment; inc != nil || r.Plan.Class == rewrite.AdditiveBase && !r.args().FitBase(&r.Plan.Base) {
		r.cause = argumentUnfit
		return r.exactly(ctx, &drainWays)
	}
	run := func(ctx context.Context) (answer, error) { return r.try(ctx, r.Plan.ways) }
	if r.conn.InAutocommit() {
		run = r.send // nothing of the transaction has come before
	}
	return r.runWithRetries(ctx, func(ctx context.Context) (a answer, err error) {
		err = r.conn.InOwnTx(ctx, func() (err error) {
			if a, err = run(ctx); err != nil {
				return err
			}
			if a, _, err = a.counted(); err == nil {
				recall(r)
			}
			return err
		})
		if err != nil {
			return answer{}, err
		}
		return a, nil
	})
}

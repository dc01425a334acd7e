package session

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// The ways in which a statement on a counter table can run, in the order in which they are tried. What an execution does is decided here
// and nowhere else: read this page from the top to the bottom, and the method of a way for why it is exact.

// way runs the statement, or reports that it is not done: then nothing has been changed, and the next way is tried. An error ends the
// execution, and is the application's.
type way func(ctx context.Context, r *Run) (a answer, done bool, err error)

// ways are those of a statement.
type ways struct {
	// rows is tried first if the statement was sent by Query.
	rows way
	// fast are tried until one has run the statement, or has found a reason to drain (Run.cause).
	fast []way
	// exact run the statement whatever has been found. The last of them always does.
	exact []way
	// rare are tried before exact, unless the plan needs none of them, and the execution has all its arguments: see usual.drain.
	rare []way
}

// The ways of each class. They are set by init, since ways themselves make plans, which have ways.
var incrementWays, slottedWays, baseWays, guardedWays, drainWays, readWays, severalWays ways

func init() {
	// What is neither an addition nor a query: as it is while there is nothing to fold, else behind a fold.
	drainWays = ways{
		rare: []way{
			lacksArgument,    // it cannot run: as it is, for its error
			outsideTx,        // the engine refuses it in a transaction: behind a transaction that folds
			lacksTransaction, // the engine refuses it outside one: as it is, for its error
			behindRecall,     // it may lower numbers that blocks of tickets have been leased from
			observedDrain,    // a query that writes beside slots: with the question whether there are any, of many rows once they are folded
		},
		exact: []way{
			whileAsleep,   // no table has slots: with that proven for whole tables, if anything may be written
			whileSlotless, // its row has no slots: with that proven for the row
			foldOptional,  // it may be the statement that makes folds succeed again
			afterDrain,    // slots are folded into the base rows, and it runs in the same transaction; where nothing may be written, as it is
		},
	}

	// An increment of one row: on its base row while nobody waits for that, else in a slot.
	incrementWays = ways{
		rows: returningRows, // on the base row, which has the values to return
		fast: []way{
			asWritten,   // its key is written in a form that only the engine compares: on whatever row that is
			onColdRow,   // its row is cold: on the base row, alone or in a group, with slots that are left of hotter times
			onOtherSide, // it gives where slots of a bounded counter only take: on the base row
			onOwnRow,    // its transaction has the row to itself: on the base row
			onLockedRow, // its transaction goes on to read the row, or has read it: locked first
			inSlot,      // its row is hot: in a slot, alone or in a group
		},
		exact: slices.Concat([]way{onAnyRow}, drainWays.rare, drainWays.exact),
	}

	// One that goes to a slot, whatever its row and what it adds.
	slottedWays = incrementWays
	slottedWays.fast = []way{asWritten, onOwnRow, onLockedRow, inSlot}

	// Any other addition, and a statement that concerns no counter: as it is.
	baseWays = ways{fast: []way{onBase}, rare: drainWays.rare, exact: drainWays.exact}

	// A decrement with a guard (AND stock >= ?): what the base row alone allows, or a portion in a slot, needs no drain.
	guardedWays = ways{fast: []way{fromPortion, onGuardedBase}, rare: drainWays.rare, exact: drainWays.exact}

	// A query of counters.
	readWays = ways{exact: []way{
		ownChanges,  // in a transaction that has changed rows of its tables: those are drained, or asked about
		observed,    // as it is, with the question whether there are slots
		foldedFirst, // it would add up the slots of many rows: they are folded, and it is observed again
		addedUp,     // each counter is replaced by its total
	}}

	// Several statements in one call.
	severalWays = ways{exact: []way{
		sentTogether, // sent by Query, each statement exact as it is sent: in one call
		oneByOne,     // sent by Exec
		partByPart,   // sent by Query to MySQL
		drainedWhole, // sent by Query: drained for all of them, and sent as a whole
	}}
}

// waysOf returns the ways of a statement.
func waysOf(p *rewrite.Plan) *ways {
	switch p.Class {
	case rewrite.Additive, rewrite.Upsert:
		if slotted(p.Increment) {
			return &slottedWays
		}
		return &incrementWays
	case rewrite.Read:
		return &readWays
	case rewrite.Multi:
		return &severalWays
	case rewrite.Drain:
		if p.Bounded != nil {
			return &guardedWays
		}
		return &drainWays
	}
	return &baseWays
}

// try runs the statement in the first way that does it.
func (r *Run) try(ctx context.Context, w *ways) (a answer, err error) {
	done := false
	if w.rows != nil && r.call.wantsRows {
		if a, done, err = w.rows(ctx, r); done || err != nil {
			return a, err
		}
		if r.cause != byPlan {
			return r.exactly(ctx, w)
		}
	}
	for _, way := range w.fast {
		if a, done, err = way(ctx, r); done || err != nil {
			return a, err
		}
		if r.cause != byPlan {
			break
		}
	}
	return r.exactly(ctx, w)
}

// exactly runs the statement in the first of the ways that are exact whatever has been found.
func (r *Run) exactly(ctx context.Context, w *ways) (a answer, err error) {
	done := false
	if w.rare != nil && !(r.Plan.drain && len(r.call.args) == r.Plan.Inputs) {
		for _, way := range w.rare {
			if a, done, err = way(ctx, r); done || err != nil {
				return a, err
			}
		}
	}
	for _, way := range w.exact {
		if a, done, err = way(ctx, r); done || err != nil {
			break
		}
	}
	return a, err
}

// run runs the plan. If the facts that it was made with no longer hold, a new plan is made and run.
func (r *Run) run(ctx context.Context) (answer, error) {
	r.Plan.tally.statements.Add(1)
	if !r.Plan.ordinary && r.Plan.Class != rewrite.Read { // a read of a table without slots needs no * written out
		if err := r.CheckStars(ctx); err != nil {
			return answer{}, err
		}
	}
	a, err := r.runOnce(ctx)
	if err != nil && replan(ctx, r, err) {
		return r.runOnce(ctx)
	}
	return a, err
}

// QueryOnce runs a query, and does not plan it again if its facts no longer hold.
func (r *Run) QueryOnce(ctx context.Context) (driver.Rows, error) {
	r.call.wantsRows = true
	a, err := r.runOnce(ctx)
	return a.rows, err
}

// runOnce runs the plan: for this execution and those that overlap with it, or for this one only.
func (r *Run) runOnce(ctx context.Context) (a answer, err error) {
	if !r.Plan.ordinary {
		if a, done, err := refuseOrDraw(ctx, r); done || err != nil {
			return a, err
		}
	}
	defer func() {
		if err == nil && r.Plan.Class == rewrite.Multi && !r.call.wantsRows {
			return // each part has been noted: a BEGIN again would end what the transaction has begun with
		}
		if err != nil || !r.Plan.quiet || r.conn.Rare.Any(mayNote) {
			r.conn.noteRan(r.Plan, err)
		}
	}()
	if !r.Plan.ordinary {
		if needsRecall(r) {
			return runRecalled(ctx, r)
		}
		if err := setInsertID(ctx, r); err != nil {
			return answer{}, err
		}
	}
	if r.Plan.groups && (r.Plan.Class != rewrite.AdditiveBase || r.args().FitBase(&r.Plan.Base)) {
		return runGrouped(ctx, r, r.runBesideGroups)
	}
	if r.Plan.ordinary {
		return r.try(ctx, r.Plan.ways)
	}
	return r.runAlone(ctx)
}

// refuseOrDraw returns the error of a statement that is refused, or draws its number from a block of tickets.
func refuseOrDraw(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if err := refusal(r.Plan.Plan); err != nil {
		return answer{}, false, err
	}
	if a, done, err = r.drawTicket(ctx); done {
		r.conn.Tx.Read()
	}
	return a, done, err
}

// runAlone runs the plan for this execution only.
func (r *Run) runAlone(ctx context.Context) (answer, error) {
	a, err := r.try(ctx, r.Plan.ways)
	if err == nil && !r.Plan.ordinary && !r.call.wantsRows {
		drewAlone(r, a.result)
	}
	return a, err
}

// runBesideGroups runs the plan for this execution alone, beside groups. A group of several rows
// locks them in an order of its own, so the statement of a single row may be chosen as deadlock
// victim where the plain one would not: it is run again.
func (r *Run) runBesideGroups(ctx context.Context) (answer, error) {
	return r.runWithRetries(ctx, r.runAlone)
}

// runWithRetries runs f, which is undone as a whole if it fails, and runs it again after a retryable error: not if the
// failure has undone earlier statements as well, or left something committed, as a procedure may.
func (r *Run) runWithRetries(ctx context.Context, f func(context.Context) (answer, error)) (answer, error) {
	const calls = rewrite.TxControl | rewrite.SessionChange
	auto := r.conn.InAutocommit() && !r.partsStay && !r.Plan.Base.Several && r.Plan.Effects&(calls|rewrite.SchemaChange) != calls
	for tries := 1; ; tries++ {
		a, err := f(ctx)
		if err == nil || !auto || r.conn.Rare.Any(link.Broken) || !r.conn.Retry(ctx, tries, err) {
			return a, err
		}
	}
}

package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// The life of a planned statement: bind its arguments, run its steps, adapt its result. Package
// rewrite says what a plan is and how it is made.
//
// Functions that begin with run serve Exec and Query alike, those that begin with exec or query
// only one of them. Each returns an answer.

// Run is one execution of a plan.
type Run struct {
	conn   *Conn
	Plan   *plan
	sender sender
	call   call
	// partsStay: the statement is several, each of which succeeds or fails by itself, so those
	// before an error stay. It is set before the execution begins, and never changes.
	partsStay bool

	addition
	draining
}

// addition is the state of an execution that adds to a counter.
type addition struct {
	slot     int64          // the slot that it adds to
	batch    *slots.Batch   // the members of the shared statement
	sums     *sums          // what a group on the base row adds
	row      slots.RowKey   // the row whose heat this execution is evidence of; zero: none
	standing slots.Standing // of that row, if this is the transaction's first increment of it
	firm     bool           // the increment in a slot also locks the base row against changes
	take     taking         // what it takes from a portion
	// rowLocked: its statement has changed the base row, so no other session can create a slot of
	// it.
	rowLocked bool
}

func (c *Conn) newRun(p *plan, v sender, a call) *Run {
	return &Run{conn: c, Plan: p, sender: v, call: a}
}

// run runs the plan. If the facts that it was made with no longer hold, a new plan is made and run.
func (r *Run) run(ctx context.Context) (answer, error) {
	r.Plan.tally.ran()
	if !r.Plan.ordinary && r.Plan.Class != rewrite.Read { // a read of a table without slots needs no * written out
		if err := r.CheckStars(ctx); err != nil {
			return answer{}, err
		}
	}
	a, err := r.runOnce(ctx)
	if err != nil && r.replan(ctx, err) {
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

func (r *Run) runOnce(ctx context.Context) (a answer, err error) {
	if !r.Plan.ordinary {
		return r.runUnusual(ctx)
	}
	defer func() { r.conn.noteRan(r.Plan, err) }()
	return r.runInGroup(ctx)
}

// runUnusual runs a plan that is not an ordinary one.
func (r *Run) runUnusual(ctx context.Context) (a answer, err error) {
	if err := refusal(r.Plan.Plan); err != nil {
		return answer{}, err
	}
	if a, done, err := r.drawTicket(ctx); done {
		r.conn.Tx.Read()
		return a, err
	}
	defer func() { r.conn.noteRan(r.Plan, err) }()
	if r.needsRecall() {
		return r.runRecalled(ctx)
	}
	if r.call.wantsRows && r.conn.insertID.state != insertIDKnown && drawsNumber(r.Plan) {
		// A query does not show whether it has set the number.
		if err := r.conn.giveInsertID(ctx); err != nil {
			return answer{}, err
		}
	}
	return r.runInGroup(ctx)
}

// runInGroup runs the plan for this execution and those that overlap with it, or for this one only.
func (r *Run) runInGroup(ctx context.Context) (answer, error) {
	if r.grouped() {
		return r.runGrouped(ctx, r.runBesideGroups)
	}
	return r.runAlone(ctx)
}

// runAlone runs the plan for this execution only.
func (r *Run) runAlone(ctx context.Context) (answer, error) {
	a, err := r.runClass(ctx)
	if err == nil && !r.Plan.ordinary && !r.call.wantsRows {
		r.drewAlone(a.result)
	}
	return a, err
}

// runWithRetries runs f, which is undone as a whole if it fails, and runs it again after a retryable error: not if the
// failure has undone earlier statements as well, or left something committed, as a procedure may.
func (r *Run) runWithRetries(ctx context.Context, f func(context.Context) (answer, error)) (answer, error) {
	const calls = rewrite.TxControl | rewrite.SessionChange
	auto := r.conn.InAutocommit() && !r.partsStay && !r.Plan.Base.Several && r.Plan.Effects&(calls|rewrite.SchemaChange) != calls
	for tries := 1; ; tries++ {
		a, err := f(ctx)
		if err == nil || !auto || r.conn.Broken || !r.conn.Retry(ctx, tries, err) {
			return a, err
		}
	}
}

// runClass runs the plan in the way of its class.
func (r *Run) runClass(ctx context.Context) (answer, error) {
	switch r.Plan.Class {
	case rewrite.Additive, rewrite.Upsert:
		if r.call.wantsRows {
			return r.queryIncrement(ctx)
		}
		return r.execIncrement(ctx)
	case rewrite.Drain:
		if !r.call.wantsRows && r.bounded() && !r.recalls() {
			return r.execBounded(ctx)
		}
		return r.runDrained(ctx)
	case rewrite.Read:
		return r.runRead(ctx)
	case rewrite.Multi:
		if r.call.wantsRows {
			return r.queryMulti(ctx)
		}
		return r.execMulti(ctx)
	case rewrite.AdditiveBase:
		if !r.baseFits() {
			return r.because(argumentUnfit).runDrained(ctx)
		}
	}
	return r.runOnBase(ctx)
}

// runOnBase runs the plan's SQL on the base rows, and remembers the rows that it changes.
func (r *Run) runOnBase(ctx context.Context) (answer, error) {
	if len(r.Plan.Base.Changes) > 0 {
		return r.runChanging(ctx, r.Plan.Base.Changes)
	}
	return r.send(ctx)
}

// execIncrement runs an increment on its base row or in a slot, whichever lets others wait less.
// Where neither may take its arguments, it falls back to a drain, which is right for everything.
func (r *Run) execIncrement(ctx context.Context) (answer, error) {
	if !r.fitsAny() {
		if inc := r.Plan.Increment; !r.formsMatch(inc.Forms) && inc.BaseExact() && len(r.call.args) == r.Plan.Inputs {
			return r.execAsWritten(ctx)
		}
		if !r.incrementFits() {
			return r.because(argumentUnfit).fallback(ctx)
		}
	}
	if r.conn.Origin.RoleUnknown() {
		return r.because(roleUnknown).fallback(ctx)
	}
	if r.onColdRow() {
		if r.foldsCooled() {
			return r.execCooledRow(ctx)
		}
		return r.execColdRow(ctx)
	}
	if r.againstSide() {
		if r.incrementFitsBase() {
			return r.execColdRow(ctx)
		}
		return r.because(argumentUnfit).fallback(ctx)
	}
	if r.conn.Tx.KeepsLocks() {
		if r.belongsOnBase() {
			return r.execOnBase(ctx)
		}
		if err := r.awaitTrial(ctx, inSlot); err != nil {
			return answer{}, err
		}
	}
	if first, err := r.drainsFirst(ctx); err != nil {
		return answer{}, err
	} else if first {
		return r.lockFirst(ctx)
	}
	return r.execInSlot(ctx)
}

// queryIncrement runs an increment that was sent as a query: an increment in a slot returns no rows.
func (r *Run) queryIncrement(ctx context.Context) (answer, error) {
	if !r.Plan.Increment.BaseExact() {
		return r.because(rowsAskedFor).runDrained(ctx)
	}
	return r.runChanging(ctx, []rewrite.DrainTable{r.Plan.Increment.Row})
}

// fitsAny reports whether the increment may go to a slot, and to the base row, whatever its arguments are.
func (r *Run) fitsAny() bool { return r.Plan.fits && len(r.call.args) == r.Plan.Inputs }

// incrementFits reports whether the arguments allow the increment to go to a slot.
func (r *Run) incrementFits() bool {
	inc := r.Plan.Increment
	if len(r.call.args) > r.Plan.Inputs {
		return false // for the parent to refuse
	}
	if !r.noNumbers(inc.NotNumber) || !r.formsMatch(inc.Forms) || !r.columnsAccept(inc.Inserted) {
		return false
	}
	for _, a := range inc.Args {
		if a.Slot {
			continue
		}
		if _, ok := r.value(a); !ok {
			return false
		}
	}
	return r.fits(inc.Deltas, inc.NonZero)
}

// incrementFitsBase reports whether the application's own statement, with its arguments, is exact
// on the base row whatever the row's slots hold.
func (r *Run) incrementFitsBase() bool {
	if r.fitsAny() {
		return true
	}
	require, ok := r.Plan.Increment.OnBase()
	return ok && r.fits(require, true)
}

// againstSide reports whether a slot cannot take what the increment adds, because the counter has
// bounds and its slots only hold portions of the other sign.
func (r *Run) againstSide() bool {
	for _, d := range r.Plan.Increment.Deltas {
		if d.Side == schema.AnySide {
			continue
		}
		v, ok := r.value(d.Arg)
		d.NonNegative = true
		if d.Side == schema.NeverPositive {
			d.Arg.Negate = !d.Arg.Negate
		}
		if _, fits := checkDelta(d, v.Value); ok && !fits {
			return true
		}
	}
	return false
}

// onColdRow reports whether an increment is to run on its base row because the row is cold. In a
// transaction the row is then locked until the transaction ends.
func (r *Run) onColdRow() bool {
	c := r.conn
	counter := r.Plan.Increment.Table.Counter
	if counter.Options.Placement != schema.PlacementAdaptive || counter.Layout == schema.LayoutJournal ||
		!r.incrementFitsBase() && !(r.Plan.Increment.Latest && r.provable()) {
		return false
	}
	row, keyed := r.heatKey()
	if !keyed {
		return false
	}
	row.Node = 0 // nodes of a cluster have the row in common
	if !c.Tx.KeepsLocks() {
		heat := c.Shared.heat
		if g := r.Plan.Group; (g == nil || g.Many == nil) && heat.Crowded(row.Table) {
			return false // else a crowd shares statements on base rows
		}
		r.standing = heat.Look(row)
		if r.Plan.tally.heatedRow(r.standing.Became); !r.standing.Hot {
			r.row = row
		}
		return !r.standing.Hot
	}
	return !r.holdsHot(row)
}

// maxCounting is how many rows a transaction holds; further ones are cold for it.
const maxCounting = 4096

// holdsHot notes that the transaction counts a row, and reports whether the row is hot.
func (r *Run) holdsHot(row slots.RowKey) bool {
	c := r.conn
	hot, counted := c.counting[row]
	if !counted && len(c.counting) < maxCounting {
		r.standing = c.Shared.heat.Hold(row)
		hot = r.standing.Hot
		r.Plan.tally.heatedRow(r.standing.Became)
		if c.counting == nil {
			c.counting = map[slots.RowKey]bool{}
		}
		c.counting[row] = hot
	}
	if !hot {
		r.row = row
	}
	return hot
}

// execAsWritten runs the increment on the base row as the application wrote it, where that is
// exact. It is not certain which rows it has changed, so all that it may have changed are
// remembered.
func (r *Run) execAsWritten(ctx context.Context) (answer, error) {
	a, err := r.send(ctx)
	if err == nil {
		r.note(&r.Plan.Increment.Row, onBase)
	}
	return a, err
}

func (r *Run) fallback(ctx context.Context) (answer, error) {
	r.Plan.tally.fellBack()
	if r.Plan.Increment.Upsert && !r.Plan.Increment.Companions && r.baseFits() {
		a, err := r.send(ctx)
		if err == nil {
			r.note(&r.Plan.Increment.Row, onBase)
			err = r.holdIncrement(ctx)
		}
		return a, err
	}
	return r.runDrained(ctx)
}

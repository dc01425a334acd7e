package session

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// The life of a planned statement: bind its arguments, run its steps, adapt
// its result. What a plan is, and how it comes about, is in package rewrite.
//
// A statement comes through Exec or through Query, and is run the same way: what begins with
// run serves both, what begins with exec or query only one of them. Each returns an answer.

// Run is one execution of a plan.
type Run struct {
	conn   *Conn
	Plan   *plan
	sender sender
	call   call
	// partsStay: the statement is of several that stand or fail each by itself, so that
	// those before an error stay. It is known before the execution begins, and never changes.
	partsStay bool

	addition
	draining
}

func (c *Conn) newRun(p *plan, v sender, a call) *Run {
	return &Run{conn: c, Plan: p, sender: v, call: a}
}

// run runs the plan, and a plan made anew where its facts no longer hold.
func (r *Run) run(ctx context.Context) (answer, error) {
	r.Plan.tally.ran()
	if err := r.CheckStars(ctx); err != nil {
		return answer{}, err
	}
	a, err := r.runOnce(ctx)
	if err != nil && r.replan(ctx, err) {
		return r.runOnce(ctx)
	}
	return a, err
}

// QueryOnce runs a query, without planning it again where its facts no longer hold.
func (r *Run) QueryOnce(ctx context.Context) (driver.Rows, error) {
	r.call.wantsRows = true
	a, err := r.runOnce(ctx)
	return a.rows, err
}

func (r *Run) runOnce(ctx context.Context) (a answer, err error) {
	if err := r.conn.checkAllowed(r.Plan.Plan); err != nil {
		return answer{}, err
	}
	if err := r.conn.beforeReadOnly(ctx, r.Plan.Plan); err != nil {
		return answer{}, err
	}
	if a, done, err := r.drawTicket(ctx); done {
		r.conn.Tx.Read()
		return a, err
	}
	defer func() { r.conn.noteRan(r.Plan.Plan, err) }()
	if r.needsRecall() {
		return r.runRecalled(ctx)
	}
	if r.call.wantsRows && r.conn.insertID.state != insertIDKnown && drawsNumber(r.Plan) {
		// Of a query it is not seen whether it has set the number.
		if err := r.conn.giveInsertID(ctx); err != nil {
			return answer{}, err
		}
	}
	if r.grouped() {
		return r.runGrouped(ctx, r.runBesideGroups)
	}
	return r.runAlone(ctx)
}

// runAlone runs the plan for this execution and no other.
func (r *Run) runAlone(ctx context.Context) (answer, error) {
	a, err := r.runClass(ctx)
	if err == nil && !r.call.wantsRows {
		r.drewAlone(a.result)
	}
	return a, err
}

// runClass runs the plan as its class has it.
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

// runOnBase runs the plan's SQL, and remembers the rows that it changes.
func (r *Run) runOnBase(ctx context.Context) (answer, error) {
	if len(r.Plan.Base.Changes) > 0 {
		return r.runChanging(ctx, r.Plan.Base.Changes)
	}
	return r.send(ctx)
}

// execIncrement adds to a slot, together with others that are under way where
// that is possible. When that affects no row, or cannot take the arguments, the
// same statement runs in the form that is right for everything: the row may be
// missing, its counter NULL or close to the end of its range.
func (r *Run) execIncrement(ctx context.Context) (answer, error) {
	if inc := r.Plan.Increment; !r.formsMatch(inc.Forms) && inc.BaseExact() && len(r.call.args) == r.Plan.Inputs {
		return r.execAsWritten(ctx)
	}
	switch {
	case !r.incrementFits():
		return r.because(argumentUnfit).fallback(ctx)
	case r.conn.Origin.RoleUnknown():
		return r.because(roleUnknown).fallback(ctx)
	}
	if r.onColdRow() {
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
	v := r.share(ctx)
	if v.Outcome == slots.OutcomeAlone {
		var n int64
		v.Result, n, v.Err = r.addToSlot(ctx, r.place(), r.conn.Tx.KeepsLocks(), r.conn.InAutocommit())
		switch {
		case v.Err == nil && n == 0:
			return r.because(noRowAffected).fallback(ctx)
		case v.Err != nil && r.conn.Engine.SlotFull(v.Err):
			return r.because(outOfRange).fallback(ctx)
		}
	}
	if v.Err != nil {
		return answer{}, v.Err
	}
	r.Plan.tally.ranSlotted()
	r.noteIncrement()
	if err := r.holdIncrement(ctx); err != nil {
		return answer{}, err
	}
	var n int64 = 1
	if r.Plan.Increment.Upsert && r.conn.Shared.Traits.UpsertCounts {
		n = 2
	}
	return answer{result: &result{v.Result, n}}, nil
}

// queryIncrement runs an increment whose result has to come with rows, which that in a slot
// has not.
func (r *Run) queryIncrement(ctx context.Context) (answer, error) {
	if !r.Plan.Increment.BaseExact() {
		return r.because(rowsAskedFor).runDrained(ctx)
	}
	return r.runChanging(ctx, []rewrite.DrainTable{r.Plan.Increment.Row})
}

// incrementFits reports whether the arguments are such that the increment may be
// slotted.
func (r *Run) incrementFits() bool {
	inc := r.Plan.Increment
	if len(r.call.args) > r.Plan.Inputs {
		return false // for the parent to refuse
	}
	if !r.noNumbers(inc.NotNumber) || !r.formsMatch(inc.Forms) || !r.columnsAccept(inc.Given) {
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

// incrementFitsBase reports whether the original statement of an increment, with its
// arguments, is exact on the base table, beside whatever its slots hold.
func (r *Run) incrementFitsBase() bool {
	require, ok := r.Plan.Increment.OnBase()
	return ok && r.fits(require, true)
}

// againstSide reports whether slots do not take what the increment adds: the counter has
// bounds, and its slots hold portions of the other sign.
func (r *Run) againstSide() bool {
	for _, d := range r.Plan.Increment.Deltas {
		if d.Side == rewrite.AnySide {
			continue
		}
		v, ok := r.value(d.Arg)
		d.NonNegative = true
		if d.Side == rewrite.NeverPositive {
			d.Arg.Negate = !d.Arg.Negate
		}
		if _, fits := checkDelta(d, v.Value); ok && !fits {
			return true
		}
	}
	return false
}

// onColdRow reports whether an increment is to run on its base row, because its row is
// cold. In a transaction the row is then held until that ends.
func (r *Run) onColdRow() bool {
	c := r.conn
	counter := r.Plan.Increment.Table.Counter
	if counter.Options.Placement != rewrite.PlacementAdaptive || counter.Layout == rewrite.LayoutJournal || !r.incrementFitsBase() {
		return false
	}
	row, keyed := r.heatKey()
	if !keyed {
		return false
	}
	row.Node = 0 // nodes of a cluster have the row in common
	if !c.Tx.KeepsLocks() {
		heatOf := c.Shared.heat.Hot
		if g := r.Plan.Group; g != nil && g.Many != nil {
			heatOf = c.Shared.heat.HotRow // a crowd shares statements on base rows
		}
		hot, became := heatOf(row)
		if r.Plan.tally.heatedRow(became); !hot {
			r.row = row
		}
		return !hot
	}
	return !r.holdsHot(row)
}

// holdsHot reports whether a row is hot that the transaction counts, and notes that it does.
func (r *Run) holdsHot(row slots.RowKey) bool {
	c := r.conn
	hot, counted := c.counting[row]
	if !counted {
		var became bool
		hot, became = c.Shared.heat.Hold(row)
		r.Plan.tally.heatedRow(became)
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

// addToSlot adds to a slot. In autocommit (auto) it does so again when others were
// in the way: another node of a cluster, say, had a process with the same slot.
// When it still has, any other slot will do.
func (r *Run) addToSlot(ctx context.Context, p slots.Place, lasting, auto bool) (res driver.Result, n int64, err error) {
	picker := r.picker()
	defer picker.Release(p)
	for tries := 1; ; tries++ {
		res, n, err = r.addOnce(ctx, p, lasting)
		if !auto || !r.conn.Retry(ctx, tries, err) {
			return res, n, err
		}
		if tries > 1 {
			p.Slot = r.anotherSlot()
		}
	}
}

// anotherSlot is another slot to try.
func (r *Run) anotherSlot() int64 {
	c := r.Plan.Increment.Table.Counter
	if c.Layout == rewrite.LayoutJournal {
		return r.conn.Shared.placement.Journal.Next()
	}
	return rand.Int64N(int64(c.Slots))
}

// addOnce adds to a slot: by an update of the slot row when the process has
// written it before, else by the upsert. Where what a statement locks lasts, both lock the
// base row before the slot row, as a drain does, or there is only the upsert: on MySQL an update
// that finds no row would keep others from making theirs.
func (r *Run) addOnce(ctx context.Context, p slots.Place, lasting bool) (res driver.Result, n int64, err error) {
	r.slot = p.Slot
	places := r.conn.Shared.placement
	inc := r.Plan.Increment
	upsert, firm, add := &inc.Bound, inc.Firm, inc.Add
	if r.batch != nil {
		upsert, firm, add = &inc.Coalesced.Upsert, inc.Coalesced.Firm, inc.Coalesced.Add
	}
	if lasting && !r.conn.Shared.Traits.OneWriter {
		add = inc.AddLocked
	}
	if p.Keyed && add != nil && places.Knows(p.SlotRow) {
		if res, n, err = r.execBound(ctx, add); n > 0 || err != nil {
			if err == nil {
				places.NoteFound(p.Row.Table)
			}
			return res, n, err
		}
		places.NoteMissing(p.SlotRow)
	}
	if r.firm = firm != nil && r.conn.Origin.RoleSet(); r.firm {
		upsert = firm
	}
	res, n, err = r.execBound(ctx, upsert)
	if n == 0 && err == nil && firm != nil && !r.firm && !inc.Upsert {
		// The lock on the row is not certain, or there is no row. (Of an upsert the
		// application's own statement follows, which waits for the row, or makes it.)
		r.firm = true
		res, n, err = r.execBound(ctx, firm)
	}
	if n > 0 && err == nil {
		r.noteSlotRow()
		if p.Keyed {
			places.Learn(p.SlotRow)
			r.noteRowExists(p.Row)
		}
	} else if n == 0 && err == nil && p.Keyed && inc.Upsert {
		places.Forget(slots.SlotRow{Row: p.Row, Slot: existence})
	}
	return res, n, err
}

// execAsWritten runs the increment as written on the base row, where that is exact. Which
// rows it changed is not certain, so all are remembered.
func (r *Run) execAsWritten(ctx context.Context) (answer, error) {
	a, err := r.send(ctx)
	if err == nil {
		r.note(r.Plan.Increment.Row, onBase)
	}
	return a, err
}

func (r *Run) fallback(ctx context.Context) (answer, error) {
	r.Plan.tally.fellBack()
	if r.Plan.Increment.Upsert && !r.Plan.Increment.Companions && r.baseFits() {
		a, err := r.send(ctx)
		if err == nil {
			r.note(r.Plan.Increment.Row, onBase)
			err = r.holdIncrement(ctx)
		}
		return a, err
	}
	return r.runDrained(ctx)
}

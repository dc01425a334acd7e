package session

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// The life of a planned statement: bind its arguments, run its steps, adapt
// its result. What a plan is, and how it comes about, is in package rewrite.

// Run is one execution of a plan.
type Run struct {
	conn *Conn
	Plan *plan
	via  via
	call call
	// partsStay: the statement is of several that stand or fail each by itself, so that
	// those before an error stay.
	partsStay bool

	adding
	draining
}

// adding is what an execution that adds to a counter has found out.
type adding struct {
	slot int64        // that it adds to
	with *slots.Batch // that a shared statement is for
	sums *sums        // of a group on the base row
	row  slots.RowKey // whose heat the execution shows; the zero one: none's
}

// draining is what an execution that drains has found out.
type draining struct {
	cause drainCause // of a drain that the plan has no reason for
	// addedToBase: a drain has added something to base rows.
	addedToBase bool
	// rowAppeared: the statement has met a row that its drain did not find.
	rowAppeared bool
	// cleanUpDue: Before has run, and the statements of After are needed even if the
	// application's own one fails.
	cleanUpDue bool
	// ungranted is what has to be granted before the session's user may move slots
	// into base rows of the plan's tables; nil where it may.
	ungranted []string
}

func (c *Conn) run(p *plan, v via, a call) *Run { return &Run{conn: c, Plan: p, via: v, call: a} }

func (r *Run) exec(ctx context.Context) (driver.Result, error) {
	r.Plan.tally.ran()
	if err := r.CheckStars(ctx); err != nil {
		return nil, err
	}
	res, err := r.execOnce(ctx)
	if err != nil && r.replan(ctx, err) {
		return r.execOnce(ctx)
	}
	return res, err
}

func (r *Run) query(ctx context.Context) (driver.Rows, error) {
	r.Plan.tally.ran()
	if err := r.CheckStars(ctx); err != nil {
		return nil, err
	}
	rows, err := r.QueryOnce(ctx)
	if err != nil && r.replan(ctx, err) {
		return r.QueryOnce(ctx)
	}
	return rows, err
}

// replan reports whether the statement has failed because its plan was made with
// facts that no longer hold, and gives it the plan that holds now. Nothing of
// the statement is left: such errors come before any effect, and a drain has
// been undone or changes no total.
func (r *Run) replan(ctx context.Context, err error) bool {
	c := r.conn
	if r.Plan.source == "" || r.Plan.AsIs() || r.Plan.Class == rewrite.Multi || c.Broken || !c.Engine.SchemaChanged(err) {
		return false
	}
	if c.Engine.Watcher != nil && c.Engine.Watcher.ConnInTransaction(c.Parent) {
		return false // an error fails the transaction of such an engine
	}
	p, err := c.Plan(ctx, r.Plan.source)
	if err != nil || p.same(r.Plan) {
		return false
	}
	r.Plan = p
	return true
}

func (r *Run) execOnce(ctx context.Context) (res driver.Result, err error) {
	if err := r.conn.allowed(r.Plan.Plan); err != nil {
		return nil, err
	}
	defer func() { r.conn.after(r.Plan.Plan, err) }()
	if r.grouped() {
		return r.execGrouped(ctx, r.execAlone)
	}
	return r.execAlone(ctx)
}

// execAlone runs the plan for this execution and no other.
func (r *Run) execAlone(ctx context.Context) (driver.Result, error) {
	res, err := r.execClass(ctx)
	if err == nil {
		r.drewAlone(res)
	}
	return res, err
}

// grouped reports whether the execution may share a statement on the base row whatever
// its row. An increment in slots of its own finds that out by itself, and one whose
// arguments have it drained runs alone.
func (r *Run) grouped() bool {
	switch r.Plan.Class {
	case rewrite.PassThrough, rewrite.Drain:
		return r.Plan.Group != nil
	case rewrite.AdditiveBase:
		return r.Plan.Group != nil && r.baseFits()
	}
	return false
}

// execClass runs the plan as its class has it.
func (r *Run) execClass(ctx context.Context) (driver.Result, error) {
	switch r.Plan.Class {
	case rewrite.Additive, rewrite.Upsert:
		return r.execIncrement(ctx)
	case rewrite.Drain:
		if r.bounded() {
			return r.execBounded(ctx)
		}
		return r.execDrained(ctx)
	case rewrite.Read:
		if err := r.settle(ctx); err != nil {
			return nil, err
		}
		if err := r.readCommitted(ctx); err != nil {
			return nil, err
		}
	case rewrite.Multi:
		return r.execMulti(ctx)
	case rewrite.AdditiveBase:
		if !r.baseFits() {
			return r.because(argumentUnfit).execDrained(ctx)
		}
	}
	if len(r.Plan.Base.Changes) > 0 {
		return r.execChanging(ctx)
	}
	return r.execText(ctx)
}

// QueryOnce runs the plan's query, without planning it again where its facts no longer hold.
func (r *Run) QueryOnce(ctx context.Context) (rows driver.Rows, err error) {
	if err := r.conn.allowed(r.Plan.Plan); err != nil {
		return nil, err
	}
	defer func() { r.conn.after(r.Plan.Plan, err) }()
	if r.conn.insertID.state != insertIDKnown && drawsNumber(r.Plan) {
		// Of a query it is not seen whether it has set the number.
		if err := r.conn.giveInsertID(ctx); err != nil {
			return nil, err
		}
	}
	if r.grouped() {
		return r.queryGrouped(ctx, r.queryClass)
	}
	return r.queryClass(ctx)
}

// queryClass runs the plan's query as its class has it.
func (r *Run) queryClass(ctx context.Context) (rows driver.Rows, err error) {
	switch r.Plan.Class {
	case rewrite.Additive, rewrite.Upsert:
		if !r.Plan.Increment.BaseExact() {
			return r.because(rowsAskedFor).queryDrained(ctx)
		}
		return r.queryChanging(ctx, []rewrite.DrainTable{r.Plan.Increment.Row})
	case rewrite.Drain:
		return r.queryDrained(ctx)
	case rewrite.Read:
		if err := r.settle(ctx); err != nil {
			return nil, err
		}
		if err := r.readCommitted(ctx); err != nil {
			return nil, err
		}
	case rewrite.Multi:
		return r.queryMulti(ctx)
	case rewrite.AdditiveBase:
		if !r.baseFits() {
			return r.because(argumentUnfit).queryDrained(ctx)
		}
	}
	if len(r.Plan.Base.Changes) > 0 {
		return r.queryChanging(ctx, r.Plan.Base.Changes)
	}
	var types []ColumnType
	if r.Plan.Read.Shape != nil {
		if types, err = r.shape(ctx); err != nil {
			return nil, err
		}
	}
	rows, err = r.queryText(ctx)
	if err == nil && types != nil {
		rows = r.typed(rows, types)
	}
	return rows, err
}

func (r *Run) execText(ctx context.Context) (driver.Result, error) {
	c, err := r.textCall()
	if err != nil {
		return nil, err
	}
	return r.via.execText(ctx, r.Plan.Plan, c)
}

func (r *Run) queryText(ctx context.Context) (driver.Rows, error) {
	c, err := r.textCall()
	if err != nil {
		return nil, err
	}
	return r.via.queryText(ctx, r.Plan.Plan, c)
}

// execIncrement adds to a slot, together with others that are under way where
// that is possible. When that affects no row, or cannot take the arguments, the
// same statement runs in the form that is right for everything: the row may be
// missing, its counter NULL or close to the end of its range.
func (r *Run) execIncrement(ctx context.Context) (driver.Result, error) {
	if inc := r.Plan.Increment; !r.certain(inc.Forms) && inc.BaseExact() && len(r.call.args) == r.Plan.Inputs {
		return r.execOwnText(ctx)
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
		if err := r.awaitTrial(ctx); err != nil {
			return nil, err
		}
	}
	if first, err := r.locksFirst(ctx, &r.Plan.Increment.Row); err != nil {
		return nil, err
	} else if first {
		return r.lockFirst(ctx)
	}
	v := r.share(ctx)
	if v.Outcome == slots.OutcomeAlone {
		var n int64
		v.Result, n, v.Err = r.addTo(ctx, r.place(), r.conn.Tx.KeepsLocks(), r.conn.InAutocommit())
		switch {
		case v.Err == nil && n == 0:
			return r.because(noRowAffected).fallback(ctx)
		case v.Err != nil && r.conn.Engine.SlotFull(v.Err):
			return r.because(outOfRange).fallback(ctx)
		}
	}
	if v.Err != nil {
		return nil, v.Err
	}
	r.Plan.tally.ranSlotted()
	r.counted()
	if err := r.holdIncrement(ctx); err != nil {
		return nil, err
	}
	var n int64 = 1
	if r.Plan.Increment.Upsert && r.conn.Shared.Traits.UpsertCounts {
		n = 2
	}
	return &result{v.Result, n}, nil
}

// addTo adds to a slot. In autocommit (auto) it does so again when others were
// in the way: another node of a cluster, say, had a process with the same slot.
// When it still has, any other slot will do.
func (r *Run) addTo(ctx context.Context, p slots.Place, lasting, auto bool) (res driver.Result, n int64, err error) {
	seats := r.seats()
	defer seats.Leave(p)
	for tries := 1; ; tries++ {
		res, n, err = r.addOnce(ctx, p, lasting)
		if !auto || !r.conn.Retry(ctx, tries, err) {
			return res, n, err
		}
		if tries > 1 {
			p.Slot = r.other()
		}
	}
}

// other is another slot to try.
func (r *Run) other() int64 {
	c := r.Plan.Increment.Table.Counter
	if c.Layout == rewrite.LayoutJournal {
		return r.conn.Shared.placement.Journal.Next()
	}
	return rand.Int64N(int64(c.Slots))
}

// addOnce adds to a slot: by an update of the slot row when the process has
// written it before, else by the upsert; where what a statement locks lasts, by
// the upsert alone, which locks the base row before the slot row, as a drain does.
// An update that finds no row would keep others from making theirs (MySQL), and
// PostgreSQL looks for the referenced row, and locks it, when a transaction updates a
// slot row for the second time.
func (r *Run) addOnce(ctx context.Context, p slots.Place, lasting bool) (res driver.Result, n int64, err error) {
	r.slot = p.Slot
	places := r.conn.Shared.placement
	upsert, add := &r.Plan.Increment.Bound, r.Plan.Increment.Add
	if r.with != nil {
		upsert, add = &r.Plan.Increment.Coalesced.Upsert, r.Plan.Increment.Coalesced.Add
	}
	if p.Keyed && add != nil && places.Knows(p.SlotRow) && (!lasting || r.conn.Shared.Traits.OneWriter) {
		if res, n, err = r.own(ctx, add); n > 0 || err != nil {
			if err == nil {
				places.Found(p.Row.Table)
			}
			return res, n, err
		}
		places.Miss(p.SlotRow)
	}
	if res, n, err = r.own(ctx, upsert); n > 0 && err == nil {
		r.made()
		if p.Keyed {
			places.Learn(p.SlotRow)
			r.exists(p.Row)
		}
	} else if n == 0 && err == nil && p.Keyed && r.Plan.Increment.Upsert {
		places.Forget(slots.SlotRow{Row: p.Row, Slot: existence})
	}
	return res, n, err
}

// own runs one of the statements of an increment, and returns the rows affected.
func (r *Run) own(ctx context.Context, b *rewrite.Bound) (driver.Result, int64, error) {
	args, err := r.bind(b.Args)
	if err != nil {
		return nil, 0, err
	}
	res, err := r.via.own(ctx, b, args)
	if err != nil {
		return nil, 0, err
	}
	n, err := res.RowsAffected()
	return res, n, link.Settled(err)
}

// execOwnText runs the increment's own SQL on the base row, where that is exact.
// Which rows it has changed is not certain, so that all are remembered.
func (r *Run) execOwnText(ctx context.Context) (driver.Result, error) {
	res, err := r.execText(ctx)
	if err == nil {
		r.note(r.Plan.Increment.Row, onBase)
	}
	return res, err
}

func (r *Run) fallback(ctx context.Context) (driver.Result, error) {
	r.Plan.tally.fellBack()
	if r.Plan.Increment.Upsert && !r.Plan.Increment.Companions && r.baseFits() {
		res, err := r.execText(ctx)
		if err == nil {
			r.note(r.Plan.Increment.Row, onBase)
			err = r.holdIncrement(ctx)
		}
		return res, err
	}
	return r.execDrained(ctx)
}

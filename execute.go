package slotsql

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"

	"github.com/slotsql/slotsql/rewrite"
)

// The life of a planned statement: bind its arguments, run its steps, adapt
// its result. What a plan is, and how it comes about, is in package rewrite.

// call holds the arguments of one execution. Options are arguments that are
// meant for the parent driver and stand before the others.
type call struct {
	args    []driver.NamedValue
	options []driver.NamedValue
}

// via is how the texts of a plan reach the parent: as they are, or through
// statements prepared for them.
type via interface {
	execText(ctx context.Context, p *rewrite.Plan, c call) (driver.Result, error)
	queryText(ctx context.Context, p *rewrite.Plan, c call) (driver.Rows, error)
	own(ctx context.Context, b *rewrite.Bound, args []driver.NamedValue) (driver.Result, error)
}

// direct is the via of db.Exec and db.Query.
type direct struct{ conn *conn }

func (t direct) execText(ctx context.Context, p *rewrite.Plan, c call) (driver.Result, error) {
	return t.conn.parentExec(ctx, p.Text, joinArgs(c.options, c.args))
}

func (t direct) queryText(ctx context.Context, p *rewrite.Plan, c call) (driver.Rows, error) {
	if p.Class == rewrite.Read && t.conn.shared.traits.SlowParse {
		if rows, err := t.conn.prepared.query(ctx, &t.conn.link, p, p.Text, c.args); rows != nil || err != nil {
			return rows, err
		}
	}
	return t.conn.parentQuery(ctx, p.Text, joinArgs(c.options, c.args))
}

func (t direct) own(ctx context.Context, b *rewrite.Bound, args []driver.NamedValue) (driver.Result, error) {
	if t.conn.prepares || t.conn.shared.traits.SlowParse {
		st, err := t.conn.prepared.get(ctx, &t.conn.link, b.SQL, b.SQL)
		if err != nil {
			return nil, err
		}
		return stmtExec(ctx, st, args)
	}
	return t.conn.parentExec(ctx, b.SQL, args)
}

// run is one execution of a plan.
type run struct {
	conn  *conn
	plan  *plan
	via   via
	call  call
	cause drainCause // of a drain that the plan has no reason for
	slot  int64      // that an increment adds to
	with  *batch     // that a shared statement is for
	// folded says that a drain has added something to base rows.
	folded bool
	// met says that the text has met a row that its drain did not find.
	met bool
	// apart says that the text is of several statements that stand or fail
	// each by itself: the ones before an error stay.
	apart bool
	// between says that a drain's last statements, or what follows them, are
	// under way, and that the plan has statements for behind the text.
	between bool
	// ungranted is what has to be granted before the session's user may move slots
	// into base rows of the plan's tables; nil where it may.
	ungranted []string
}

func (c *conn) run(p *plan, v via, a call) *run { return &run{conn: c, plan: p, via: v, call: a} }

func (r *run) exec(ctx context.Context) (driver.Result, error) {
	r.plan.tally.ran()
	if err := r.checkStars(ctx); err != nil {
		return nil, err
	}
	res, err := r.execOnce(ctx)
	if err != nil && r.replan(ctx, err) {
		return r.execOnce(ctx)
	}
	return res, err
}

func (r *run) query(ctx context.Context) (driver.Rows, error) {
	r.plan.tally.ran()
	if err := r.checkStars(ctx); err != nil {
		return nil, err
	}
	rows, err := r.queryOnce(ctx)
	if err != nil && r.replan(ctx, err) {
		return r.queryOnce(ctx)
	}
	return rows, err
}

// replan says that the statement has failed because its plan was made with
// facts that no longer hold, and gives it the plan that holds now. Nothing of
// the statement is left: such errors come before any effect, and a drain has
// been undone or changes no total.
func (r *run) replan(ctx context.Context, err error) bool {
	c := r.conn
	if r.plan.source == "" || r.plan.AsIs() || r.plan.Class == rewrite.Multi || c.broken || !c.engine.schemaChanged(err) {
		return false
	}
	if c.engine.watcher != nil && c.engine.watcher.ConnInTransaction(c.parent) {
		return false // an error fails the transaction of such an engine
	}
	p, err := c.plan(ctx, r.plan.source)
	if err != nil || p.same(r.plan) {
		return false
	}
	r.plan = p
	return true
}

func (r *run) execOnce(ctx context.Context) (res driver.Result, err error) {
	if err := r.conn.allowed(r.plan.Plan); err != nil {
		return nil, err
	}
	defer func() { r.conn.after(r.plan.Plan, err) }()
	switch r.plan.Class {
	case rewrite.Additive, rewrite.Upsert:
		return r.execIncrement(ctx)
	case rewrite.Drain:
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
	if len(r.plan.Changes) > 0 {
		return r.execChanging(ctx)
	}
	return r.execText(ctx)
}

func (r *run) queryOnce(ctx context.Context) (rows driver.Rows, err error) {
	if err := r.conn.allowed(r.plan.Plan); err != nil {
		return nil, err
	}
	defer func() { r.conn.after(r.plan.Plan, err) }()
	switch r.plan.Class {
	case rewrite.Additive, rewrite.Upsert:
		if !r.plan.Increment.BaseExact() {
			return r.because(rowsAskedFor).queryDrained(ctx)
		}
		return r.queryChanging(ctx, []rewrite.DrainTable{r.plan.Increment.Row})
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
	if len(r.plan.Changes) > 0 {
		return r.queryChanging(ctx, r.plan.Changes)
	}
	var types []columnType
	if r.plan.Shape != nil {
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

func (r *run) execText(ctx context.Context) (driver.Result, error) {
	c, err := r.textCall()
	if err != nil {
		return nil, err
	}
	return r.via.execText(ctx, r.plan.Plan, c)
}

func (r *run) queryText(ctx context.Context) (driver.Rows, error) {
	c, err := r.textCall()
	if err != nil {
		return nil, err
	}
	return r.via.queryText(ctx, r.plan.Plan, c)
}

// execIncrement adds to a slot, together with others that are under way where
// that is possible. When that affects no row, or cannot take the arguments, the
// same statement runs in the form that is right for everything: the row may be
// missing, its counter NULL or close to the end of its range.
func (r *run) execIncrement(ctx context.Context) (driver.Result, error) {
	if inc := r.plan.Increment; !r.certain(inc.Forms) && inc.BaseExact() && len(r.call.args) == r.plan.Inputs {
		return r.execOwnText(ctx)
	}
	switch {
	case !r.incrementFits():
		return r.because(argumentUnfit).fallback(ctx)
	case r.conn.otherRole:
		return r.because(roleUnknown).fallback(ctx)
	}
	if r.conn.lasting {
		if r.belongsOnBase() {
			return r.execOnBase(ctx)
		}
		if err := r.awaitTrial(ctx); err != nil {
			return nil, err
		}
	}
	if first, err := r.locksFirst(ctx, &r.plan.Increment.Row); err != nil {
		return nil, err
	} else if first {
		return r.lockFirst(ctx)
	}
	v := r.share(ctx)
	if v.outcome == alone {
		var n int64
		v.result, n, v.err = r.addTo(ctx, r.place(), r.conn.lasting, r.conn.inAutocommit())
		switch {
		case v.err == nil && n == 0:
			return r.because(noRowAffected).fallback(ctx)
		case v.err != nil && r.conn.engine.slotFull(v.err):
			return r.because(outOfRange).fallback(ctx)
		}
	}
	if v.err != nil {
		return nil, v.err
	}
	r.counted()
	if err := r.holdIncrement(ctx); err != nil {
		return nil, err
	}
	var n int64 = 1
	if r.plan.Increment.Upsert && r.conn.shared.traits.UpsertCounts {
		n = 2
	}
	return &result{v.result, n}, nil
}

// addTo adds to a slot. In autocommit (auto) it does so again when others were
// in the way: another node of a cluster, say, had a process with the same slot.
// When it still has, any other slot will do.
func (r *run) addTo(ctx context.Context, p place, lasting, auto bool) (res driver.Result, n int64, err error) {
	seats := r.seats()
	defer seats.leave(p)
	for tries := 1; ; tries++ {
		res, n, err = r.addOnce(ctx, p, lasting)
		if !auto || !r.conn.again(ctx, tries, err) {
			return res, n, err
		}
		if tries > 1 {
			p.slot = r.other()
		}
	}
}

// other is another slot to try.
func (r *run) other() int64 {
	c := r.plan.Increment.Table.Counter
	if c.Journal {
		return r.conn.shared.placement.journal.next()
	}
	return rand.Int64N(int64(c.Slots))
}

// addOnce adds to a slot: by an update of the slot row when the process has
// written it before, else by the upsert; where what a statement locks lasts, by
// the upsert alone if an update that finds no row would keep others from making
// theirs.
func (r *run) addOnce(ctx context.Context, p place, lasting bool) (res driver.Result, n int64, err error) {
	r.slot = p.slot
	places := r.conn.shared.placement
	upsert, add := &r.plan.Increment.Bound, r.plan.Increment.Add
	if r.with != nil {
		upsert, add = &r.plan.Increment.Coalesced.Upsert, r.plan.Increment.Coalesced.Add
	}
	if p.keyed && add != nil && places.knows(p.slotRow) && !(lasting && r.conn.shared.traits.MissLocks) {
		if res, n, err = r.own(ctx, add); n > 0 || err != nil {
			if err == nil {
				places.met(p.row.table)
			}
			return res, n, err
		}
		places.miss(p.slotRow)
	}
	if res, n, err = r.own(ctx, upsert); n > 0 && err == nil {
		r.made()
		if p.keyed {
			places.learn(p.slotRow)
			r.exists(p.row)
		}
	} else if n == 0 && err == nil && p.keyed && r.plan.Increment.Upsert {
		places.forget(slotRow{p.row, existence})
	}
	return res, n, err
}

// own runs one of the texts of an increment, and returns the rows affected.
func (r *run) own(ctx context.Context, b *rewrite.Bound) (driver.Result, int64, error) {
	args, err := r.bind(b.Args)
	if err != nil {
		return nil, 0, err
	}
	res, err := r.via.own(ctx, b, args)
	if err != nil {
		return nil, 0, err
	}
	n, err := res.RowsAffected()
	return res, n, settled(err)
}

// execOwnText runs the increment's own text on the base row, where that is exact.
// Which rows it has changed is not certain, so that all are remembered.
func (r *run) execOwnText(ctx context.Context) (driver.Result, error) {
	res, err := r.execText(ctx)
	if err == nil {
		r.note(r.plan.Increment.Row, onBase)
	}
	return res, err
}

func (r *run) fallback(ctx context.Context) (driver.Result, error) {
	r.plan.tally.fellBack()
	if r.plan.Increment.Upsert && !r.plan.Increment.Companions && r.baseFits() {
		res, err := r.execText(ctx)
		if err == nil {
			r.note(r.plan.Increment.Row, onBase)
			err = r.holdIncrement(ctx)
		}
		return res, err
	}
	return r.execDrained(ctx)
}

package session

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A drain of a row without slots, as nearly every row is, costs no more than the plain statement:
// the statement is first sent in a form that touches its row only if that has no slots
// (rewrite.Proof). If it has some, nothing has been done, and the drain follows. Each dialect's
// Proof says why that is exact.
//
// In a transaction, what the form locks stays locked. So it is sent there only where it locks what
// the drain would lock: the row, or on SQLite the database. On MySQL it also
// locks the gap in the slot table, which sessions that use other rows would feel.

// proofs remembers how executions of a plan have fared in the form that proves that there are no
// slots.
type proofs struct {
	// refuted is how many have failed in a row, and skip how many executions are to drain at once
	// because of that.
	refuted, skip atomic.Int32
	// confirms reports whether the last form with a lock has changed its row, and unconfirmed is how many executions are to run
	// in that form because a statement that ran first was not confirmed.
	confirms    atomic.Bool
	unconfirmed atomic.Int32
	// types are those of the columns that the statement returns; nil until they are known.
	types atomic.Pointer[columnTypes]
}

// maxSkipped bounds the executions that drain at once after the form has failed.
const maxSkipped = 64

// due reports whether the form is worth a try.
func (p *proofs) due() bool { return p.skip.Load() <= 0 || p.skip.Add(-1) < 0 }

// note notes the outcome of a try.
func (p *proofs) note(held bool) {
	if held {
		if p.refuted.Load() != 0 {
			p.refuted.Store(0)
		}
		return
	}
	p.skip.Store(min(int32(1)<<min(p.refuted.Add(1)-1, 30), maxSkipped))
}

// manyUnconfirmed is how many executions pass until a statement runs first again that was not confirmed: each time, PostgreSQL's
// log has an error. A test binary linked with "-X github.com/slotsql/slotsql/internal/session.manyUnconfirmed=0" has each run first.
var manyUnconfirmed = "1000"

// confirm reports whether the statement should run first, and be confirmed afterwards.
func (p *proofs) confirm() bool {
	return manyUnconfirmed == "0" || p.confirms.Load() && (p.unconfirmed.Load() <= 0 || p.unconfirmed.Add(-1) < 0)
}

// noteUnconfirmed notes that it was not confirmed.
func (p *proofs) noteUnconfirmed() {
	n, _ := strconv.ParseInt(manyUnconfirmed, 10, 32)
	p.confirms.Store(false)
	p.unconfirmed.Store(int32(n))
}

// slotless is an execution that drains if there are slots, and proves that there are none: of its row here, of whole tables in asleep.go.
type slotless struct {
	run  *Run
	conn *Conn
	form *rewrite.DrainPlan
}

func slotlessOf(r *Run) slotless { return slotless{r, r.conn, &r.Plan.Drain} }

// mayProve reports whether the statement may run in the form that proves that there is nothing to
// fold: on a single server, whose locks are all that there are, and as a user who may read the
// slot table.
func (sl slotless) mayProve() bool {
	c := sl.conn
	if !sl.provable() {
		return false
	}
	d := &sl.form.Tables[0]
	return sl.run.args().FormsMatch(d.Forms) && (c.InAutocommit() || sl.mayProveInTx(d)) &&
		(sl.run.Plan.Increment != nil || sl.run.Plan.proofs.due())
}

// provable is mayProve for any arguments.
func (sl slotless) provable() bool {
	c := sl.conn
	if !c.Engine.Proves(sl.form.Proof) || len(sl.run.call.options) > 0 || sl.run.partsStay || c.Cluster || c.Rare.Any(link.RoleSet) {
		return false
	}
	t := sl.form.Tables[0].Table.Counter
	return len(t.Rights.Ungranted) == 0 && t.Options.OnDrain == schema.OnDrainRun
}

// mayProveInTx is mayProve for a transaction of the application's. One whose changes are checked
// against its snapshot has to look for newer slots, one that has slots of its own there folds
// them, and one that has the row to itself needs neither.
func (sl slotless) mayProveInTx(d *rewrite.DrainTable) bool {
	c := sl.conn
	return (sl.form.Proof.Lock != nil || c.Shared.Traits.OneWriter && !sl.run.call.wantsRows) &&
		!c.Tx.Own() && !rowChangesOf(sl.run).isSlotless(d) && !c.snapshotBegun() && !c.addedToSlots(d.Table)
}

// whileSlotless runs the statement if nothing is to be folded. It reports false if nothing has been
// done, and the drain is to follow.
func whileSlotless(ctx context.Context, r *Run) (a answer, done bool, err error) {
	sl := slotlessOf(r)
	if !sl.mayProve() || r.call.wantsRows && !sl.knowsTypes() {
		return answer{}, false, nil
	}
	ran := false
	var o *dialect.Outcome
	switch proof := r.Plan.Drain.Proof; {
	case proof.Lock != nil, proof.Confirm != nil:
		o, err = sl.confirmed(ctx, proof)
		if o == nil && err == nil && proof.Lock != nil {
			o, err = sl.pipelineProof(ctx, proof)
		}
		if o != nil {
			a, ran = r.answerOf(o, r.Plan.proofs.types.Load()), true
		}
	case r.call.wantsRows:
		a.rows, ran, err = sl.provenRows(ctx, proof)
	default:
		var n int64
		a.result, n, err = r.execBound(ctx, &proof.Bound, nil)
		if ran = a.result != nil; ran && err == nil && !r.conn.InAutocommit() {
			sl.noteProvenInTx(n > 0)
		}
	}
	if done, err = sl.judgeProof(ran, err); done && err == nil {
		return a, true, nil
	}
	return answer{}, done, err
}

// knowsTypes reports whether the types of the columns that a pipeline returns are known.
func (sl slotless) knowsTypes() bool {
	if sl.form.Proof.Lock == nil && sl.form.Proof.Confirm == nil {
		return true
	}
	types := sl.run.Plan.proofs.types.Load()
	return types != nil && sl.decodes(*types)
}

// answerOf returns what a pipeline has returned for the statement.
func (r *Run) answerOf(o *dialect.Outcome, types *columnTypes) answer {
	if !r.call.wantsRows {
		return answer{result: driver.RowsAffected(o.Affected)}
	}
	return answer{rows: r.asCalled(&bufferedRows{columns: o.Columns, columnTypes: *types, heldRows: heldRows{o.Rows}})}
}

// provenRows reads the rows of the statement in the form of a proof.
func (sl slotless) provenRows(ctx context.Context, proof *rewrite.Proof) (driver.Rows, bool, error) {
	args, err := sl.run.bind(proof.Args, nil)
	if err != nil {
		return nil, false, err
	}
	rows, err := direct{sl.conn}.queryKept(ctx, sl.run.sql(&proof.Bound), args)
	if err != nil {
		return nil, false, err
	}
	all, err := readBuffered(rows)
	return sl.run.asCalled(all), true, err
}

// judgeProof judges the outcome: done with an error means that the application gets the error.
// What a deadlock has undone outside a transaction is run again with a drain, just as a drain is
// run again.
func (sl slotless) judgeProof(ran bool, err error) (done bool, _ error) {
	switch {
	case err == nil && ran:
		sl.run.Plan.tally.cold.Add(1)
		sl.run.Plan.proofs.note(true)
		return true, nil
	case err == nil, sl.form.Proof.Lock == nil && sl.conn.Engine.Refuted(err):
		sl.run.Plan.proofs.note(false)
		return false, nil
	case err == driver.ErrSkip, sl.conn.InAutocommit() && sl.conn.Engine.Conflict(err):
		return false, nil
	}
	return true, err
}

// confirmed runs the statement as it is, and the query that confirms it, in one round trip. It returns nil if it is not
// confirmed: an UPDATE has then been undone, and a query is to run again.
func (sl slotless) confirmed(ctx context.Context, proof *rewrite.Proof) (*dialect.Outcome, error) {
	query := proof.Confirm
	if query == nil || !sl.conn.InAutocommit() {
		query = proof.ConfirmRead
	}
	if query == nil || proof.Lock != nil && !sl.run.Plan.proofs.confirm() {
		return nil, nil
	}
	c, err := sl.run.sqlCall()
	if err != nil {
		return nil, err
	}
	args, err := sl.run.bind(query.Args, nil)
	if err != nil {
		return nil, err
	}
	out, err := sl.conn.Engine.Pipeliner.Pipeline(ctx, sl.conn.Parent, []dialect.Statement{
		{SQL: sl.run.Plan.SQL, Args: c.args},
		{SQL: sl.run.sql(query), Args: args},
	})
	switch {
	case err != nil:
		if query != proof.Confirm || !sl.conn.Engine.Refuted(err) {
			return nil, err
		}
		sl.run.Plan.proofs.noteUnconfirmed()
		return nil, nil
	case query == proof.ConfirmRead && (len(out[0].Rows) != 1 || len(out[1].Rows) != 1):
		sl.run.Plan.proofs.confirms.Store(false)
		return nil, nil
	case !sl.conn.InAutocommit():
		sl.noteProvenInTx(true)
	}
	return &out[0], nil
}

// pipelineProof sends the statements of a proof in one round trip. It returns nil if the row has
// slots. If the statement has touched its row, its condition was true, whatever the question
// before it found: the slots may have been folded in between.
func (sl slotless) pipelineProof(ctx context.Context, proof *rewrite.Proof) (*dialect.Outcome, error) {
	var list []dialect.Statement
	for _, b := range []*rewrite.Bound{proof.Lock, proof.Refuted} {
		args, err := sl.run.bind(b.Args, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, dialect.Statement{SQL: sl.run.sql(b), Args: args})
	}
	args := sl.run.call.args
	if proof.Args != nil {
		var err error
		if args, err = sl.run.bind(proof.Args, nil); err != nil {
			return nil, err
		}
	}
	list = append(list, dialect.Statement{SQL: sl.run.sql(&proof.Bound), Args: args})
	c := sl.conn
	out, err := c.Engine.Pipeliner.Pipeline(ctx, c.Parent, list)
	if err != nil || len(out[1].Rows) > 0 && out[2].Affected == 0 {
		return nil, err
	}
	sl.run.Plan.proofs.confirms.Store(out[2].Affected == 1)
	if !c.InAutocommit() {
		sl.noteProvenInTx(len(out[0].Rows) > 0)
	}
	return &out[2], nil
}

// noteProvenInTx remembers in a transaction what a drain would: if a row was locked, it is slotless
// until the transaction ends.
func (sl slotless) noteProvenInTx(locked bool) {
	d := sl.run.rowsToDrain(sl.form.Tables[0])
	foldsPortions(sl.run, &d)
	if locked {
		rowChangesOf(sl.run).noteSlotless(&d)
	}
	rowChangesOf(sl.run).noteDrained(sl.form.Tables)
}

// decodes reports whether a pipeline returns columns of these types as the parent does.
func (sl slotless) decodes(types columnTypes) bool {
	return !slices.ContainsFunc(types, func(t ColumnType) bool { return !sl.conn.Engine.Pipeliner.Decodes(t.Name) })
}

// noteReturned notes the types of the columns that the statement returns.
func (sl slotless) noteReturned(rows driver.Rows) {
	if p := sl.form.Proof; p != nil && p.Lock != nil && sl.run.Plan.proofs.types.Load() == nil {
		types := columnTypes(TypesOf(rows))
		sl.run.Plan.proofs.types.Store(&types)
	}
}

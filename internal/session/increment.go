package session

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An increment of one row: the ways of ways.go that have no file of their own, and which of them its arguments allow.

// increment is the execution of one.
type increment struct {
	run  *Run
	conn *Conn
	of   *rewrite.Increment
}

func incrementOf(r *Run) increment { return increment{r, r.conn, r.Plan.Increment} }

// returningRows runs an increment that was sent as a query: an increment in a slot returns no rows.
func returningRows(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.Plan.Increment.BaseExact() {
		r.cause = rowsAskedFor
		return answer{}, false, nil
	}
	if a, err = rowChangesOf(r).runChanging(ctx, []rewrite.DrainTable{r.Plan.Increment.Row}); err == nil {
		r.Plan.tally.cold.Add(1)
	}
	return a, true, err
}

// asWritten runs the increment on the base row as the application wrote it, if that is exact and only the engine can compare its
// key. It is not certain which rows it has changed, so all that it may have changed are remembered. It finds out whether the increment
// may run in one of the ways that follow.
func asWritten(ctx context.Context, r *Run) (a answer, done bool, err error) {
	inc := r.Plan.Increment
	r.fits = r.Plan.fits && len(r.call.args) == r.Plan.Inputs
	switch {
	case r.fits:
	case !r.args().FormsMatch(inc.Forms) && inc.BaseExact() && len(r.call.args) == r.Plan.Inputs:
		if a, err = r.send(ctx); err == nil {
			r.Plan.tally.cold.Add(1)
			noteChange(r, &inc.Row, changedOnBase)
		}
		return a, true, err
	case len(r.call.args) > r.Plan.Inputs || !r.args().FitSlot(inc): // too many are for the parent to refuse
		r.cause = argumentUnfit
		return answer{}, false, nil
	}
	if r.conn.Rare.Any(link.RoleUnknown) {
		r.cause = roleUnknown
	}
	return answer{}, false, nil
}

// onColdRow runs an increment of a cold row on its base row. In a transaction the row is then locked until the transaction ends.
func onColdRow(ctx context.Context, r *Run) (a answer, done bool, err error) {
	in, hot := incrementOf(r), false
	if !r.Plan.adapts || !r.fits && !in.fitsBase() && !(in.of.Latest && slotlessOf(r).provable()) {
		return answer{}, false, nil
	}
	row, keyed := r.Plan.row.of(r)
	if !keyed || in.of.ByOther != "" && !in.namedByOther(&row) {
		return answer{}, false, nil
	}
	row.Node = 0 // nodes of a cluster have the row in common
	if in.conn.Rare.Any(link.TxOpen) {
		hot = r.holdsHot(row)
	} else if r.standing = in.conn.Shared.heat.Look(row); !r.standing.Hot {
		r.row = row
	} else {
		hot = true
	}
	if r.standing.Became {
		r.Plan.tally.heated.Add(1)
		in.conn.renewLease(ctx) // the process's first slots may be others', too, until it has one
	}
	switch {
	case hot:
		return answer{}, false, nil
	case r.standing.Left && in.foldsCooled():
		return in.onCooledRow(ctx)
	}
	if r.standing.Ask {
		r.askHolder(ctx, &in.of.Row)
	}
	return in.onBaseRow(ctx)
}

// onBaseRow runs an increment on its base row, outside transactions together with others that overlap with it.
func (in increment) onBaseRow(ctx context.Context) (a answer, done bool, err error) {
	if !in.conn.Rare.Any(link.TxOpen) {
		a, err = runGrouped(ctx, in.run, in.execCold)
		return a, true, err
	}
	if !in.of.Latest {
		// The next increment of the row goes to a slot, perhaps before this one has the base row.
		if err := in.awaitTrial(ctx, changedOnBase); err != nil {
			return answer{}, false, err
		}
		if first, err := rowChangesOf(in.run).locksFirst(ctx, &in.of.Row); err != nil {
			return answer{}, false, err
		} else if first == heldToSnapshot {
			return in.lockFirst(ctx, first)
		}
	}
	a, err = in.execCold(ctx)
	return a, true, err
}

// execCold runs the increment on the base row as the application wrote it, or, if the base value may not take it where the total does, in
// an exact way: others of its group wait until the row is ready for them.
func (in increment) execCold(ctx context.Context) (a answer, err error) {
	if in.of.Latest {
		return in.execColdLatest(ctx)
	}
	r, heat := in.run, in.conn.Shared.heat
	began := time.Since(slots.Started)
	a, err = r.send(ctx)
	if err != nil || heat.Slow(began) {
		r.noteDuration(slots.Started.Add(began), err)
	}
	if err != nil {
		if in.retriesInSlot(ctx, err) {
			return in.runHot(ctx)
		}
		if in.conn.InAutocommit() && in.conn.Engine.SlotFull(err) {
			r.cause = outOfRange // the base value is, and the total may not be
			return r.exactly(ctx, &incrementWays)
		}
		return answer{}, err
	}
	r.Plan.tally.cold.Add(1)
	if !in.conn.InAutocommit() {
		var n int64
		if a, n, err = a.counted(); err == nil {
			err = in.addedToRow(ctx, n)
		}
	}
	return a, err
}

// noteDuration notes the outcome of an update of a base row that began at the given time.
func (r *Run) noteDuration(began time.Time, err error) {
	h, e := r.conn.Shared.heat, &r.conn.Engine
	var became bool
	switch {
	case r.row.Table == "":
	case err == nil:
		became = h.NoteDuration(r.row, began)
	case e.Retryable(err), e.LockTimeout(err), e.Conflict(err):
		became = h.NoteWait(r.row)
	}
	if became {
		r.Plan.tally.heated.Add(1)
	}
}

// onOtherSide runs an increment on its base row that a slot cannot take.
func onOtherSide(ctx context.Context, r *Run) (a answer, done bool, err error) {
	in := incrementOf(r)
	switch {
	case !r.args().AgainstSide(in.of.Deltas):
		return answer{}, false, nil
	case !in.fitsBase():
		r.cause = argumentUnfit
		return answer{}, false, nil
	}
	return in.onBaseRow(ctx)
}

// onOwnRow runs an increment on its base row in a transaction that has the row to itself. If it does not, the increment waits until it
// is known whether such transactions go on to drain the row.
func onOwnRow(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.conn.Rare.Any(link.TxOpen) {
		return answer{}, false, nil
	}
	in := incrementOf(r)
	if r.conn.Shared.Traits.MissLocks && in.belongsOnBase() {
		a, err = in.execOnBase(ctx)
		return a, true, err
	}
	if r.Plan.habit.Harmless() {
		return answer{}, false, nil
	}
	return answer{}, false, in.awaitTrial(ctx, changedInSlot)
}

// onLockedRow drains the row before the increment, in a transaction that must not meet it later.
func onLockedRow(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if len(r.conn.readTables) == 0 && r.Plan.habit.Harmless() {
		return answer{}, false, nil
	}
	in := incrementOf(r)
	first, err := in.drainsFirst(ctx)
	if err != nil || first == byPlan {
		return answer{}, false, err
	}
	return in.lockFirst(ctx, first)
}

// onAnyRow runs an upsert on whatever row it meets, or makes, if a slot could not take it.
func onAnyRow(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.cause.fellBack() {
		return answer{}, false, nil
	}
	r.Plan.tally.fallbacks.Add(1)
	if inc := r.Plan.Increment; !inc.Upsert || inc.Companions || !r.args().FitBase(&r.Plan.Base) {
		return answer{}, false, nil
	}
	if a, err = r.send(ctx); err == nil {
		noteChange(r, &r.Plan.Increment.Row, changedOnBase)
		err = rowChangesOf(r).holdIncrement(ctx)
	}
	return a, true, err
}

// fitsBase reports whether the application's own statement, with its arguments, is exact
// on the base row whatever the row's slots hold.
func (in increment) fitsBase() bool {
	if in.run.fits {
		return true
	}
	require, ok := in.of.OnBase()
	return ok && in.run.args().Fit(require, true)
}

// rowName is how the executions of a plan name the row that they count.
type rowName struct {
	table string // the slots of its table
	known bool   // the key is given, or the table has one row
	text  string // what comes before the first argument
	args  []namedBy
}

// namedBy is an argument in the name of a row, and what follows it.
type namedBy struct {
	arg  rewrite.Arg
	text string
}

func rowNameOf(t *schema.Table, key []rewrite.KeyValue, values *rewrite.FieldValues) rowName {
	n := rowName{table: t.Counter.Slotted(), known: len(key) > 0 || len(t.Counter.Key) == 0}
	if len(t.Counter.Key) == 0 {
		return n
	}
	add := func(text string) {
		if last := len(n.args) - 1; last >= 0 {
			n.args[last].text += text
		} else {
			n.text += text
		}
	}
	for i := range key {
		add(",")
		for j := range key[i].Parts {
			add(key[i].Parts[j].Of(values))
			if j == len(key[i].Args) {
				break
			}
			n.args = append(n.args, namedBy{arg: key[i].Args[j]})
		}
	}
	return n
}

// of names the row of an execution; false if that is not known, or named by a value of a type whose equality is not plain.
func (n *rowName) of(r *Run) (slots.RowKey, bool) {
	row := slots.RowKey{Table: n.table, Values: n.text, Node: r.conn.node.Number}
	if len(n.args) == 0 {
		return row, n.known
	}
	var buf [64]byte
	b, given := append(buf[:0], n.text...), argument.List{Args: r.call.args}
	for i := range n.args {
		v, ok := given.Value(n.args[i].arg)
		if !ok {
			return slots.RowKey{}, false
		}
		if b, ok = argument.AppendValue(b, v); !ok {
			return slots.RowKey{}, false
		}
		b = append(b, n.args[i].text...)
	}
	row.Values = string(b)
	return row, true
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

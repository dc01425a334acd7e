package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"slices"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
)

// queryHeld runs a read of the one row that the transaction has changed on the base row. Others have
// not been able to make slots of it since, and a snapshot that is newer than the change shows those that it
// had. So if the read, which asks for them, finds none, there are none until the transaction ends: base values
// are totals, and the row counts as drained. Where the snapshot may be older, another session is asked as well, and
// both must find the row without slots. It returns no rows if it has some, and is to be drained.
func (r *Run) queryHeld(ctx context.Context) (driver.Rows, error) {
	keys := r.heldRow()
	if keys == nil || !r.conn.readsHeld() || !r.Plan.proofs.due() {
		return nil, nil
	}
	row, newer := r.conn.changes[keys[0]], r.conn.readsNewer()
	if !newer && (!r.conn.Shared.OpensAside || r.conn.isBareRow(row.rows.Table, row.key)) {
		return nil, nil
	}
	query, server := r.Plan.Read.Observed.Row.Held.Of(r.Plan.Values), ""
	bare := func(v driver.Value) bool {
		server = link.TextOf(v)
		return v != nil
	}
	if r.conn.unread() { // a column that says less costs less
		query, bare = r.Plan.Read.Observed.SQL.Of(r.Plan.Values), isFalse
	}
	rows, err := r.queryAsCalled(ctx, query)
	r.conn.Tx.Read()
	if rows == nil || err != nil {
		return nil, err
	}
	o := r.readAhead(rows, false)
	if o.err != nil || !bare(o.row[len(o.columns)]) {
		if o.err == nil {
			r.Plan.proofs.note(false)
		}
		if err := o.Close(); o.err == nil || o.err == io.EOF {
			return nil, err
		}
		return nil, o.err
	}
	if !newer {
		if none, err := r.othersFindNone(ctx, &row, server); !none {
			_ = o.Close()
			return nil, err
		}
	}
	r.Plan.proofs.note(true)
	r.Plan.tally.readObserved()
	r.noteRead()
	for _, k := range keys {
		ch := r.conn.changes[k]
		ch.readAlone()
		ch.plan.proofs.note(true)
		ch.drained = true
		r.conn.changes[k] = ch
		r.keepBareRow(ch.rows.Table, ch.key)
	}
	return o, nil
}

// othersFindNone reports whether another session of a server finds no slots of the row of a change.
func (r *Run) othersFindNone(ctx context.Context, ch *rowChange, server string) (bool, error) {
	var key []any
	for _, k := range ch.key {
		key = append(key, k)
	}
	rows, answered, err := r.askObserver(ctx, server, r.conn.namer().FindSlots(ch.rows.Table, [][]any{key}, false))
	return answered && len(rows) == 0, err
}

// heldRow returns the transaction's changes of the row that a read with a probe is of; nil unless they are
// all that it has not drained of the table, and keep others from making slots of the row.
func (r *Run) heldRow() (keys []slots.RowKey) {
	c, read := r.conn, &r.Plan.Read
	if read.Observed == nil || read.Observed.Row == nil || c.Cluster || r.partsStay || len(r.call.options) > 0 ||
		c.Tx.Phase() != link.TxBegun {
		return nil
	}
	t := r.Plan.Touched[0]
	key := r.wholeNumbers(t, read.Observed.Row.Key)
	for k, ch := range c.changed() {
		switch {
		case ch.drained || ch.rows.Table.Counter.Slotted() != t.Counter.Slotted():
		case !ch.locked || key == nil || !slices.Equal(ch.key, key):
			return nil
		default:
			keys = append(keys, k)
		}
	}
	return keys
}

// readsHeld reports whether a query may look at slots before the drain does. With MariaDB's snapshot
// isolation one at REPEATABLE READ would open a snapshot that the drain behind it could then not meet.
func (c *Conn) readsHeld() bool {
	switch {
	case c.Origin.Dirty() || c.ReadsDirty():
		return false
	case c.Engine.Snapshots == nil:
		return true
	case c.Engine.SessionLevel:
		return sql.IsolationLevel(c.begun) == sql.LevelReadCommitted
	}
	return !c.snapshotBegun()
}

// readsNewer reports whether the snapshot of such a query is certainly newer than all that the transaction has
// changed, or the query itself tells.
func (c *Conn) readsNewer() bool { return c.Engine.Snapshots != nil || c.unread() }

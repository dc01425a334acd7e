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
func (rd reading) queryHeld(ctx context.Context) (driver.Rows, error) {
	keys := rd.heldRow()
	if keys == nil || !rd.conn.readsHeld() || !rd.run.Plan.proofs.due() {
		return nil, nil
	}
	row, newer := rd.conn.changes[keys[0]], rd.conn.readsNewer()
	if !newer && (!rd.conn.Shared.OpensAside || rd.conn.isSlotlessRow(row.rows.Table, row.key)) {
		return nil, nil
	}
	query, server := rd.run.Plan.Read.Observed.Row.Held.Of(rd.run.Plan.Values), ""
	slotless := func(v driver.Value) bool {
		server = link.TextOf(v)
		return v != nil
	}
	if rd.conn.unread() { // a column that says less costs less
		query, slotless = rd.run.Plan.Read.Observed.SQL.Of(rd.run.Plan.Values), isFalse
	}
	rows, err := rd.run.queryAsCalled(ctx, query)
	rd.conn.Tx.Read()
	if rows == nil || err != nil {
		return nil, err
	}
	o := rd.readAhead(rows, 1)
	if o.err != nil || !slotless(o.row[len(o.columns)]) {
		if o.err == nil {
			rd.run.Plan.proofs.note(false)
		}
		if err := o.Close(); o.err == nil || o.err == io.EOF {
			return nil, err
		}
		return nil, o.err
	}
	if !newer {
		if none, err := rd.othersFindNone(ctx, &row, server); !none {
			_ = o.Close()
			return nil, err
		}
	}
	rd.run.Plan.proofs.note(true)
	rd.run.Plan.tally.observed.Add(1)
	noteRead(rd.conn, rd.run.Plan.Touched)
	for _, k := range keys {
		ch := rd.conn.changes[k]
		ch.readAlone()
		ch.plan.proofs.note(true)
		ch.drained = true
		rd.conn.changes[k] = ch
		rowChangesOf(rd.run).noteSlotlessRow(ch.rows.Table, ch.key)
	}
	return o, nil
}

// othersFindNone reports whether another session of a server finds no slots of the row of a change.
func (rd reading) othersFindNone(ctx context.Context, ch *rowChange, server string) (bool, error) {
	var key []any
	for _, k := range ch.key {
		key = append(key, k)
	}
	rows, answered, err := rd.run.askObserver(ctx, server, rd.conn.namer().FindSlots(ch.rows.Table, [][]any{key}, false))
	return answered && len(rows) == 0, err
}

// heldRow returns the transaction's changes of the row that a read with a probe is of; nil unless they are
// all that it has not drained of the table, and keep others from making slots of the row.
func (rd reading) heldRow() (keys []slots.RowKey) {
	c := rd.conn
	t, key := rd.rowRead()
	if key == nil || c.Cluster || rd.run.partsStay || len(rd.run.call.options) > 0 || c.Tx.Phase() != link.TxBegun {
		return nil
	}
	for k, ch := range c.changed() {
		switch {
		case ch.drained || !ch.of(t):
		case !ch.locked || !slices.Equal(ch.key, key):
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
	case c.Rare.Any(link.ChangedSettings) || c.ReadsDirty():
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

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
)

// probed runs a read in a form for rows without slots, whose last column tells whether a row has some. It returns
// nil unless that says of each row that it is bare: the statement then has to run with totals.
func (r *Run) probed(ctx context.Context, sql string, bare func(driver.Value) bool) (*bareRows, error) {
	rows, err := r.queryKeptProbe(ctx, sql)
	kept := rows != nil
	if !kept && err == nil {
		rows, err = r.queryAsCalled(ctx, sql)
	}
	if rows == nil || err != nil {
		return nil, err
	}
	b := &bareRows{RowsBase: link.RowsBase{Rows: rows}}
	if b.rows, err = link.ReadAll(rows); err != nil {
		_ = rows.Close()
		return nil, err
	}
	last := len(rows.Columns()) - 1
	for i, row := range b.rows {
		if !bare(row[last]) {
			r.Plan.proofs.note(false)
			return nil, rows.Close()
		}
		b.rows[i] = row[:last]
	}
	r.Plan.proofs.note(true)
	if kept {
		unsignedIn(b.rows, b, true)
	}
	return b, nil
}

// bareRows are the rows that a probe has returned, without its last column. The parent's stay open for
// the types of the others.
type bareRows struct {
	link.RowsBase
	heldRows
}

// Columns implements driver.Rows.
func (b *bareRows) Columns() []string {
	columns := b.Rows.Columns()
	return columns[:len(columns)-1]
}

// queryKeptProbe runs the probe prepared if such reads recur on the connection, which spares the server most of what the
// text costs it. It returns nil otherwise. A statement with comments is sent as it is: they differ from one
// execution to the next, and are there for the server to see.
func (r *Run) queryKeptProbe(ctx context.Context, sql string) (driver.Rows, error) {
	c, kept := r.conn, r.Plan.Read.KeptProbe
	if kept == nil || sql != r.Plan.Read.Probe || len(r.call.args) > 0 || !c.PreparesArgs || c.Cluster {
		return nil, nil
	}
	query := kept.SQL.Of(r.Plan.Values)
	if strings.Contains(query, "/*") || strings.Contains(query, "--") || strings.Contains(query, "#") {
		return nil, nil
	}
	args := make([]driver.NamedValue, len(kept.Numbers))
	for i, n := range kept.Numbers {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: n.Of(r.Plan.Values)}
	}
	return c.Kept.QueryRecurring(ctx, &c.Conn, query, args)
}

// hasNone reads what rewrite.ProbingDialect.HasSlots has written.
func hasNone(v driver.Value) bool { return v == false || v == int64(0) }

// probes reports whether the execution is worth a try in that form: the last ones have not
// met rows with slots.
func (r *Run) probes() bool {
	tr := &r.conn.Shared.Traits
	if r.Plan.Read.Probe == "" || len(r.call.options) > 0 || !tr.Probes && !(tr.ProbesText && len(r.call.args) == 0) || r.conn.readsDirty() {
		return false
	}
	_, unprepared := r.sender.(direct)
	return unprepared && r.Plan.proofs.due()
}

// queryHeld runs a read of the one row that the transaction has changed on the base row. Others have
// not been able to make slots of it since, and a snapshot that is newer than the change shows those that it
// had. So if the read, which asks for them, finds none, there are none until the transaction ends: base values
// are totals, and the row counts as drained. Where the snapshot may be older, another session is asked as well while
// the read runs, and both must find the row without slots. It returns no rows if it has some, and is to be drained.
func (r *Run) queryHeld(ctx context.Context) (driver.Rows, error) {
	keys := r.heldRow()
	if keys == nil || !r.conn.readsHeld() || !r.Plan.proofs.due() {
		return nil, nil
	}
	var asked *aheadAnswer
	if !r.conn.readsNewer() {
		ch := r.conn.changes[keys[0]]
		if asked = r.conn.askAhead(ctx, &ch); asked == nil {
			return nil, nil
		}
	}
	query, server := r.Plan.Read.Held, ""
	bare := func(v driver.Value) bool {
		server = link.TextOf(v)
		return v != nil
	}
	if r.conn.unread() { // a column that says less costs less
		query, bare = r.Plan.Read.Probe, hasNone
	}
	b, err := r.probed(ctx, query, bare)
	r.conn.Tx.Read()
	if b == nil || err != nil {
		return nil, err
	}
	if len(b.rows) != 1 || asked != nil && !asked.hasNone(ctx, server) {
		_ = b.Close()
		return nil, ctx.Err()
	}
	r.noteRead()
	for _, k := range keys {
		ch := r.conn.changes[k]
		ch.readAlone()
		ch.plan.proofs.note(true)
		ch.drained = true
		r.conn.changes[k] = ch
		r.keepBareRow(ch.rows.Table, ch.key)
	}
	return b, nil
}

// heldRow returns the transaction's changes of the row that a read with a probe is of; nil unless they are
// all that it has not drained of the table, and keep others from making slots of the row.
func (r *Run) heldRow() (keys []slots.RowKey) {
	c, read := r.conn, &r.Plan.Read
	if read.HeldKey == nil || len(c.changes) == 0 || c.Cluster || r.partsStay || len(r.call.options) > 0 || c.Tx.Phase() != link.TxBegun {
		return nil
	}
	if _, unprepared := r.sender.(direct); !unprepared && len(read.Stars) > 0 {
		return nil // the statement that is kept would have to be prepared anew where columns come
	}
	t := r.Plan.Touched[0]
	key := r.wholeNumbers(t, read.HeldKey)
	for k, ch := range c.changes {
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
	case c.Origin.Dirty() || c.readsDirty():
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

package session

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A fold by name looks for the slot rows of the locked base rows first, and then names each of
// them, so that a row without slots costs no lock in the slot table (see dialect.SlotNamer). No
// other session can create slot rows of these keys any more, so a read of what is committed sees
// all of them but the transaction's own.
//
// A transaction of the application cannot look for itself: an ordinary query would take its
// snapshot earlier than with the plain driver, or use one that is older than the lock. Another
// session is asked.

// namer returns the session's dialect, by whose rules slot rows are named; nil if it folds slots
// in another way.
func (c *Conn) namer() dialect.SlotNamer {
	n, _ := c.Dialect().(dialect.SlotNamer)
	return n
}

// foldNamed folds the slots of the rows that a drain has locked. It returns how many slot rows
// there were.
func (dr *drain) foldNamed(ctx context.Context, d *rewrite.DrainTable, locked [][]any) (total int64, err error) {
	if n := dr.conn.namer(); n == nil || !n.Nameable(d.Table) {
		return 0, unnameable(d.Table)
	}
	rows, err := dr.slotRows(ctx, d, locked)
	if err != nil {
		return 0, err
	}
	moved := int64(0)
	for part := range slices.Chunk(rows, maxNamed) {
		held, added, err := dr.moveNamed(ctx, d, part)
		moved += added
		total += held
		if err != nil {
			return total, err
		}
	}
	dr.addedToBase = dr.addedToBase || moved > 0
	if total > 0 && moved == 0 && d.Versions != nil && len(d.Versions.Touch) > 0 && !dr.conn.InAutocommit() {
		// The slots add up to nothing, so the base row has not been changed, and the transaction
		// may not have a version of its own; see versions.go.
		if err := dr.run.steps(ctx, d.Versions.Touch); err != nil {
			return total, err
		}
		dr.addedToBase = true
	}
	return total, nil
}

// foldOrNoteSlotless is foldNamed for the rows of the application's statement. If they have no slots,
// it remembers that.
func (dr *drain) foldOrNoteSlotless(ctx context.Context, d *rewrite.DrainTable, locked [][]any) error {
	held, err := dr.foldNamed(ctx, d, locked)
	switch {
	case err != nil:
	case held > 0:
		dr.first.rows = nil // it has read base values that were no totals
	case lockOfKey(d) && len(locked) == 1 && !dr.conn.Cluster && !dr.conn.Tx.Own() && dr.conn.Tx.Phase() == link.TxBegun:
		rowChangesOf(dr.run).noteSlotless(d) // on a cluster the lock is one of this node
	}
	return err
}

// maxNamed bounds the rows that one statement names.
const maxNamed = 500

// slotRows finds the slot rows of locked rows, or of the whole table.
func (dr *drain) slotRows(ctx context.Context, d *rewrite.DrainTable, locked [][]any) (rows [][]any, err error) {
	c, width := dr.conn, len(d.Table.Counter.Key)
	if d.Open || len(locked) == 0 || len(locked[0]) < 3+width { // all rows
		return dr.slotsFound(ctx, dr.conn.namer().FindSlots(d.Table, nil, true))
	}
	var keys [][]any
	for _, l := range locked {
		keys = append(keys, l[3:3+width])
	}
	if width == 0 {
		keys = keys[:1] // all rows have it
	}
	search := dr.searchFor(locked)
	var added [][]any
	if search.server != "" {
		var known bool
		if added, known = c.slotsAddedTo(d.Table, keys); !known {
			search = lockingSearch
		}
	}
	for part := range slices.Chunk(keys, maxNamed) {
		found, err := dr.findSlots(ctx, search, d.Table, part)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return append(rows, added...), nil
}

// slotSearch is how the slots of locked rows are found: by a query that locks them, by one that
// does not, or by another session of the same server.
type slotSearch struct {
	locks  bool
	server string // whose other session is asked
}

// lockingSearch is exact everywhere, but makes others wait for what it locks.
var lockingSearch = slotSearch{locks: true}

// searchFor returns the search that locks least.
func (dr *drain) searchFor(locked [][]any) slotSearch {
	c := dr.conn
	n, level := c.namer(), c.isolation(link.TextOf(locked[0][2]))
	switch {
	case !n.GapLocks(level) || c.Cluster: // what another node knows is not what this one does
		return lockingSearch
	case c.Tx.OwnWithoutSnapshot() && n.OpensSnapshot(level):
		// All rows are locked, and what it sees is as of now.
		c.Tx.TakeSnapshot()
		return slotSearch{}
	}
	return slotSearch{server: link.TextOf(locked[0][1])}
}

// findSlots runs the query for slot rows, with or without locks. If another session is to be asked
// and there is no connection for that, the query runs here and locks what it finds.
func (dr *drain) findSlots(ctx context.Context, search slotSearch, t *schema.Table, keys [][]any) ([][]any, error) {
	n := dr.conn.namer()
	q := n.FindSlots(t, keys, search.locks)
	if q == "" {
		return nil, unnameable(t)
	}
	if search.server != "" {
		if rows, answered, err := dr.run.askObserver(ctx, search.server, q); answered || err != nil {
			return rows, err
		}
		q = n.FindSlots(t, keys, true)
	}
	return dr.slotsFound(ctx, q)
}

// values returns the values that arguments are bound to.
func (r *Run) values(list []rewrite.Arg) ([]any, error) {
	args, err := r.bind(list, nil)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a.Value
	}
	return out, nil
}

// slotsFound runs a query for slot rows on the session itself.
func (dr *drain) slotsFound(ctx context.Context, q string) ([][]any, error) {
	rows, err := dr.conn.Session().Query(ctx, q)
	if err != nil {
		return nil, err
	}
	return namedSlots(rows), nil
}

// askAnother asks another session.
func (r *Run) askAnother(ctx context.Context, q string, args []any) ([][]any, error) {
	s := r.conn.Shared
	return s.sides.observers.query(ctx, s, r.conn.namer(), nil, q, args...)
}

// askObserver asks another session of the same server; it reports false if there is none.
func (r *Run) askObserver(ctx context.Context, here, q string) ([][]any, bool, error) {
	rows, err := r.askAnother(ctx, q, nil)
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil || len(rows) == 0 || link.TextOf(rows[0][0]) != here {
		return nil, false, nil
	}
	return namedSlots(rows), true, nil
}

// namedSlots returns the slot rows in the result of a FindSlots query.
func namedSlots(rows [][]any) [][]any {
	var out [][]any
	for _, r := range rows {
		if r[len(r)-1] != nil {
			out = append(out, r[1:])
		}
	}
	return out
}

// moveNamed folds slot rows, and makes sure that their base rows have taken what they held.
func (dr *drain) moveNamed(ctx context.Context, d *rewrite.DrainTable, rows [][]any) (held, added int64, err error) {
	c := dr.conn
	n := c.namer()
	hold := n.HoldSlots(d.Table, rows)
	if hold == "" {
		return 0, 0, unnameable(d.Table)
	}
	keys, err := c.Session().Query(ctx, hold)
	if err != nil || len(keys) == 0 {
		return 0, 0, err
	}
	for _, k := range keys {
		held += link.CountOf([][]any{k[len(d.Table.Counter.Key):]})
	}
	defer func() {
		if err != nil && !c.Engine.TxEnded(err) {
			c.Drain.Fail()
		}
	}()
	res, err := c.ParentExec(ctx, n.MoveSlots(d.Table, rows), nil)
	if err != nil {
		err = c.Engine.ExplainNotMoved(d.Table, err)
		return held, 0, err
	}
	added, _ = res.RowsAffected()
	remove := n.RemoveSlots(d.Table, rows, keys)
	if remove == "" {
		return held, added, unnameable(d.Table)
	}
	if res, err = c.ParentExec(ctx, remove, nil); err != nil {
		return held, added, err
	}
	if gone, _ := res.RowsAffected(); gone != held {
		err = c.Engine.ExplainNotMoved(
			d.Table,
			link.ErrUnmoved(
				fmt.Sprintf("of %d slot rows %d were not moved: a trigger or a column's type changes what is written", held, held-gone),
			),
		)
		return held, added, err
	}
	return held, added, nil
}

// unnameable is the error for a key that cannot be written as a literal.
func unnameable(t *schema.Table) error {
	return &link.NotMovedError{Table: t.Name, Reason: "the key of a row has a value that cannot be written as a literal of SQL"}
}

// slotsAddedTo returns the slot rows of keys that the transaction itself has added to, and perhaps
// created, which no other session sees; false if they are not known. If a change has an unknown
// key, they may be those of every key, as long as there are few keys: naming a slot row that does
// not exist locks its place.
func (c *Conn) slotsAddedTo(t *schema.Table, keys [][]any) (rows [][]any, known bool) {
	for _, ch := range c.changed() {
		if ch.how != changedInSlot || !ch.of(t) {
			continue
		}
		if len(ch.slots) == 0 || t.Counter.Layout == schema.LayoutShared || ch.key == nil && len(keys) > fewKeys {
			return nil, false
		}
		for _, k := range keys {
			if ch.key == nil || slices.EqualFunc(k, ch.key, func(a any, b string) bool { return link.TextOf(a) == b }) {
				for _, n := range ch.slots {
					rows = append(rows, append(slices.Clone(k), n))
				}
			}
		}
	}
	return rows, true
}

const fewKeys = 4

// isolation returns the level of the open transaction; session is that of the session.
func (c *Conn) isolation(session string) string {
	if c.Tx.Own() {
		return session
	}
	switch sql.IsolationLevel(c.begun) {
	case sql.LevelReadUncommitted:
		return "READ-UNCOMMITTED"
	case sql.LevelReadCommitted:
		return "READ-COMMITTED"
	case sql.LevelRepeatableRead:
		return "REPEATABLE-READ"
	case sql.LevelSerializable:
		return "SERIALIZABLE"
	}
	return session
}

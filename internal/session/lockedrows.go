package session

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// If the parent can send several statements in one round trip, a drain of the rows of a key in a
// transaction of the application's begins with three: the lock, the query for the transaction's
// snapshot, and a look whether the rows have slots. Hardly any have, and then that is all of the
// drain.
//
// Rows without slots are called slotless. So are rows of which another session has found no slots
// (named.go). They stay slotless until the transaction ends, except for slots of its own, because the
// drain's lock keeps other sessions from creating any (docs/design/locks.md). That is remembered,
// so that a row that the transaction goes on to increment, set and read is not looked at again.

// lockedRows is what a drain knows once it has its lock.
type lockedRows struct {
	rows [][]any // what the lock statement has returned
	some bool    // there may be something to fold
	open bool    // rows that the drain covers may still be inserted

	looked   bool    // whether slots were looked for, with the lock
	snapshot [][]any // what DrainTable.Look.Snapshot has returned
	slotless bool
}

// lookAt locks the rows of a drain and looks for slots; nil if that takes more than one round
// trip, or a right that the session may lack. A transaction of slotsql's own does not look: its
// row most often has slots, and it folds at once.
func (dr *drain) lookAt(ctx context.Context, d *rewrite.DrainTable) (*lockedRows, error) {
	c := dr.conn
	if c.Engine.Pipeliner == nil || c.Tx.Own() || !lockOfKey(d) || len(d.Lock) != 1 || d.Look.Snapshot == nil || d.Look.Held == nil ||
		d.Folding == rewrite.FoldNothing || len(d.Table.Counter.Rights.Ungranted) > 0 || c.Rare.Any(link.RoleSet) {
		return nil, nil
	}
	var list []dialect.Statement
	for _, b := range []*rewrite.Bound{&d.Lock[0], d.Look.Snapshot, d.Look.Held} {
		args, err := dr.run.bind(b.Args, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, dialect.Statement{SQL: dr.run.sql(b), Args: args})
	}
	out, err := c.Engine.Pipeliner.Pipeline(ctx, c.Parent, list)
	if err == driver.ErrSkip {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	rows := link.Anys(out[0].Rows)
	n := rowsOf(rows)
	return &lockedRows{
		rows: rows, some: n > 0, open: n < d.Most,
		looked: true, snapshot: link.Anys(out[1].Rows), slotless: len(out[2].Rows) == 0,
	}, nil
}

// lookOrLock locks the rows of a drain, and looks for slots if it can in the same round trip.
func (dr *drain) lookOrLock(ctx context.Context, d *rewrite.DrainTable) (*lockedRows, error) {
	if l, err := dr.lookAt(ctx, d); l != nil || err != nil {
		return l, err
	}
	if rows, err := dr.lockByRead(ctx, d); rows != nil || err != nil {
		return &lockedRows{rows: rows, some: true}, err
	}
	return dr.lock(ctx, d)
}

// meetNewer makes the transaction meet the slot rows that are newer than its snapshot. Slotless
// reports that the rows have no slots, so there is nothing to fold.
func (dr *drain) meetNewer(ctx context.Context, d *rewrite.DrainTable, l *lockedRows) (slotless bool, err error) {
	if !l.looked {
		return false, dr.meetNewerSlots(ctx, d)
	}
	made := false
	if len(l.snapshot) > 0 {
		if made, err = dr.meetSlotsNewerThan(ctx, d, l.snapshot); err != nil {
			return false, err
		}
	}
	if !l.slotless {
		return false, nil
	}
	if made {
		err = dr.fold(ctx, d)
	}
	if err == nil {
		rowChangesOf(dr.run).noteSlotless(d)
	}
	return true, err
}

// slotlessRow is the name of a slotless row.
type slotlessRow struct{ table, key string }

// noteSlotless remembers that the one row of a drain is slotless.
func (rc rowChanges) noteSlotless(d *rewrite.DrainTable) {
	rc.noteSlotlessRow(d.Table, rc.run.args().KeyNumbers(d))
}

func (rc rowChanges) noteSlotlessRow(t *schema.Table, key []string) {
	c := rc.conn
	if key == nil || len(c.slotlessRows) >= maxChanges {
		return
	}
	if c.slotlessRows == nil {
		c.slotlessRows = map[slotlessRow]int{}
	}
	row := slotlessRow{t.Counter.Slotted(), strings.Join(key, ",")}
	if _, ok := c.slotlessRows[row]; !ok {
		c.lastChange++
		c.slotlessRows[row] = c.lastChange
	}
}

// isSlotless reports whether the one row of a drain is known to be slotless.
func (rc rowChanges) isSlotless(d *rewrite.DrainTable) bool {
	return len(rc.conn.slotlessRows) > 0 && !rc.conn.Tx.Own() && lockOfKey(d) && rc.conn.isSlotlessRow(d.Table, rc.run.args().KeyNumbers(d))
}

func (c *Conn) isSlotlessRow(t *schema.Table, key []string) bool {
	_, ok := c.slotlessRows[slotlessRow{t.Counter.Slotted(), strings.Join(key, ",")}]
	return ok && key != nil
}

// forgetSlotless notes that the transaction adds to slots of the rows.
func (rc rowChanges) forgetSlotless(rows *rewrite.DrainTable) {
	c := rc.conn
	if len(c.slotlessRows) == 0 {
		return
	}
	d := rc.run.rowsToDrain(*rows)
	if key := rc.run.args().KeyNumbers(&d); key != nil {
		delete(c.slotlessRows, slotlessRow{d.Table.Counter.Slotted(), strings.Join(key, ",")})
	} else {
		clear(c.slotlessRows)
	}
}

// inOneTrip runs statements of slotsql's own, in one round trip if the parent can.
func (c *Conn) inOneTrip(ctx context.Context, list []dialect.Statement) ([]dialect.Outcome, error) {
	if c.Engine.Pipeliner != nil {
		if out, err := c.Engine.Pipeliner.Pipeline(ctx, c.Parent, list); err != driver.ErrSkip {
			return out, err
		}
	}
	out := make([]dialect.Outcome, len(list))
	for i, s := range list {
		rows, err := c.ParentQuery(ctx, s.SQL, s.Args)
		if err != nil {
			return nil, err
		}
		b, err := readBuffered(rows)
		if err != nil {
			return nil, err
		}
		out[i] = dialect.Outcome{Columns: b.columns, Rows: b.rows}
	}
	return out, nil
}

// statements lists statements without arguments around one that may have some.
func statements(before []string, q string, args []any, after []string) (out []dialect.Statement) {
	for _, s := range before {
		out = append(out, dialect.Statement{SQL: s})
	}
	if q != "" {
		out = append(out, dialect.Statement{SQL: q, Args: link.NamedValues(args)})
	}
	for _, s := range after {
		out = append(out, dialect.Statement{SQL: s})
	}
	return out
}

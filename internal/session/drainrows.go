package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// rowsToDrain returns what a drain covers: the rows of the keys that the statement gives, or all
// rows if an argument is not one by which the engine certainly finds its row.
func (r *Run) rowsToDrain(d rewrite.DrainTable) rewrite.DrainTable {
	if d.All != nil && !r.args().FormsMatch(d.Forms) {
		return *d.All
	}
	if d.New == nil {
		return d
	}
	if !r.args().ColumnsAccept(d.New.Inserted) {
		return *d.New.All
	}
	return d
}

// lock runs the lock statements of a drain.
func (dr *drain) lock(ctx context.Context, d *rewrite.DrainTable) (*lockedRows, error) {
	if MayInsert(*d) && !lockOfKey(d) && !dr.meetsOthers(d) {
		return dr.lockNew(ctx, d)
	}
	l := &lockedRows{some: true}
	var err error
	switch {
	case lockOfKey(d):
		l.rows, err = dr.lockKey(ctx, d)
		n := rowsOf(l.rows)
		l.some, l.open = n > 0, n < d.Most
	case dr.meetsOthers(d):
		l.rows, err = dr.lockKey(ctx, d)
		l.open = !dr.heldTogether(l.rows)
	case d.Folding == rewrite.FoldByName && len(d.Table.Counter.Key) == 0:
		l.rows, err = dr.lockKey(ctx, d)
	default:
		err = dr.run.steps(ctx, d.Lock)
	}
	return l, err
}

// lockNew is lock for rows that the statement may insert.
func (dr *drain) lockNew(ctx context.Context, d *rewrite.DrainTable) (*lockedRows, error) {
	// The probe counts as of the transaction's snapshot; a row that the statement has touched may
	// be newer.
	if d.New.Probe != nil && !dr.conn.Tx.LastKnownOpen() && !dr.rowAppeared {
		if n, err := dr.probe(ctx, d.New.Probe); n == 0 || err != nil {
			return &lockedRows{open: true}, err
		}
	}
	rows, err := dr.run.find(ctx, &d.Lock[0])
	n := rowsOf(rows)
	if n == 0 || err != nil {
		return &lockedRows{open: true}, err
	}
	return &lockedRows{rows: rows, some: true, open: n < d.New.Rows}, dr.run.steps(ctx, d.Lock[1:])
}

// meetsOthers reports whether the statement may touch rows that a drain of all rows has not
// locked, and can be run again if it does.
func (dr *drain) meetsOthers(d *rewrite.DrainTable) bool {
	return d.Open && dr.form.Repeats && d.Folding != rewrite.FoldNothing
}

// heldTogether reports whether no other row can be inserted into a table whose rows are locked,
// since the gaps between them are. On a cluster another node may insert one.
func (dr *drain) heldTogether(locked [][]any) bool {
	n := dr.conn.namer()
	return n != nil && len(locked) > 0 && !dr.conn.Cluster && n.GapLocks(dr.conn.isolation(link.TextOf(locked[0][2])))
}

// rowsOf returns the number of rows that a lock statement has found: each row that it returns
// begins with the number of rows that it stands for.
func rowsOf(locked [][]any) int {
	n := int64(0)
	for i := range locked {
		n += link.CountOf(locked[i:])
	}
	return int(n)
}

// MayInsert reports whether a drain is of rows that the statement may insert.
func MayInsert(d rewrite.DrainTable) bool {
	return d.New != nil && d.New.Rows > 0 && len(d.Lock) > 0
}

// probe counts rows without locks. If the count would take a snapshot that the application's
// statement is checked against, another session is asked; if that cannot tell, the rows are
// assumed to exist. The count only decides whether to lock first.
func (dr *drain) probe(ctx context.Context, b *rewrite.Bound) (int64, error) {
	args, err := dr.run.values(b.Args)
	if err != nil {
		return 0, err
	}
	var rows [][]any
	if dr.conn.namer() != nil && dr.conn.Engine.Snapshots != nil {
		if rows, err = dr.run.askAnother(ctx, dr.run.sql(b), args); err != nil {
			return 1, ctx.Err()
		}
	} else {
		dr.conn.Tx.TakeSnapshot()
		if rows, err = dr.conn.Session().Query(ctx, dr.run.sql(b), args...); err != nil {
			return 0, err
		}
	}
	n := int64(0)
	for i := range rows {
		n += link.CountOf(rows[i:])
	}
	return n, nil
}

package session

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// rowsToDrain returns what a drain covers: the rows of the keys that the statement gives, or all
// rows if an argument is not one by which the engine certainly finds its row.
func (r *Run) rowsToDrain(d rewrite.DrainTable) rewrite.DrainTable {
	if d.All != nil && !r.formsMatch(d.Forms) {
		return *d.All
	}
	if d.New == nil {
		return d
	}
	if !r.columnsAccept(d.New.Inserted) {
		return *d.New.All
	}
	return d
}

// formsMatch reports whether arguments are written as the engine stores keys, so that it certainly
// compares them as such.
func (r *Run) formsMatch(forms []rewrite.FormArg) bool {
	for _, f := range forms {
		v, ok := r.value(f.Arg)
		if !ok {
			return false
		}
		switch x := v.Value.(type) {
		case time.Time:
		case string:
			ok = f.Form.Fits(x)
		case []byte:
			ok = f.Form.Fits(string(x))
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// lock runs the lock statements of a drain.
func (r *Run) lock(ctx context.Context, d *rewrite.DrainTable) (*lockedRows, error) {
	if MayInsert(*d) && !lockOfKey(d) && !r.meetsOthers(d) {
		return r.lockNew(ctx, d)
	}
	l := &lockedRows{some: true}
	var err error
	switch {
	case lockOfKey(d):
		l.rows, err = r.lockKey(ctx, d)
		n := rowsOf(l.rows)
		l.some, l.open = n > 0, n < d.Most
	case r.meetsOthers(d):
		l.rows, err = r.lockKey(ctx, d)
		l.open = !r.heldTogether(l.rows)
	case d.Folding == rewrite.FoldByName && len(d.Table.Counter.Key) == 0:
		l.rows, err = r.lockKey(ctx, d)
	default:
		err = r.steps(ctx, d.Lock)
	}
	return l, err
}

// lockNew is lock for rows that the statement may insert.
func (r *Run) lockNew(ctx context.Context, d *rewrite.DrainTable) (*lockedRows, error) {
	// The probe counts as of the transaction's snapshot; a row that the statement has touched may
	// be newer.
	if d.New.Probe != nil && !r.conn.Tx.LastKnownOpen() && !r.rowAppeared {
		if n, err := r.probe(ctx, d.New.Probe); n == 0 || err != nil {
			return &lockedRows{open: true}, err
		}
	}
	rows, err := r.find(ctx, &d.Lock[0])
	n := rowsOf(rows)
	if n == 0 || err != nil {
		return &lockedRows{open: true}, err
	}
	return &lockedRows{rows: rows, some: true, open: n < d.New.Rows}, r.steps(ctx, d.Lock[1:])
}

// meetsOthers reports whether the statement may touch rows that a drain of all rows has not
// locked, and can be run again if it does.
func (r *Run) meetsOthers(d *rewrite.DrainTable) bool {
	return d.Open && r.Plan.Drain.Repeats && d.Folding != rewrite.FoldNothing
}

// heldTogether reports whether no other row can be inserted into a table whose rows are locked,
// since the gaps between them are. On a cluster another node may insert one.
func (r *Run) heldTogether(locked [][]any) bool {
	n := r.conn.namer()
	return n != nil && len(locked) > 0 && !r.conn.Cluster && n.GapLocks(r.conn.isolation(link.TextOf(locked[0][2])))
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
func (r *Run) probe(ctx context.Context, b *rewrite.Bound) (int64, error) {
	args, err := r.values(b.Args)
	if err != nil {
		return 0, err
	}
	var rows [][]any
	if r.conn.namer() != nil && r.conn.Engine.Snapshots != nil {
		if rows, err = r.askAnother(ctx, r.sql(b), args); err != nil {
			return 1, ctx.Err()
		}
	} else {
		r.conn.Tx.TakeSnapshot()
		if rows, err = r.conn.Session().Query(ctx, r.sql(b), args...); err != nil {
			return 0, err
		}
	}
	n := int64(0)
	for i := range rows {
		n += link.CountOf(rows[i:])
	}
	return n, nil
}

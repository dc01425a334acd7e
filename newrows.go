package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/rewrite"
)

// chosen is what a drain of rows that may not exist covers: the rows of the
// keys that the statement gives, or all rows when an argument is not such that
// the engine certainly finds the row by it.
func (r *run) chosen(d rewrite.DrainTable) rewrite.DrainTable {
	if d.New == nil {
		return d
	}
	for _, g := range d.New.Given {
		if v, ok := r.value(g.Arg); !ok || !taken(g, v.Value) {
			return *d.New.All
		}
	}
	return d
}

// lock runs the lock statements of a drain. It says whether there is anything
// to fold.
func (r *run) lock(ctx context.Context, d rewrite.DrainTable) (some bool, err error) {
	w := d.New
	if w == nil || len(d.Lock) == 0 {
		return true, r.steps(ctx, d.Lock)
	}
	if w.Probe != nil && (len(w.Absent) > 0 || !r.conn.tx.open) {
		n, err := r.count(ctx, w.Probe)
		switch {
		case err != nil:
			return false, err
		case n == 0 && len(w.Absent) == 0:
			return false, nil
		case n < int64(w.Rows) && len(w.Absent) > 0:
			// Before rows are locked that somebody may wait for who writes
			// the slot table.
			if err := r.steps(ctx, w.Absent); err != nil {
				return false, err
			}
			return true, r.steps(ctx, d.Lock)
		}
	}
	if len(w.Absent) == 0 {
		return true, r.steps(ctx, d.Lock)
	}
	args, err := r.bind(d.Lock[0].Args)
	if err != nil {
		return false, err
	}
	res, err := r.conn.parentExec(ctx, d.Lock[0].SQL, args)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, err
	}
	if n >= int64(w.Rows) {
		return true, r.steps(ctx, d.Lock[1:])
	}
	if err := r.steps(ctx, w.Absent); err != nil {
		return false, err
	}
	return true, r.steps(ctx, d.Lock)
}

// count runs a query of one number.
func (r *run) count(ctx context.Context, b *rewrite.Bound) (int64, error) {
	args, err := r.bind(b.Args)
	if err != nil {
		return 0, err
	}
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a.Value
	}
	rows, err := r.conn.session.Query(ctx, b.SQL, list...)
	if err != nil {
		return 0, err
	}
	return countOf(rows), nil
}

// countOf reads a number as any driver gives it.
func countOf(rows [][]any) int64 {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return 0
	}
	v := rows[0][0]
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	n, _ := wholeNumber(v)
	return n
}

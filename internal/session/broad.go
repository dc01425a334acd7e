package session

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"

	"github.com/slotsql/slotsql/internal/link"
)

// broadShare is one of how many rows has to meet the bounds of a read for it to be broad. Of a
// million rows MariaDB reads the totals of all in the time that it takes to list and look up
// about this part of them.
//
// It is a variable for tests of tables with few rows: go test -ldflags "-X
// github.com/slotsql/slotsql/internal/session.broadShare=0" has no broad reads.
var broadShare = "32"

// broad reports whether the engine expects the bounds of a read to leave so many rows that it
// should run without candidates. If the estimate fails it runs with them, and reports itself what
// is wrong.
func (r *Run) broad(ctx context.Context) (bool, error) {
	b := r.Plan.Read.Broad
	if b == nil {
		return false, nil
	}
	share, err := strconv.ParseInt(broadShare, 10, 64)
	if share == 0 || err != nil {
		return false, err
	}
	args, err := r.bind(b.Rows.Args)
	if err != nil {
		return false, nil
	}
	rows, err := r.conn.ParentQuery(ctx, r.sql(&b.Rows), link.JoinArgs(r.call.options, args))
	if err == nil {
		var n []int64
		if n, err = estimates(rows); err == nil && len(n) >= 2 {
			return n[0] > n[1]/share, nil
		}
	}
	if r.conn.failsTx(err) {
		return false, err
	}
	return false, nil
}

// estimates reads the column rows, whose NULL is 0.
func estimates(rows driver.Rows) ([]int64, error) {
	b, err := readBuffered(rows)
	if err != nil {
		return nil, err
	}
	at := slices.Index(b.columns, "rows")
	if at < 0 {
		return nil, nil
	}
	var out []int64
	for _, row := range b.rows {
		out = append(out, link.CountOf([][]any{{row[at]}}))
	}
	return out, nil
}

// queryWhole runs a broad read.
func (r *Run) queryWhole(ctx context.Context) (driver.Rows, error) {
	whole := &r.Plan.Read.Broad.Whole
	args, err := r.bind(whole.Args)
	if err != nil {
		return nil, err
	}
	return r.via.queryBound(ctx, whole, r.sql(whole), link.JoinArgs(r.call.options, args))
}

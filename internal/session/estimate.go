package session

import (
	"context"
	"database/sql/driver"
	"strconv"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// broadShare is one of how many rows has to be within the bounds of a read for its list of candidates to be too long. Of a
// million rows MariaDB reads the totals of all in the time that it takes to list and look up about this part of them.
//
// It is a variable for tests of tables with few rows: go test -ldflags "-X
// github.com/slotsql/slotsql/internal/session.broadShare=0" always reads candidates.
var broadShare = "32"

// readsWhole reports whether a read should run without candidates, by the engine's estimates. If they
// fail it runs with them, and reports itself what is wrong.
func (r *Run) readsWhole(ctx context.Context) (bool, error) {
	e := r.Plan.Read.Estimate
	if e == nil {
		return false, nil
	}
	share, err := strconv.ParseInt(broadShare, 10, 64)
	if share == 0 || err != nil {
		return false, err
	}
	args, err := r.bind(e.Query.Args)
	if err != nil {
		return false, nil
	}
	n, err := r.estimates(ctx, &e.Query, args)
	switch {
	case err != nil && r.conn.failsTx(err):
		return false, err
	case err != nil || len(n) < 2 || e.Listed && len(n) < 3:
		return false, nil
	}
	rows, table := n[0], n[1]
	return few(rows, table) || e.Listed && n[2] > rows/share, nil
}

// few reports whether the totals of a block's rows cost less than the look for candidates. For that the engine finds
// some hundred of them in the order of the counter. Of r rows in a table of n it reads n/r for each, in the counter's index, or
// all of them to sort them. A total costs about as much as a few of these reads.
func few(rows, table int64) bool { return float64(rows)*float64(rows) <= 100*float64(table) }

// estimates asks the engine for its estimates.
func (r *Run) estimates(ctx context.Context, query *rewrite.Bound, args []driver.NamedValue) ([]int64, error) {
	rows, err := r.conn.ParentQuery(ctx, r.sql(query), link.JoinArgs(r.call.options, args))
	if err != nil {
		return nil, err
	}
	b, err := readBuffered(rows)
	if err != nil {
		return nil, err
	}
	var lines [][]string
	for _, row := range b.rows {
		var line []string
		for _, v := range row {
			line = append(line, dialect.String(v))
		}
		lines = append(lines, line)
	}
	return r.conn.Dialect().(rewrite.EstimatingDialect).Estimated(b.columns, lines), nil
}

// queryWhole runs a read without candidates.
func (r *Run) queryWhole(ctx context.Context) (driver.Rows, error) {
	whole := &r.Plan.Read.Estimate.Whole
	args, err := r.bind(whole.Args)
	if err != nil {
		return nil, err
	}
	return r.sender.queryBound(ctx, whole, r.sql(whole), link.JoinArgs(r.call.options, args))
}

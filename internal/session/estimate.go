package session

import (
	"context"
	"database/sql/driver"
	"strconv"
	"sync/atomic"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// broadShare is one of how many rows has to be within the bounds of a read for its list of candidates to be too long. Of a
// million rows MariaDB reads the totals of all in the time that it takes to list and look up about this part of them.
//
// It is a variable for tests of tables with few rows: go test -ldflags "-X
// github.com/slotsql/slotsql/internal/session.broadShare=0" always reads candidates, broadShare=-1 runs the forms of a
// read in turn.
var broadShare = "32"

// turns counts the reads that run in turn.
var turns atomic.Uint32

// otherForm returns the form in which a read should run by the engine's estimates: without candidates, or with those of one
// source only; nil if it should run with all. If the estimates fail, it does, and reports itself what is wrong.
func (r *Run) otherForm(ctx context.Context) (*rewrite.Bound, error) {
	e := r.Plan.Read.Estimate
	if e == nil {
		return nil, nil
	}
	share, err := strconv.ParseInt(broadShare, 10, 64)
	switch {
	case share == 0 || err != nil:
		return nil, err
	case share < 0:
		if i := int(turns.Add(1)) % (len(e.Only) + 2); i < len(e.Only) {
			return &e.Only[i], nil
		} else if i == len(e.Only) {
			return &e.Whole, nil
		}
		return nil, nil
	}
	args, err := r.bind(e.Query.Args)
	if err != nil {
		return nil, nil
	}
	n, err := r.estimates(ctx, &e.Query, args)
	if err != nil && r.conn.failsTx(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	return chosen(e, n, share), nil
}

// chosen returns the form of a read that the estimates favour. If candidates pay for one source only, the source that leaves
// the fewest rows gets them.
func chosen(e *rewrite.Estimate, n []int64, share int64) *rewrite.Bound {
	numbers, sources := 2, max(len(e.Only), 1)
	if e.Listed {
		numbers = 3
	}
	if len(n) < numbers*sources {
		return nil
	}
	worth, best := 0, 0
	for i := range sources {
		rows, table, within := n[numbers*i], n[numbers*i+1], n[numbers*i+numbers-1]
		if few(rows, table) || e.Listed && within > rows/share {
			continue
		}
		if worth++; worth == 1 || within < n[numbers*best+numbers-1] {
			best = i
		}
	}
	switch worth {
	case sources:
		return nil
	case 0:
		return &e.Whole
	}
	return &e.Only[best]
}

// few reports whether the totals of a block's rows cost less than the look for candidates. For that the engine finds
// some hundred of them in the order of the counter. Of r rows in a table of n it reads n/r for each, in the counter's index, or
// all of them to sort them. A total costs about as much as ten of these reads or more: of a million rows, the first ten of a
// thousand took 24 ms by candidates and 4 by totals, and those of ten thousand 4 and 66 (PostgreSQL).
func few(rows, table int64) bool { return float64(rows)*float64(rows) <= 10*float64(table) }

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

// queryForm runs a read in another form.
func (r *Run) queryForm(ctx context.Context, form *rewrite.Bound) (driver.Rows, error) {
	args, err := r.bind(form.Args)
	if err != nil {
		return nil, err
	}
	return r.sender.queryBound(ctx, form, r.sql(form), link.JoinArgs(r.call.options, args))
}

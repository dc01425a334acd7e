package groups

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/rewrite"
)

// outcome is what became of members, one after another or together.
type outcome struct {
	row     string
	results []result
	counted bool
	err     error
}

// result is that of one member.
type result struct {
	counted  bool
	affected int64
	insertID int64
	returned string
}

type run struct {
	t     *testing.T
	db    *sql.DB
	f     form
	sql   string
	group *rewrite.Group
	row   []any

	tellsInsertID, upsertCounts, countsChanged bool
}

func (c *run) reset() {
	c.t.Helper()
	twin.ExecAll(c.t, c.db, "DELETE FROM t")
	q := "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	if strings.Contains(c.sql, "$") {
		q = "INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
	}
	if _, err := c.db.Exec(q, c.row...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *run) final() string {
	columns := c.f.columns
	if columns == "" {
		columns = "n, big, small, maybe, cents"
	}
	return twin.Rows(c.t, c.db, "SELECT "+columns+" FROM t ORDER BY id")
}

// exec runs a statement and returns its effect and the row of RETURNING.
func (c *run) exec(query string, args []any) (x result, values []any, err error) {
	if len(c.group.Returns) == 0 {
		res, err := c.db.Exec(query, args...)
		if err != nil {
			return x, nil, err
		}
		n, _ := res.RowsAffected()
		x.counted, x.affected = n > 0, n
		if id, err := res.LastInsertId(); err == nil && c.tellsInsertID {
			x.insertID = id
		}
		return x, nil, nil
	}
	rows, err := c.db.QueryContext(context.Background(), query, args...)
	if err != nil {
		return x, nil, err
	}
	defer rows.Close()
	names, _ := rows.Columns()
	for rows.Next() {
		x.counted = true
		values = make([]any, len(names))
		into := make([]any, len(names))
		for i := range into {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return x, nil, err
		}
	}
	return x, values, rows.Err()
}

func (c *run) alone(members [][]any) (o outcome) {
	c.reset()
	for _, args := range members {
		x, values, err := c.exec(c.sql, args)
		x.returned = fmt.Sprint(values)
		x.counted = x.counted && err == nil
		o.results = append(o.results, x)
	}
	o.row = c.final()
	return o
}

// together runs the group's statement, by the definition of its fields.
func (c *run) together(members [][]any) (o outcome) {
	if c.group.CompareAndSet != nil {
		return c.swapped(members)
	}
	c.reset()
	g := c.group
	adds := make([][]int64, len(members)) // by member and share
	sums := make([]int64, len(g.Shares))
	firsts := make([]int64, len(g.Shares)) // of a new row
	bounds := make([]int64, len(g.Guards))
	for m, args := range members {
		for i, gd := range g.Guards {
			demand := number(gd.Literal.Of(nil), gd.Arg, args, g.Shares[gd.Share].Scale) - sums[gd.Share]
			if m == 0 || gd.AtLeast && demand > bounds[i] || !gd.AtLeast && demand < bounds[i] {
				bounds[i] = demand
			}
		}
		for i, s := range g.Shares {
			n := number(s.Literal.Of(nil), s.Arg, args, s.Scale)
			adds[m] = append(adds[m], n)
			sums[i] += n
			if m > 0 || s.First == nil {
				firsts[i] += n
			} else {
				firsts[i] = number(s.First.Literal.Of(nil), s.First.Arg, args, s.Scale)
			}
		}
	}
	bound := g.Bound
	if len(members) == 1 && g.One != nil {
		bound = *g.One
	}
	var args []any
	for _, a := range bound.Args {
		switch {
		case a.Free && a.First:
			args = append(args, members[0][a.Index])
		case a.First:
			args = append(args, value(firsts[a.Total-1], a.Negate, g.Shares[a.Total-1].Scale))
		case a.Total > 0:
			args = append(args, value(sums[a.Total-1], a.Negate, g.Shares[a.Total-1].Scale))
		case a.Bound > 0:
			args = append(args, value(bounds[a.Bound-1], a.Negate, g.Shares[g.Guards[a.Bound-1].Share].Scale))
		default:
			args = append(args, members[len(members)-1][a.Index])
		}
	}
	x, values, err := c.exec(bound.SQL.Of(nil), args)
	o.err, o.counted = err, err == nil && x.counted
	if !o.counted {
		return o
	}
	o.row = c.final()
	o.results = make([]result, len(members))
	later := make([]int64, len(g.Shares))
	for m := len(members) - 1; m >= 0; m-- {
		own := result{counted: true, affected: x.affected, insertID: x.insertID}
		if g.Upsert != nil && m > 0 && c.upsertCounts {
			own.affected = 2
		}
		if g.InsertID > 0 {
			own.insertID = x.insertID - later[g.InsertID-1]
		}
		mine := slices.Clone(values)
		for i, s := range g.Returns {
			if s > 0 {
				mine[i] = less(values[i], later[s-1], g.Shares[s-1].Scale)
			}
		}
		own.returned = fmt.Sprint(mine)
		o.results[m] = own
		for i := range later {
			later[i] += adds[m][i]
		}
	}
	return o
}

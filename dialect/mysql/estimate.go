package mysql

import (
	"slices"
	"strconv"

	"github.com/slotsql/slotsql/rewrite"
)

var _ rewrite.EstimatingDialect = (*Dialect)(nil)

// Estimate implements [rewrite.EstimatingDialect] by EXPLAIN. MySQL's explain_format, which is TREE by default in 9.7,
// may say otherwise than that the result has a row for each table.
func (d *Dialect) Estimate(q rewrite.EstimatedQueries) string {
	explain := "EXPLAIN "
	if d.MySQL {
		explain += "FORMAT=TRADITIONAL "
	}
	explain += q.Rows + " UNION ALL " + q.Table
	if q.Within != "" {
		explain += " UNION ALL " + q.Within
	}
	return explain
}

// Estimated implements [rewrite.EstimatingDialect].
func (*Dialect) Estimated(columns []string, rows [][]string) (e rewrite.Estimates, ok bool) {
	read := rowsRead(columns, rows)
	if len(read) < 2 {
		return e, false
	}
	e.Rows, e.Table = read[0], read[1]
	if len(read) > 2 {
		e.Within = read[2]
	}
	return e, true
}

// rowsRead returns how many rows each query of EXPLAIN reads. Of a query it has how many rows of each
// table are read for one of the tables before. The first query is PRIMARY and each other a UNION; further rows are of queries
// inside them.
func rowsRead(columns []string, rows [][]string) []int64 {
	id, kind, read := slices.Index(columns, "id"), slices.Index(columns, "select_type"), slices.Index(columns, "rows")
	if id < 0 || kind < 0 || read < 0 {
		return nil
	}
	var out []int64
	last := ""
	for _, row := range rows {
		if row[kind] != "PRIMARY" && row[kind] != "UNION" {
			continue
		}
		n, err := strconv.ParseInt(row[read], 10, 64)
		if err != nil {
			n = 0 // no table is read
		}
		if len(out) == 0 || row[id] != last {
			out, last = append(out, n), row[id]
		} else {
			out[len(out)-1] *= max(n, 1)
		}
	}
	return out
}

package mysql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

var _ rewrite.EstimatingDialect = (*Dialect)(nil)

// Estimate implements [rewrite.EstimatingDialect] by EXPLAIN. MySQL's explain_format, which is TREE by default in 9.7,
// may say otherwise than that the result has a row for each table.
func (d *Dialect) Estimate(queries ...string) string {
	explain := "EXPLAIN "
	if d.MySQL {
		explain += "FORMAT=TRADITIONAL "
	}
	return explain + strings.Join(queries, " UNION ALL ")
}

// Estimated implements [rewrite.EstimatingDialect]. Of each query EXPLAIN has how many rows of a table are read for one of
// the tables before. The first query is PRIMARY and each other a UNION; further rows are of queries inside them.
func (*Dialect) Estimated(columns []string, rows [][]string) []int64 {
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

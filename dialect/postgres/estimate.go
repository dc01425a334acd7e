package postgres

import (
	"regexp"
	"strconv"

	"github.com/slotsql/slotsql/rewrite"
)

var _ rewrite.EstimatingDialect = (*Dialect)(nil)

// Estimate implements [rewrite.EstimatingDialect] by EXPLAIN. A query with a LIMIT is not divided among workers, of which
// the plan would say how many rows each reads, and none has as many as that.
func (*Dialect) Estimate(q rewrite.EstimatedQueries) string {
	const limit = " LIMIT 1000000000000)"
	explain := "EXPLAIN (" + q.Rows + limit + " UNION ALL (" + q.Table + limit
	if q.Within != "" {
		explain += " UNION ALL (" + q.Within + limit
	}
	return explain
}

// Estimated implements [rewrite.EstimatingDialect]. The plan begins with Append, and under it has a line for each query.
func (*Dialect) Estimated(_ []string, rows [][]string) (e rewrite.Estimates, ok bool) {
	var read []int64
	for _, line := range rows {
		m := planRows.FindStringSubmatch(line[0])
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return e, false
		}
		read = append(read, n)
	}
	if len(read) < 2 {
		return e, false
	}
	e.Rows, e.Table = read[0], read[1]
	if len(read) > 2 {
		e.Within = read[2]
	}
	return e, true
}

// planRows finds the rows of a line like "  ->  Limit  (cost=0.00..1.05 rows=5 width=4)" right under the first.
var planRows = regexp.MustCompile(`^  ->  .*\(cost=\S+ rows=([0-9]+) `)

package postgres

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

var _ rewrite.EstimatingDialect = (*Dialect)(nil)

// Estimate implements [rewrite.EstimatingDialect] by EXPLAIN. A query with a LIMIT is not divided among workers, of which
// the plan would say how many rows each reads, and no table has as many rows as this one.
func (*Dialect) Estimate(queries ...string) string {
	const limit = " LIMIT 1000000000000)"
	return "EXPLAIN (" + strings.Join(queries, limit+" UNION ALL (") + limit
}

// Estimated implements [rewrite.EstimatingDialect]. The plan begins with Append, and under it has a line for each query.
func (*Dialect) Estimated(_ []string, rows [][]string) []int64 {
	var out []int64
	for _, line := range rows {
		m := planRows.FindStringSubmatch(line[0])
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// planRows finds the rows of a line like "  ->  Limit  (cost=0.00..1.05 rows=5 width=4)" right under the first.
var planRows = regexp.MustCompile(`^  ->  .*\(cost=\S+ rows=([0-9]+) `)

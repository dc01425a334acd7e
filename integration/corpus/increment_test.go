package corpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// incrementCounters adds one to every counter of every row, by its key, on both sides.
// It leaves out counters that are NULL or at their type's limit.
func incrementCounters(t *testing.T, on twin.Sides, p *twin.Pair, tables []counterTable) (ds []twin.Difference) {
	t.Helper()
	for _, table := range tables {
		columns := slices.Concat(table.key, table.counters)
		for i := range columns {
			columns[i] = p.Quote(columns[i])
		}
		where := make([]string, len(table.key))
		for i := range where {
			where[i] = columns[i] + " = ?"
			if p.Dialect == "postgres" {
				where[i] = fmt.Sprintf("%s = $%d", columns[i], i+1)
			}
		}
		rows := twin.Run(t.Context(), on.Plain, twin.Statement{
			SQL: fmt.Sprintf("SELECT %s FROM %s", strings.Join(columns, ", "), p.Quote(table.name)),
		})
		if rows.Err != nil {
			t.Fatal(rows.Err)
		}
		for _, row := range rows.Sets[0].Rows {
			key := row[:len(table.key)]
			if slices.Contains(key, any(nil)) {
				continue
			}
			for i := len(table.key); i < len(row); i++ {
				if twin.Full(row[i], rows.Sets[0].Columns[i]) {
					continue
				}
				s := twin.Statement{
					SQL: fmt.Sprintf(
						"UPDATE %s SET %s = %[2]s + 1 WHERE %s",
						p.Quote(table.name),
						columns[i],
						strings.Join(where, " AND "),
					),
					Args: key,
				}
				for _, d := range twin.Compare(on.Run(t.Context(), s)) {
					d.What = fmt.Sprintf("increment before it (%s %v): %s", s.SQL, key, d.What)
					ds = append(ds, d)
				}
			}
		}
	}
	return ds
}

package mysql

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// partitions reads what decides which partition a row is in. KEY without columns is the
// primary key, and says nothing here; the periods of system versioning are no columns that a
// statement sets.
func (f *found) partitions(ctx context.Context, s dialect.Session) error {
	some := false
	for _, t := range f.tables {
		some = some || t.Storage.Partitioned
	}
	if !some {
		return nil
	}
	return f.of(ctx, s, "partitions", "PARTITION_EXPRESSION, SUBPARTITION_EXPRESSION", "PARTITIONS", "TABLE_SCHEMA", "TABLE_NAME",
		" AND PARTITION_METHOD <> 'SYSTEM_TIME' GROUP BY TABLE_NAME, PARTITION_EXPRESSION, SUBPARTITION_EXPRESSION",
		func(t *schema.Table, r []any) {
			for _, expr := range r {
				if text := dialect.String(expr); strings.TrimSpace(text) != "" {
					t.Partition(mentioned(t, text)...)
				}
			}
		})
}

package verify

import (
	"context"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/explain"
	"github.com/slotsql/slotsql/rewrite"
)

// CheckRecounts holds the recounts of a table against the database: each has to
// be a query that the database takes, with a column for each of the key and one
// for the counter, and that can be read beside others, without a drain.
func CheckRecounts(ctx context.Context, c *catalog.View, t catalog.CheckedTable) (problems []config.Problem, err error) {
	a := auditOf(c.Catalog.Dialect, t.Table)
	var tables *catalog.Schema
	for i := range t.Config.Counters {
		counter := &t.Config.Counters[i]
		col, _ := catalog.FindColumn(t.Table, counter.Column)
		if counter.Recount == "" || a == nil || col == nil {
			continue
		}
		report := func(format string, args ...any) {
			args = append([]any{config.Clip(counter.Column)}, args...)
			problems = append(
				problems,
				t.Config.Problem("counters."+config.PathName(counter.Column)+".recount", "counter %s: recount "+format, args...),
			)
		}
		check := a.drift(col.Name, counter.Recount)
		if ok, _ := t.Table.Slottable(col.Name); !ok {
			continue
		}
		plain := "SELECT " + a.keys(recountAlias) + check.should + " FROM (" + counter.Recount + "\n) AS " + recountAlias + " WHERE 1 = 0"
		if _, err := c.Session().Query(ctx, plain); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			report("is rejected by the database (it must return each key column, and %s): %s", config.Clip(col.Name), trimmed(err))
			continue
		}
		if tables == nil {
			if tables, err = c.Audited(ctx); err != nil {
				return nil, err
			}
		}
		e, err := (&explain.Explainer{Look: c.Look(ctx)}).ExplainWith(tables, check.find("1 = 0"))
		if err != nil {
			return nil, err
		}
		if e.Class != string(rewrite.Read) {
			report("is not a query that slotsql can rewrite: %s", e.Reason)
		}
	}
	return problems, nil
}

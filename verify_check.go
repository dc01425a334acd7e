package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/rewrite"
)

// checkRecounts holds the recounts of a table against the database: each has to
// be a query that the database takes, with a column for each of the key and one
// for the counter, and that can be read beside others, without a drain.
func checkRecounts(ctx context.Context, c *view, t checkedTable) (problems []Problem, err error) {
	a := auditOf(c.catalog.dialect, t.table)
	var tables *schema
	for i := range t.config.Counters {
		counter := &t.config.Counters[i]
		col, _ := findColumn(t.table, counter.Column)
		if counter.Recount == "" || a == nil || col == nil {
			continue
		}
		report := func(format string, args ...any) {
			args = append([]any{clip(counter.Column)}, args...)
			problems = append(problems, t.config.problem("counters."+pathName(counter.Column)+".recount", "counter %s: recount "+format, args...))
		}
		check := a.drift(col.Name, counter.Recount)
		if ok, _ := t.table.Slottable(col.Name); !ok {
			continue
		}
		plain := "SELECT " + a.keys(recountAlias) + check.should + " FROM (" + counter.Recount + "\n) AS " + recountAlias + " WHERE 1 = 0"
		if _, err := c.session().Query(ctx, plain); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			report("is rejected by the database (it must return each key column, and %s): %s", clip(col.Name), trimmed(err))
			continue
		}
		if tables == nil {
			if tables, err = c.audited(ctx); err != nil {
				return nil, err
			}
		}
		e, err := (&Explainer{look: c.look(ctx)}).explain(tables, check.find("1 = 0"))
		if err != nil {
			return nil, err
		}
		if e.Class != string(rewrite.Read) {
			report("is not a query that slotsql can rewrite: %s", e.Reason)
		}
	}
	return problems, nil
}

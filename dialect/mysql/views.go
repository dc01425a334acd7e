package mysql

import (
	"context"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
)

// ViewsOver implements dialect.Describer. The server keeps a view's definition with every
// name in quotes and behind its database's; it hides the definition of a view that the
// user may not see. MariaDB reads the header of each table's file to find the views
// of all databases.
func (d *Dialect) ViewsOver(ctx context.Context, s dialect.Session, tables []dialect.Viewed, within dialect.Reach) ([][]string, error) {
	where := []string{"TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"}
	if within == dialect.TheirDatabases {
		var err error
		if where, err = d.viewsNear(ctx, s, tables); err != nil {
			return nil, err
		}
	}
	var views []dialect.ViewDefinition
	for _, w := range where {
		rows, err := s.Query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE "+w)
		if err != nil {
			return nil, fmt.Errorf("mysql: reading the views over %d tables: %w", len(tables), err)
		}
		for _, r := range rows {
			views = append(views, dialect.ViewDefinition{Schema: dialect.String(r[0]), Name: dialect.String(r[1]), SQL: dialect.String(r[2])})
		}
	}
	out := make([][]string, len(tables))
	for i, t := range tables {
		out[i] = dialect.ViewsOver(
			t,
			views,
			func(schema, name string) string { return quote(schema) + "." + quote(name) },
			func(name string) string { return quote(name) + "(" },
		)
	}
	return out, nil
}

// viewsNear writes a condition for each database that has views, of those of the
// tables and the session's.
func (d *Dialect) viewsNear(ctx context.Context, s dialect.Session, tables []dialect.Viewed) ([]string, error) {
	srv, err := d.ask(ctx, s)
	if err != nil {
		return nil, err
	}
	schemas := []string{srv.database}
	for _, t := range tables {
		schemas = append(schemas, t.Schema)
	}
	slices.Sort(schemas)
	var where []string
	for _, schema := range slices.Compact(schemas) {
		if schema == "" {
			continue
		}
		names, err := viewsIn(ctx, s, schema)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			where = append(where, "TABLE_SCHEMA = "+nameLiteral(schema)+" AND TABLE_NAME IN "+literals(names))
		}
	}
	return where, nil
}

package mysql

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.Viewer = (*Dialect)(nil)

// Views implements dialect.Viewer. The server keeps a view's text with every
// name in quotes and behind its database's; it hides the text of a view that
// the user may not see.
func (d *Dialect) Views(ctx context.Context, s dialect.Session, t *rewrite.Table) ([]string, error) {
	rows, err := s.Query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"+
		" WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')")
	if err != nil {
		return nil, fmt.Errorf("mysql: read the views over %s: %w", t.Name, err)
	}
	var views []dialect.ViewDefinition
	for _, r := range rows {
		views = append(views, dialect.ViewDefinition{Schema: text(r[0]), Name: text(r[1]), Text: text(r[2])})
	}
	return dialect.ViewsOver(t, views, func(schema, name string) string { return quote(schema) + "." + quote(name) }), nil
}

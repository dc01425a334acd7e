package sqlite

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.Viewer = (*Dialect)(nil)

// Views implements dialect.Viewer. SQLite keeps a view's text as it was
// written, so any text in which the name occurs may mean it.
func (*Dialect) Views(ctx context.Context, s dialect.Session, t *rewrite.Table) ([]string, error) {
	databases, err := s.Query(ctx, "SELECT name FROM pragma_database_list")
	if err != nil {
		return nil, fmt.Errorf("sqlite: read databases: %w", err)
	}
	var views []dialect.ViewDefinition
	for _, db := range databases {
		rows, err := s.Query(ctx, "SELECT name, sql FROM "+quote(text(db[0]))+".sqlite_schema WHERE type = 'view'")
		if err != nil {
			return nil, fmt.Errorf("sqlite: read the views over %s: %w", t.Name, err)
		}
		for _, r := range rows {
			views = append(views, dialect.ViewDefinition{Name: text(r[0]), Text: text(r[1])})
		}
	}
	return dialect.ViewsOver(t, views, dialect.SpelledAnywhere), nil
}

package sqlite

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// ViewsOver implements dialect.Describer, at all times for all databases that the
// session has attached. SQLite keeps a view's definition as it was written, so any text in
// which the name occurs may mean it.
func (*Dialect) ViewsOver(ctx context.Context, s dialect.Session, tables []dialect.Viewed, _ dialect.Reach) ([][]string, error) {
	databases, err := searched(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("sqlite: reading databases: %w", err)
	}
	var views []dialect.ViewDefinition
	for _, db := range databases {
		rows, err := s.Query(ctx, "SELECT name, sql FROM "+quote(db)+".sqlite_schema WHERE type = 'view'")
		if err != nil {
			return nil, fmt.Errorf("sqlite: reading the views of %s: %w", db, err)
		}
		for _, r := range rows {
			views = append(views, dialect.ViewDefinition{Name: dialect.String(r[0]), SQL: dialect.String(r[1])})
		}
	}
	out := make([][]string, len(tables))
	for i, t := range tables {
		out[i] = dialect.ViewsOver(t, views, dialect.SpelledAnywhere, lex.Spelled)
	}
	return out, nil
}

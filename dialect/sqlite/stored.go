package sqlite

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// stored writes and reads views. SQLite has no stored functions.
type stored struct{}

// Stored implements dialect.Storer.
func (*Dialect) Stored() dialect.StoredSQL { return stored{} }

// CreateView implements dialect.StoredSQL.
func (stored) CreateView(t *schema.Table, name, query string) []string {
	view := quote(schemaOf(t)) + "." + quote(name)
	return []string{"DROP VIEW IF EXISTS " + view, "CREATE VIEW " + view + " AS\n" + query}
}

// Find implements dialect.StoredSQL.
func (stored) Find(ctx context.Context, s dialect.Session, t *schema.Table, name string) (out []dialect.Stored, err error) {
	rows, err := s.Query(ctx, "SELECT sql FROM "+quote(schemaOf(t))+".sqlite_schema WHERE type = 'view' AND name = ?", name)
	if err != nil {
		return nil, fmt.Errorf("sqlite: reading view %q: %w", name, err)
	}
	for _, r := range rows {
		out = append(out, dialect.Stored{Kind: dialect.StoredView, Ref: quote(schemaOf(t)) + "." + quote(name), Definition: dialect.String(r[0])})
	}
	return out, nil
}

package mysql

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// stored writes and reads functions and views.
type stored struct{ d *Dialect }

// Stored implements dialect.Storer.
func (d *Dialect) Stored() dialect.StoredSQL { return stored{d} }

// CreateView implements dialect.StoredSQL.
func (stored) CreateView(t *schema.Table, name, query string) []string {
	return []string{"CREATE OR REPLACE VIEW " + fullName(t.Schema, name) + " AS\n" + query}
}

// Find implements dialect.StoredSQL.
func (stored) Find(ctx context.Context, s dialect.Session, t *schema.Table, name string) (out []dialect.Stored, err error) {
	at, is := nameLiteral(t.Schema), nameLiteral(name)
	rows, err := s.Query(ctx, "SELECT 'FUNCTION', ROUTINE_COMMENT FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_SCHEMA = "+at+
		" AND ROUTINE_NAME = "+is+" UNION ALL SELECT 'VIEW', VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = "+at+" AND TABLE_NAME = "+is)
	if err != nil {
		return nil, fmt.Errorf("mysql: reading function or view %q: %w", name, err)
	}
	for _, r := range rows {
		kind := dialect.StoredKind(dialect.String(r[0]))
		out = append(out, dialect.Stored{Kind: kind, Ref: fullName(t.Schema, name), Definition: dialect.String(r[1])})
	}
	return out, nil
}

package postgres

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
	return []string{"CREATE OR REPLACE VIEW " + qualified(t.Schema, name) + " AS\n" + query}
}

// Find implements dialect.StoredSQL.
func (stored) Find(ctx context.Context, s dialect.Session, t *schema.Table, name string) (out []dialect.Stored, err error) {
	rows, err := s.Query(ctx, `SELECT 'FUNCTION', CAST(CAST(p.oid AS pg_catalog.regprocedure) AS text), p.prosrc
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND p.proname = $2
UNION ALL SELECT 'VIEW', CAST(CAST(c.oid AS pg_catalog.regclass) AS text), pg_catalog.pg_get_viewdef(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind = 'v'`,
		t.Schema, name)
	if err != nil {
		return nil, fmt.Errorf("postgres: reading function or view %q: %w", name, err)
	}
	for _, r := range rows {
		kind := dialect.StoredKind(dialect.String(r[0]))
		out = append(out, dialect.Stored{Kind: kind, Ref: dialect.String(r[1]), Definition: dialect.String(r[2])})
	}
	return out, nil
}

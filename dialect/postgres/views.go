package postgres

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.Viewer = (*Dialect)(nil)

// A view depends on what it reads through its rewrite rule. Materialized views
// are among them: REFRESH reads the table.
const viewQuery = `
WITH RECURSIVE v(oid) AS (
  SELECT pg_catalog.to_regclass($1::text)::pg_catalog.oid
  UNION
  SELECT r.ev_class FROM v
  JOIN pg_catalog.pg_depend d ON d.refobjid = v.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
    AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid)
SELECT c.relname::text FROM v JOIN pg_catalog.pg_class c ON c.oid = v.oid WHERE c.relkind IN ('v', 'm') ORDER BY 1`

// Views implements dialect.Viewer.
func (d *Dialect) Views(ctx context.Context, s dialect.Session, t *rewrite.Table) ([]string, error) {
	rows, err := s.Query(ctx, viewQuery, qualified(t.Schema, t.Name))
	if err != nil {
		return nil, fmt.Errorf("postgres: read the views over %s: %w", t.Name, err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, str(r[0]))
	}
	return out, nil
}

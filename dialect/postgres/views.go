package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.Viewer = (*Dialect)(nil)

// A view depends on what it reads through its rewrite rule. Materialized views
// are among them: REFRESH reads the table.
const viewQuery = `
WITH RECURSIVE v(ord, oid) AS (
  SELECT a.ord, pg_catalog.to_regclass(a.name)::pg_catalog.oid
  FROM pg_catalog.json_array_elements_text($1::text::pg_catalog.json) WITH ORDINALITY AS a(name, ord)
  UNION
  SELECT v.ord, r.ev_class FROM v
  JOIN pg_catalog.pg_depend d ON d.refobjid = v.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
    AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid)
SELECT v.ord::text, c.relname::text FROM v JOIN pg_catalog.pg_class c ON c.oid = v.oid WHERE c.relkind IN ('v', 'm') ORDER BY v.ord, c.relname`

// Views implements dialect.Viewer.
func (d *Dialect) Views(ctx context.Context, s dialect.Session, t *rewrite.Table) ([]string, error) {
	views, err := d.ViewsOver(ctx, s, []*rewrite.Table{t}, dialect.AllDatabases)
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// ViewsOver implements dialect.Describer: a view reads its own database.
func (d *Dialect) ViewsOver(ctx context.Context, s dialect.Session, tables []*rewrite.Table, _ dialect.Reach) ([][]string, error) {
	names := make([]dialect.WrittenName, len(tables))
	for i, t := range tables {
		names[i] = dialect.WrittenName{Schema: t.Schema, Name: t.Name}
	}
	rows, err := s.Query(ctx, viewQuery, namesJSON(names))
	if err != nil {
		return nil, fmt.Errorf("postgres: reading the views over %d tables: %w", len(tables), err)
	}
	out := make([][]string, len(tables))
	for _, r := range rows {
		at, err := strconv.Atoi(dialect.String(r[0]))
		if err != nil || at < 1 || at > len(tables) {
			return nil, fmt.Errorf("postgres: reading the views over %d tables: there is no table %v", len(tables), r[0])
		}
		out[at-1] = append(out[at-1], dialect.String(r[1]))
	}
	return out, nil
}

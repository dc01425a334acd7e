package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/slotsql/slotsql/dialect"
)

// A view depends on what it reads through its rewrite rule, and on the functions that it calls:
// of a routine no more than the name is known, so each one of that name counts. The rows of a
// table are read through its partitions and through the tables above it as well. Materialized
// views are among the views: REFRESH reads the table.
const viewQuery = `
WITH RECURSIVE asked(ord, names) AS (
  SELECT a.ord, a.names FROM pg_catalog.json_array_elements($1::text::pg_catalog.json) WITH ORDINALITY AS a(names, ord)),
base(ord, oid) AS (SELECT a.ord, pg_catalog.to_regclass(a.names->>0)::pg_catalog.oid FROM asked a),
up(ord, oid) AS (
  SELECT b.ord, b.oid FROM base b UNION SELECT u.ord, h.inhparent FROM up u JOIN pg_catalog.pg_inherits h ON h.inhrelid = u.oid),
down(ord, oid) AS (
  SELECT b.ord, b.oid FROM base b UNION SELECT d.ord, h.inhrelid FROM down d JOIN pg_catalog.pg_inherits h ON h.inhparent = d.oid),
v(ord, class, oid) AS (
  SELECT u.ord, 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, u.oid FROM up u
  UNION
  SELECT d.ord, 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, d.oid FROM down d
  UNION
  SELECT a.ord, 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid, p.oid
  FROM asked a CROSS JOIN LATERAL pg_catalog.json_array_elements_text(a.names) WITH ORDINALITY AS r(name, ord)
  JOIN pg_catalog.pg_proc p ON p.proname IN (r.name::pg_catalog.name, pg_catalog.lower(r.name)::pg_catalog.name)
  WHERE r.ord > 1 AND p.pronamespace <> 'pg_catalog'::pg_catalog.regnamespace
  UNION
  SELECT v.ord, 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, r.ev_class FROM v
  JOIN pg_catalog.pg_depend d ON d.refobjid = v.oid AND d.refclassid = v.class AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid)
SELECT v.ord::text, c.relname::text FROM v JOIN pg_catalog.pg_class c ON c.oid = v.oid AND v.class = 'pg_catalog.pg_class'::pg_catalog.regclass
WHERE c.relkind IN ('v', 'm') ORDER BY v.ord, c.relname`

// ViewsOver implements dialect.Describer: a view reads its own database.
func (d *Dialect) ViewsOver(ctx context.Context, s dialect.Session, tables []dialect.Viewed, _ dialect.Reach) ([][]string, error) {
	names := make([][]string, len(tables))
	for i, t := range tables {
		names[i] = append([]string{qualified(t.Schema, t.Name)}, t.Routines...)
	}
	asked, _ := json.Marshal(names) // strings always can be written
	rows, err := s.Query(ctx, viewQuery, string(asked))
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

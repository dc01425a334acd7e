package postgres

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.NamespaceMover = (*Dialect)(nil)

// A function may set the search path in whatever way its body likes. So each one whose body mentions search_path
// counts, and each that names one of those. A body of SQL that is not kept as text is written out; that of a
// function in C is not known. (DO and CALL are taken to do anything.)
const moverQuery = `
WITH RECURSIVE body(name, sql) AS (
  SELECT p.proname::text, pg_catalog.lower(CASE WHEN p.prosrc <> '' THEN p.prosrc ELSE pg_catalog.pg_get_functiondef(p.oid) END)
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace JOIN pg_catalog.pg_language l ON l.oid = p.prolang
  WHERE p.prokind IN ('f', 'p') AND l.lanname NOT IN ('internal', 'c') AND n.nspname NOT IN ('pg_catalog', 'information_schema')),
mover(name) AS (
  SELECT b.name FROM body b WHERE b.sql LIKE '%search\_path%' OR b.sql LIKE '%set\_config%'
  UNION
  SELECT b.name FROM mover m JOIN body b ON pg_catalog.strpos(b.sql, pg_catalog.lower(m.name)) > 0)
SELECT m.name FROM mover m ORDER BY m.name`

// Movers implements dialect.NamespaceMover.
func (*Dialect) Movers(ctx context.Context, s dialect.Session) ([]string, error) {
	rows, err := s.Query(ctx, moverQuery)
	if err != nil {
		return nil, fmt.Errorf("postgres: looking for functions that set the search path: %w", err)
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = dialect.String(r[0])
	}
	return names, nil
}

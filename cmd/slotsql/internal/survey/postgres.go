package survey

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Postgres reads from a PostgreSQL database.
type Postgres struct{}

var _ Source = Postgres{}

// Partitions are left out, since their parent stands for them, and what
// extensions have brought.
const tablesQuery = `
SELECT n.nspname::text, c.relname::text, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY 3 DESC, 1, 2`

// Database implements Source.
func (Postgres) Database(ctx context.Context, s dialect.Session) (string, error) {
	rows, err := s.Query(ctx, "SELECT 'database ' || pg_catalog.current_database()")
	if err != nil {
		return "", fmt.Errorf("postgres: reading the database's name: %w", err)
	}
	return dialect.String(rows[0][0]), nil
}

// Tables implements Source.
func (Postgres) Tables(ctx context.Context, s dialect.Session) ([]TableName, error) {
	rows, err := s.Query(ctx, tablesQuery)
	if err != nil {
		return nil, fmt.Errorf("postgres: listing tables: %w", err)
	}
	var out []TableName
	for _, r := range rows {
		out = append(out, TableName{Schema: dialect.String(r[0]), Name: dialect.String(r[1]), Visible: dialect.String(r[2]) == "true"})
	}
	return out, nil
}

// Indexed implements Source.
func (Postgres) Indexed(ctx context.Context, s dialect.Session, t *schema.Table) ([]string, error) {
	rows, err := s.Query(ctx, "SELECT DISTINCT a.attname::text FROM pg_catalog.pg_index i"+
		" JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"+
		" JOIN pg_catalog.pg_class c ON c.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"+
		" WHERE n.nspname = $1::text AND c.relname = $2::text ORDER BY 1", t.Schema, t.Name)
	if err != nil {
		return nil, fmt.Errorf("postgres: reading the indexes of %s: %w", t.Name, err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, dialect.String(r[0]))
	}
	return out, nil
}

const statStatements = "pg_stat_statements"

// Statistics implements Source: the extension's view, whose columns
// have changed names between versions. Statements inside functions are left out
// where it tells them apart: they pass no driver.
func (Postgres) Statistics(ctx context.Context, s dialect.Session) (Statistics, error) {
	out := Statistics{Source: statStatements}
	at, err := s.Query(ctx, "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e"+
		" JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = $1::text", statStatements)
	if err != nil {
		return out, fmt.Errorf("postgres: looking for %s: %w", statStatements, err)
	}
	if len(at) == 0 {
		out.Missing = "the extension is not in this database: add " + statStatements + " to shared_preload_libraries, and run CREATE EXTENSION " + statStatements
		return out, nil
	}
	view := dialect.String(at[0][0]) + "." + statStatements
	columns, err := s.Query(
		ctx,
		"SELECT attname::text FROM pg_catalog.pg_attribute WHERE attrelid = pg_catalog.to_regclass($1::text) AND attnum > 0",
		view,
	)
	if err != nil {
		return out, fmt.Errorf("postgres: looking for %s: %w", statStatements, err)
	}
	took, only := "total_time", ""
	for _, c := range columns {
		switch dialect.String(c[0]) {
		case "total_exec_time":
			took = "total_exec_time"
		case "toplevel":
			only = " AND s.toplevel"
		}
	}
	rows, err := s.Query(ctx, "SELECT s.query, s.calls::text, s."+took+"::text FROM "+view+" s"+
		" WHERE s.dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())"+only+
		" ORDER BY s.calls DESC, s.query")
	if err != nil { // the library is not loaded, or this is not for the user: no error of ours
		out.Missing = "it cannot be read: " + err.Error()
		return out, nil
	}
	for _, r := range rows {
		runs, _ := strconv.ParseInt(dialect.String(r[1]), 10, 64)
		ms, _ := strconv.ParseFloat(dialect.String(r[2]), 64)
		sql := dialect.String(r[0])
		if r[0] == nil || sql == "" || sql == "<insufficient privilege>" {
			out.Hidden += runs
			continue
		}
		out.Statements = append(
			out.Statements,
			RunStatement{SQL: sql, Runs: runs, Time: time.Duration(ms * float64(time.Millisecond))},
		)
	}
	if since, err := s.Query(
		ctx,
		"SELECT pg_catalog.to_char(stats_reset, 'YYYY-MM-DD HH24:MI') FROM "+view+"_info",
	); err == nil && len(since) == 1 &&
		since[0][0] != nil {
		out.Since = dialect.String(since[0][0])
	}
	return out, nil
}

package survey

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// SQLite reads from a SQLite database.
type SQLite struct{}

var _ Source = SQLite{}

// Database implements Source: the name of the main database's file.
func (SQLite) Database(ctx context.Context, s dialect.Session) (string, error) {
	rows, err := s.Query(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'")
	if err != nil {
		return "", fmt.Errorf("sqlite: reading the database's file: %w", err)
	}
	if len(rows) == 0 || dialect.String(rows[0][0]) == "" {
		return ":memory:", nil
	}
	return filepath.Base(dialect.String(rows[0][0])), nil
}

// Tables implements Source: the tables of the main database, without
// SQLite's own, and without virtual ones and what they keep their data in.
func (SQLite) Tables(ctx context.Context, s dialect.Session) ([]TableName, error) {
	rows, err := s.Query(
		ctx,
		"SELECT schema, name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'"+
			" AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
	)
	if err != nil {
		return nil, fmt.Errorf("sqlite: listing tables: %w", err)
	}
	var out []TableName
	for _, r := range rows {
		out = append(out, TableName{Schema: dialect.String(r[0]), Name: dialect.String(r[1]), Visible: true})
	}
	return out, nil
}

// Indexed implements Source.
func (SQLite) Indexed(ctx context.Context, s dialect.Session, t *schema.Table) ([]string, error) {
	rows, err := s.Query(
		ctx,
		"SELECT DISTINCT c.name FROM pragma_index_list(?1, ?2) l, pragma_index_info(l.name, ?2) c WHERE c.name IS NOT NULL ORDER BY 1",
		t.Name,
		t.Schema,
	)
	if err != nil {
		return nil, fmt.Errorf("sqlite: reading the indexes of %s: %w", t.Name, err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, dialect.String(r[0]))
	}
	return out, nil
}

// Statistics implements Source: there are none.
func (SQLite) Statistics(context.Context, dialect.Session) (Statistics, error) {
	return Statistics{Source: "statement statistics", Missing: "SQLite keeps none"}, nil
}

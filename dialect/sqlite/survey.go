package sqlite

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.Surveyor = (*Dialect)(nil)

// Database implements dialect.Surveyor: the name of the main database's file.
func (*Dialect) Database(ctx context.Context, s dialect.Session) (string, error) {
	switch file, err := mainFile(ctx, s); {
	case err != nil:
		return "", err
	case file != "":
		return filepath.Base(file), nil
	}
	return ":memory:", nil
}

// Tables implements dialect.Surveyor: the tables of the main database, without
// SQLite's own, and without virtual ones and what they keep their data in.
func (*Dialect) Tables(ctx context.Context, s dialect.Session) ([]dialect.TableName, error) {
	rows, err := s.Query(
		ctx,
		"SELECT schema, name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
	)
	if err != nil {
		return nil, fmt.Errorf("sqlite: listing tables: %w", err)
	}
	var out []dialect.TableName
	for _, r := range rows {
		out = append(out, dialect.TableName{Schema: dialect.String(r[0]), Name: dialect.String(r[1]), Bare: true})
	}
	return out, nil
}

// Indexed implements dialect.Surveyor.
func (*Dialect) Indexed(ctx context.Context, s dialect.Session, t *rewrite.Table) ([]string, error) {
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

// Statistics implements dialect.Surveyor: there are none.
func (*Dialect) Statistics(context.Context, dialect.Session) (dialect.Statistics, error) {
	return dialect.Statistics{Source: "statement statistics", Missing: "SQLite keeps none"}, nil
}

package sqlite

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

var _ dialect.Watcher = (*Dialect)(nil)

// Marks implements dialect.Watcher. SQLite keeps every definition as the
// statement that made it, so these are compared: the table's, its indexes' and
// triggers', those of all views that name one of the tables, which may read
// it, and those of other tables that do, whose foreign keys may refer to it. What is temporary belongs to one session and is not looked at.
func (*Dialect) Marks(ctx context.Context, s dialect.Session, names []dialect.WrittenName) ([]dialect.Mark, error) {
	marks := make([]dialect.Mark, len(names))
	list, err := databases(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("sqlite: looking at the tables' definitions: %w", err)
	}
	asked, folded := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		asked[i], folded[i] = n.Name, foldName(n.Name)
	}
	for _, d := range list {
		rows, err := s.Query(ctx, "SELECT type, name, tbl_name, sql FROM "+quote(d.name)+".sqlite_schema"+
			" WHERE tbl_name COLLATE NOCASE IN "+textList(asked)+" OR type = 'view' OR type = 'table' AND sql LIKE '%REFERENCES%' ORDER BY type, name")
		if err != nil {
			return nil, fmt.Errorf("sqlite: looking at the tables' definitions: %w", err)
		}
		stored, versions := map[string]string{}, map[string]string{}
		around := ""
		for _, r := range rows {
			kind, name, table, sql := dialect.String(r[0]), dialect.String(r[1]), foldName(dialect.String(r[2])), dialect.String(r[3])
			if kind == "table" || kind == "view" {
				stored[table] = name
			}
			if (kind == "view" || kind == "table" && !slices.Contains(folded, table)) &&
				slices.ContainsFunc(names, func(n dialect.WrittenName) bool { return lex.ContainsFold(sql, lex.Spelled(n.Name)) }) {
				around += fmt.Sprintf("%q %q\n", name, sql)
			}
			versions[table] += fmt.Sprintf("%s %q %q\n", kind, name, sql)
		}
		for i, n := range names {
			name, ok := stored[foldName(n.Name)]
			if !ok || marks[i].Name != "" || n.Schema != "" && !sameName(n.Schema, d.name) {
				continue // or it is in a database that is searched before
			}
			sum := md5.Sum([]byte(versions[foldName(n.Name)] + around))
			marks[i] = dialect.Mark{Schema: d.name, Name: name, Version: hex.EncodeToString(sum[:])}
		}
	}
	return marks, nil
}

// Glance implements dialect.Watcher: every change of the schema, by whatever connection, counts up a
// number in the database's file.
func (*Dialect) Glance(ctx context.Context, s dialect.Session, _ []dialect.WrittenName, _ []dialect.Mark) (g dialect.Glance, err error) {
	list, err := databases(ctx, s)
	for i := 0; i < len(list) && err == nil; i++ {
		var rows [][]any
		if rows, err = s.Query(ctx, "PRAGMA "+quote(list[i].name)+".schema_version"); err == nil {
			g.State += fmt.Sprintf("%q %v\n", list[i], rows)
		}
	}
	if err != nil {
		return dialect.Glance{}, fmt.Errorf("sqlite: looking at the tables' definitions: %w", err)
	}
	return g, nil
}

// Server implements dialect.Watcher: there is none, and a look costs as little as finding out whose look would do.
func (*Dialect) Server(context.Context, dialect.Session) (string, error) { return "", nil }

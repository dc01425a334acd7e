package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.SessionAware = (*Dialect)(nil)

// Namespace lists what decides which table an unqualified name means: the
// temporary tables and views, which come before all others, and the databases
// in the order in which they are searched. It reads no database file (databases).
func (*Dialect) Namespace(ctx context.Context, s dialect.Session) (ns dialect.Namespace, err error) {
	temporary, err := s.Query(ctx, "SELECT name FROM temp.sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
	if err != nil {
		return ns, fmt.Errorf("sqlite: reading the names of temporary tables: %w", err)
	}
	list, err := databases(ctx, s)
	if err != nil {
		return ns, fmt.Errorf("sqlite: reading the list of databases: %w", err)
	}
	var b strings.Builder
	for _, r := range temporary {
		fmt.Fprintf(&b, "temp %q\n", dialect.String(r[0]))
	}
	for _, d := range list {
		fmt.Fprintf(&b, "%d %q %q\n", d.seq, d.name, d.file)
	}
	ns.Names = b.String()
	b.Reset()
	for _, name := range []string{
		"foreign_keys", "defer_foreign_keys", "recursive_triggers", "ignore_check_constraints", "query_only", "read_uncommitted",
	} {
		rows, err := s.Query(ctx, "PRAGMA "+name)
		if err != nil {
			return ns, fmt.Errorf("sqlite: reading %s: %w", name, err)
		}
		fmt.Fprintln(&b, rows)
	}
	ns.Settings = b.String()
	return ns, nil
}

// database is the main one or one that the session has attached.
type database struct {
	seq        int64
	name, file string
}

// databases lists them, the main one first, in the order in which they are searched. It reads no
// database file, so that in a transaction that has read nothing yet it begins no snapshot. (The
// function pragma_database_list would, as it counts as a table of the main database.)
func databases(ctx context.Context, s dialect.Session) ([]database, error) {
	rows, err := s.Query(ctx, "PRAGMA database_list")
	var out []database
	for _, r := range rows {
		if seq := number(r[0]); seq != 1 { // temp
			out = append(out, database{seq, dialect.String(r[1]), dialect.String(r[2])})
		}
	}
	return out, err
}

// Shares reports whether the database is a file: one in memory belongs to its
// connection.
func (*Dialect) Shares(ctx context.Context, s dialect.Session) (bool, error) {
	file, err := mainFile(ctx, s)
	return file != "", err
}

// mainFile returns the main database's file; "" for one in memory.
func mainFile(ctx context.Context, s dialect.Session) (string, error) {
	list, err := databases(ctx, s)
	if err != nil {
		return "", fmt.Errorf("sqlite: reading the database's file: %w", err)
	}
	for _, d := range list {
		if d.name == "main" {
			return d.file, nil
		}
	}
	return "", nil
}

func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	}
	var n int64
	_, _ = fmt.Sscan(dialect.String(v), &n)
	return n
}

package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// Namespace lists what decides which table an unqualified name means: the
// temporary tables and views, which come before all others, and the databases
// in the order in which they are searched.
func (*Dialect) Namespace(ctx context.Context, s dialect.Session) (string, error) {
	rows, err := s.Query(ctx, "SELECT 0, name, '' FROM temp.sqlite_schema WHERE type IN ('table', 'view')"+
		" UNION ALL SELECT seq, name, file FROM pragma_database_list WHERE seq <> 1 ORDER BY 1, 2")
	if err != nil {
		return "", fmt.Errorf("sqlite: read namespace: %w", err)
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%d %q %q\n", number(r[0]), text(r[1]), text(r[2]))
	}
	return b.String(), nil
}

// Shares says whether the database is a file: one in memory belongs to its
// connection.
func (*Dialect) Shares(ctx context.Context, s dialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'")
	if err != nil {
		return false, fmt.Errorf("sqlite: reading the database's file: %w", err)
	}
	return len(rows) == 1 && text(rows[0][0]) != "", nil
}

// object is a row of a schema table.
type object struct {
	schema, name, kind, sql string
}

// Table reads the facts of one table or view.
func (d *Dialect) Table(ctx context.Context, s dialect.Session, schema, name string) (*rewrite.Table, error) {
	t, err := table(ctx, s, schema, name)
	if err != nil {
		return nil, fmt.Errorf("sqlite: read table %q: %w", name, err)
	}
	return t, nil
}

func table(ctx context.Context, s dialect.Session, schema, name string) (*rewrite.Table, error) {
	o, err := find(ctx, s, schema, name)
	if o == nil || err != nil {
		return nil, err
	}
	t := &rewrite.Table{Schema: o.schema, Name: o.name, IsView: o.kind == "view", Temporary: o.schema == "temp"}
	rows, err := s.Query(ctx, "SELECT wr, strict, type FROM pragma_table_list WHERE schema = ? AND name = ?", o.schema, o.name)
	if err != nil {
		return nil, err
	}
	var withoutRowid, strict bool
	for _, r := range rows {
		withoutRowid, strict = number(r[0]) != 0, number(r[1]) != 0
	}
	t.Numbers = !withoutRowid && !t.IsView
	def := readDefinition(o.sql)
	if t.IsView {
		def = definition{understood: true}
	}
	indexes, others, err := uniqueIndexes(ctx, s, o)
	if err != nil {
		return nil, err
	}
	if err := readColumns(ctx, s, o, t, def, strict); err != nil {
		return nil, err
	}
	rowid, err := rowidAlias(ctx, s, o, indexes, withoutRowid)
	if err != nil {
		return nil, err
	}
	if rowid != "" {
		c := t.Column(rowid)
		c.Identity, c.Nullable = true, false
		t.Uniques = append(t.Uniques, rewrite.Unique{Primary: true, Columns: []string{rowid}})
	}
	t.OtherUniques = others
	addUniques(t, indexes, def)
	t.Checked = def.checkedColumns(t)
	if err := readTriggers(ctx, s, o, t); err != nil {
		return nil, err
	}
	if err := referring(ctx, s, o, t); err != nil {
		return nil, err
	}
	t.Referencing, err = referenced(ctx, s, o)
	return t, err
}

// find resolves a name in SQLite's order: temp, main, then attached databases
// in the order of attachment.
func find(ctx context.Context, s dialect.Session, schema, name string) (*object, error) {
	rows, err := s.Query(ctx, "SELECT name FROM pragma_database_list WHERE seq <> 1 ORDER BY seq")
	if err != nil {
		return nil, err
	}
	schemas := []string{"temp"}
	for _, r := range rows {
		schemas = append(schemas, text(r[0]))
	}
	for _, db := range schemas {
		if schema != "" && !sameName(schema, db) {
			continue
		}
		rows, err := s.Query(ctx, "SELECT name, type, sql FROM "+quote(db)+".sqlite_schema"+
			" WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", name)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			return &object{schema: db, name: text(r[0]), kind: text(r[1]), sql: text(r[2])}, nil
		}
	}
	return nil, nil
}

// rowidAlias returns the INTEGER PRIMARY KEY column that is the rowid itself:
// the single primary key column of a rowid table that needed no index.
// (INTEGER PRIMARY KEY DESC has an index, and is none.)
func rowidAlias(ctx context.Context, s dialect.Session, o *object, indexes []index, withoutRowid bool) (string, error) {
	if withoutRowid || o.kind == "view" {
		return "", nil
	}
	for _, x := range indexes {
		if x.primary {
			return "", nil
		}
	}
	rows, err := s.Query(ctx, "SELECT name, type FROM pragma_table_xinfo(?, ?) WHERE pk > 0", o.name, o.schema)
	if err != nil || len(rows) != 1 || !sameName(text(rows[0][1]), "INTEGER") {
		return "", err
	}
	return text(rows[0][0]), nil
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case nil:
		return ""
	}
	return fmt.Sprint(v)
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
	_, _ = fmt.Sscan(text(v), &n)
	return n
}

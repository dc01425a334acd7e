package slotsql

import (
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// schemaParser is implemented by a dialect that can read CREATE TABLE and the
// like; the packages mysql, postgres and sqlite do.
type schemaParser interface {
	ParseSchema(sql string) ([]*rewrite.Table, error)
}

// schemaFile holds the tables of a schema file in place of a database.
type schemaFile struct {
	dialect dialect.Dialect
	tables  []*rewrite.Table
	missing []string // names looked for in vain
}

func parseSchemaFile(d dialect.Dialect, sql string) (*schemaFile, error) {
	p, ok := d.(schemaParser)
	if !ok {
		return nil, fmt.Errorf("slotsql: dialect %s cannot read a schema file", d.Name())
	}
	tables, err := p.ParseSchema(sql)
	if err != nil {
		return nil, fmt.Errorf("slotsql: schema: %w", err)
	}
	return &schemaFile{dialect: d, tables: tables}, nil
}

// look finds a table as dialect.Table does. Without a schema it is the first
// of that name; a table whose own schema is unknown has any.
func (f *schemaFile) look(schema, name string) (*rewrite.Table, error) {
	same := func(a, b string) bool { return f.dialect.SameTable(rewrite.Ident{Name: a, Quoted: true}, b) }
	for _, t := range f.tables {
		if same(name, t.Name) && (schema == "" || t.Schema == "" || same(schema, t.Schema)) {
			c := *t
			return &c, nil
		}
	}
	if !slices.Contains(f.missing, name) {
		f.missing = append(f.missing, name)
	}
	return nil, nil
}

package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// SchemaFile holds the tables of a schema file in place of a database.
type SchemaFile struct {
	dialect dialect.Dialect
	tables  []*rewrite.Table
	Views   []dialect.ViewDefinition
	Missing []string // names that were looked for and not found
}

// ParseSchemaFile reads the tables and views of a file of CREATE statements.
func ParseSchemaFile(d dialect.Dialect, sql string) (*SchemaFile, error) {
	tables, err := d.ParseSchema(sql)
	if err != nil {
		return nil, fmt.Errorf("slotsql: schema: %w", err)
	}
	f := &SchemaFile{dialect: d, tables: tables}
	return f, f.readViews(sql)
}

// readViews finds the definitions of the views. One that it does not find may read
// anything.
func (f *SchemaFile) readViews(sql string) error {
	definitions := map[string]string{}
	err := dialect.EachStatement(f.dialect.LexRules(), sql, func(st dialect.SchemaStatement) error {
		if !st.Is("CREATE") || !slices.Contains(st.Words, "VIEW") {
			return nil
		}
		for _, t := range f.tables {
			if t.IsView && slices.Contains(st.Words, strings.ToUpper(t.Name)) {
				definitions[t.Name] = st.SQL
			}
		}
		return nil
	})
	for _, t := range f.tables {
		if t.IsView {
			f.Views = append(f.Views, dialect.ViewDefinition{Name: t.Name, SQL: definitions[t.Name]})
		}
	}
	return err
}

// LearnViews takes the views over a counter table into the facts.
func (f *SchemaFile) LearnViews(sc *Schema, t *rewrite.Table) error {
	for _, name := range dialect.ViewsOver(viewed(t), f.Views, dialect.SpelledAnywhere, lex.Spelled) {
		sc.views = append(sc.views, rewrite.View{Name: name, Tables: []*rewrite.Table{t}})
	}
	sc.views = append(sc.views, reachedBy(t)...)
	return nil
}

// Look finds a table as dialect.Table does. Without a schema it is the first
// of that name; a table whose own schema is unknown has any.
func (f *SchemaFile) Look(schema, name string) (*rewrite.Table, error) {
	same := func(a, b string) bool { return f.dialect.SameTable(rewrite.Ident{Name: a, Quoted: true}, b) }
	for _, t := range f.tables {
		if same(name, t.Name) && (schema == "" || t.Schema == "" || same(schema, t.Schema)) {
			c := *t
			return &c, nil
		}
	}
	if !slices.Contains(f.Missing, name) {
		f.Missing = append(f.Missing, name)
	}
	return nil, nil
}

// Package schemafile reads tables from a file of CREATE statements, such as a dump without data,
// and explains statements, checks a configuration and writes DDL for them as for a database. Its
// test TestRecorded records the tables with which tests of the library plan.
package schemafile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile/mysql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile/postgres"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile/sqlite"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/sqlfile"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/explain"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/upkeep"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// readers read the tables of a file, by the dialect's name.
var readers = map[string]func(sql string) ([]*schema.Table, error){
	"mysql":    mysql.Tables,
	"postgres": postgres.Tables,
	"sqlite":   sqlite.Tables,
}

// Tables returns the tables that the statements of a file leave behind, as the dialect reads them
// from a database in which they were run. A statement at fault gives a *sqlfile.Error.
func Tables(d dialect.Dialect, sql string) ([]*schema.Table, error) {
	read, ok := readers[d.Name()]
	if !ok {
		return nil, fmt.Errorf("there is no reader of schema files for the dialect %s", d.Name())
	}
	return read(sql)
}

// File holds the tables and views of a schema file.
type File struct {
	Tables []*schema.Table

	dialect dialect.Dialect
	views   []dialect.ViewDefinition
}

// Parse reads a schema file: CREATE TABLE, CREATE UNIQUE INDEX, CREATE TRIGGER, ALTER TABLE and
// the like. It skips other statements.
func Parse(d dialect.Dialect, sql string) (*File, error) {
	tables, err := Tables(d, sql)
	if err != nil {
		return nil, fmt.Errorf("slotsql: schema: %w", err)
	}
	f := &File{dialect: d, Tables: tables}
	return f, f.readViews(sql)
}

// readViews finds the definitions of the views. A view without one may read any table.
func (f *File) readViews(sql string) error {
	definitions := map[string]string{}
	err := sqlfile.Each(f.dialect.LexRules(), sql, func(st sqlfile.Statement) error {
		if !st.Is("CREATE") || !slices.Contains(st.Words, "VIEW") {
			return nil
		}
		for _, t := range f.Tables {
			if t.IsView && slices.Contains(st.Words, strings.ToUpper(t.Name)) {
				definitions[t.Name] = st.SQL
			}
		}
		return nil
	})
	for _, t := range f.Tables {
		if t.IsView {
			f.views = append(f.views, dialect.ViewDefinition{Name: t.Name, SQL: definitions[t.Name]})
		}
	}
	return err
}

// Look finds a table as dialect.Table does. Without a schema it is the first of that name; a table
// whose own schema is unknown matches any.
func (f *File) Look(schema, name string) (*schema.Table, error) {
	same := func(a, b string) bool { return f.dialect.SameTable(ast.Ident{Name: a, Quoted: true}, b) }
	for _, t := range f.Tables {
		if same(name, t.Name) && (schema == "" || t.Schema == "" || same(schema, t.Schema)) {
			c := *t
			return &c, nil
		}
	}
	return nil, nil
}

// viewsOver returns the names of the views that read a counter table.
func (f *File) viewsOver(t *schema.Table) []string {
	read := dialect.Viewed{Table: t, Routines: t.Counter.Options.Routines}
	return dialect.ViewsOver(read, f.views, dialect.SpelledAnywhere, lex.Spelled)
}

// Explainer explains statements without a database.
func (f *File) Explainer(cfg *config.Config) (*explain.Explainer, error) {
	return explain.NewExplainer(session.New(f.dialect, cfg), f.Look, func(sc *catalog.Schema, t *schema.Table) error {
		sc.AddViews(t, f.viewsOver(t))
		return nil
	})
}

// check finds the configured tables.
func (f *File) check(cfg *config.Config) (*session.Shared, []catalog.CheckedTable, []config.Problem, error) {
	s := session.NewFor(f.dialect, cfg, cfg.Tables())
	checked, problems, err := s.CheckTables(config.Always, f.Look)
	return s, checked, problems, err
}

// DDL returns the statements that create the slot tables: see slotsql.DDL.
func (f *File) DDL(cfg *config.Config) ([]string, error) {
	_, checked, problems, err := f.check(cfg)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, catalog.AsConfigError(problems)
	}
	return upkeep.CreateSlots(f.dialect, checked), nil
}

// StoredDDL returns the statements that create functions and views: see slotsql.StoredDDL.
func (f *File) StoredDDL(cfg *config.Config, what upkeep.Stored) ([]string, error) {
	_, checked, problems, err := f.check(cfg)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, catalog.AsConfigError(problems)
	}
	return upkeep.CreateStored(f.dialect, checked, what)
}

// Check compares the configuration with the file: see slotsql.Check. It does not check slot
// tables, and knows of views only what their definitions in the file say.
func (f *File) Check(cfg *config.Config) ([]upkeep.TableStatus, error) {
	s, checked, problems, err := f.check(cfg)
	if err != nil {
		return nil, err
	}
	var out []upkeep.TableStatus
	for _, t := range checked {
		status := upkeep.StatusOf(t, false)
		named := map[string]bool{}
		for _, written := range t.Config.Views {
			parts, _ := config.SplitName(written)
			named[parts[len(parts)-1]] = true
		}
		for _, name := range f.viewsOver(t.Table) {
			status.Views = append(status.Views, catalog.ViewStatus{View: name, Named: named[name]})
		}
		status.Unnamed = catalog.ViewsUnnamed(t.Config, status.Views)
		out = append(out, status)
	}
	return append(out, upkeep.Absent(s.Catalog, out)...), catalog.AsConfigError(problems)
}

package sqlite

import (
	"errors"
	"slices"
	"strings"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// ParseSchema reads the facts of tables from CREATE TABLE, CREATE UNIQUE
// INDEX, CREATE TRIGGER and ALTER TABLE statements, as Table reads them from a
// database in which they were run. Statements that say nothing of tables are
// skipped; an error is a *dialect.SchemaError. Views and virtual tables come
// without columns, temporary tables not at all.
func (*Dialect) ParseSchema(sql string) ([]*rewrite.Table, error) {
	s := &schemaFile{}
	if err := dialect.EachStatement(&lexRules, sql, s.statement); err != nil {
		return nil, err
	}
	s.references()
	out := make([]*rewrite.Table, len(s.tables))
	for i, t := range s.tables {
		if t.def.understood {
			addUniques(t.Table, t.uniqueIndexes(), t.def)
			t.Checked = t.def.checkedColumns(t.Table)
			t.Checks = t.def.checksOf(t.Checked)
		}
		out[i] = t.Table
	}
	return out, nil
}

// schemaFile collects the tables of a schema file, in order.
type schemaFile struct {
	tables   []*schemaTable
	foreign  []foreignKey
	triggers []string // names, folded
}

type foreignKey struct {
	from, to string
	columns  []string // that it refers to; none: the primary key
	acts     bool
}

type schemaTable struct {
	*rewrite.Table
	def     definition
	strict  bool
	indexes []schemaIndex // newest first, those that replace last
	made    int           // indexes of constraints, for their names
}

func (s *schemaFile) find(n *ast.QualifiedName) *schemaTable {
	if n.Schema != nil && !sameName(n.Schema.Name, "main") {
		return nil
	}
	return s.named(n.Name.Name)
}

func (s *schemaFile) named(name string) *schemaTable {
	for _, t := range s.tables {
		if sameName(t.Name, name) {
			return t
		}
	}
	return nil
}

func (s *schemaFile) statement(st dialect.SchemaStatement) error {
	n, err := parseOne(st.SQL)
	if err != nil {
		if st.Is("CREATE", "TABLE") || st.Is("ALTER", "TABLE") || st.Is("CREATE", "UNIQUE") || st.Is("CREATE", "TRIGGER") {
			return err
		}
		return nil
	}
	switch n := n.(type) {
	case *ast.CreateTableStmt:
		return s.create(n, st.SQL)
	case *ast.CreateViewStmt:
		if !n.Temp {
			s.add(n.Name, &schemaTable{Table: &rewrite.Table{IsView: true}})
		}
	case *ast.CreateVirtualTableStmt:
		s.add(n.Name, &schemaTable{Table: &rewrite.Table{}})
	case *ast.CreateIndexStmt:
		return s.index(n)
	case *ast.CreateTriggerStmt:
		s.trigger(n, st.SQL)
	case *ast.AlterTableStmt:
		return s.alter(n)
	case *ast.DropTableStmt:
		gone := s.find(n.Name)
		s.tables = slices.DeleteFunc(s.tables, func(t *schemaTable) bool { return t == gone })
	case *ast.DropIndexStmt:
		for _, t := range s.tables {
			t.indexes = slices.DeleteFunc(t.indexes, func(x schemaIndex) bool { return sameName(x.name, n.Name.Name.Name) })
		}
	}
	return nil
}

// add adds a table, unless there is one of that name: the statement then says
// IF NOT EXISTS, or would fail.
func (s *schemaFile) add(name *ast.QualifiedName, t *schemaTable) bool {
	t.Schema, t.Name = "main", name.Name.Name
	if name.Schema != nil && !sameName(name.Schema.Name, "main") || s.named(t.Name) != nil {
		return false
	}
	s.tables = append(s.tables, t)
	return true
}

//nolint:funlen // one case for each part of CREATE TABLE
func (s *schemaFile) create(n *ast.CreateTableStmt, sql string) error {
	if n.Temp || n.Name.Schema != nil && sameName(n.Name.Schema.Name, "temp") {
		return nil
	}
	if n.Select != nil {
		return errors.New("the columns of CREATE TABLE ... AS SELECT are not known without the database: write them out")
	}
	t := &schemaTable{Table: &rewrite.Table{}, def: newDefinition()}
	t.def.understood, t.def.sql = true, sql
	if !s.add(n.Name, t) {
		return nil
	}
	withoutRowid := false
	for _, o := range n.Options {
		withoutRowid = withoutRowid || o.Without
		t.strict = t.strict || sameName(o.Name.Name, "STRICT")
	}
	t.Numbers = !withoutRowid
	rowid := ""
	var primary []string
	for _, c := range n.Columns {
		s.column(t, c)
		name := c.Name.Name
		for _, k := range c.Constraints {
			switch k.Kind {
			case ast.ColumnPrimaryKey:
				primary = []string{name}
				if k.Order != ast.SortDesc && sameName(declaredType(c), "INTEGER") {
					rowid = name
					continue
				}
				t.constraint(true, k.OnConflict, primary, nil)
			case ast.ColumnUnique:
				t.constraint(false, k.OnConflict, []string{name}, nil)
			}
		}
	}
	for _, k := range n.Constraints {
		if k.References != nil {
			s.reference(t, k.References)
			for _, c := range k.FKColumns {
				if i := slices.IndexFunc(t.Columns, func(o rewrite.Column) bool { return sameName(o.Name, c.Name.Name) }); i >= 0 {
					t.Refer(t.Columns[i].Name)
				}
			}
		}
		if k.Kind != ast.TablePrimaryKey && k.Kind != ast.TableUnique {
			continue
		}
		columns, collations, ok := t.terms(k.Columns)
		if !ok {
			return errors.New("a key of the table is on a column that does not exist")
		}
		if k.Kind == ast.TablePrimaryKey {
			primary = columns
			if len(columns) == 1 && sameName(declaredTypeOf(n, columns[0]), "INTEGER") {
				rowid = columns[0]
				continue
			}
		}
		t.constraint(k.Kind == ast.TablePrimaryKey, k.OnConflict, columns, collations)
	}
	if withoutRowid && rowid != "" {
		t.constraint(true, ast.ConflictDefault, []string{rowid}, nil)
		rowid = ""
	}
	if withoutRowid || t.strict {
		for _, name := range primary {
			t.Column(name).Nullable = false
		}
	}
	if rowid != "" {
		c := t.Column(rowid)
		c.Identity, c.Nullable = true, false
		t.Uniques = append(t.Uniques, rewrite.Unique{Primary: true, Columns: []string{rowid}})
	}
	t.def.create(n)
	t.finish()
	return nil
}

// finish fills in what depends on all columns.
func (t *schemaTable) finish() {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Generated {
			c.DependsOn = t.def.dependsOn(c.Name, t.Table)
			t.AddGenerated(i, t.def.computed[foldName(c.Name)])
		}
	}
}

func (s *schemaFile) reference(t *schemaTable, k *ast.ForeignKeyClause) {
	f := foreignKey{from: t.Name, to: k.Table.Name}
	for _, a := range k.Args {
		f.acts = f.acts || a.Match == nil && a.Event != "INSERT" && a.Action != ast.FKNoAction && a.Action != ast.FKRestrict
	}
	for _, c := range k.Columns {
		f.columns = append(f.columns, c.Name.Name)
	}
	s.foreign = append(s.foreign, f)
}

// references notes which tables and columns are referenced, slotsql's own
// slot tables left out.
func (s *schemaFile) references() {
	for _, k := range s.foreign {
		to := s.named(k.to)
		if to == nil || slices.Contains(s.triggers, foldName(triggerPrefix+k.from+"_delete")) {
			continue
		}
		if s.named(k.from) == nil {
			continue
		}
		to.ForeignKeys.Referenced = to.ForeignKeys.Referenced || k.acts
		for _, name := range k.columns {
			target(to.Table, name)
		}
	}
}

func (s *schemaFile) trigger(n *ast.CreateTriggerStmt, sql string) {
	if n.Temp {
		return
	}
	s.triggers = append(s.triggers, foldName(n.Name.Name.Name))
	if slots, ok := ownTrigger(n.Name.Name.Name); ok && s.named(slots) != nil && strings.Contains(sql, quote(slots)) {
		return
	}
	if t := s.find(n.Table); t != nil {
		t.Triggers.Update = t.Triggers.Update || strings.EqualFold(n.Event, "UPDATE")
		t.Triggers.Delete = t.Triggers.Delete || strings.EqualFold(n.Event, "DELETE")
		t.Triggers.Insert = t.Triggers.Insert || strings.EqualFold(n.Event, "INSERT")
	}
}

func (s *schemaFile) alter(n *ast.AlterTableStmt) error {
	t := s.find(n.Table)
	if t == nil {
		return errors.New("the table is not defined earlier in the schema file")
	}
	switch n.Action {
	case ast.AlterRenameTable:
		for i, x := range t.indexes {
			if rest, ok := strings.CutPrefix(x.name, autoindex+t.Name+"_"); ok {
				t.indexes[i].name = autoindex + n.NewName.Name + "_" + rest
			}
		}
		t.Name = n.NewName.Name
	case ast.AlterAddColumn:
		s.column(t, n.ColumnDef)
		t.finish()
	case ast.AlterSetNotNull, ast.AlterDropNotNull:
		for i := range t.Columns {
			if sameName(t.Columns[i].Name, n.Column.Name) {
				t.Columns[i].Nullable = n.Action == ast.AlterDropNotNull
			}
		}
	case ast.AlterAddConstraintCheck:
		namesIn(n.Expr, t.def.checked)
		t.def.checks = append(t.def.checks, "")
	default:
		return errors.New("this form of ALTER TABLE is not supported in a schema file: write the table's final definition")
	}
	return nil
}

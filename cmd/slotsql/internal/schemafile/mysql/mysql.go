// Package mysql reads schema files of MySQL and MariaDB.
package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/sqlfile"
	dialect "github.com/slotsql/slotsql/dialect/mysql"
	neutral "github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Tables reads the facts of tables from CREATE TABLE, CREATE UNIQUE
// INDEX, CREATE TRIGGER and ALTER TABLE statements, as the dialect reads them from a
// database in which they were run. Statements that say nothing of tables are
// skipped; an error is a *sqlfile.Error. Views come without columns,
// temporary tables not at all.
//
// What the server adds is not known: a type has no display width, and no
// character set or collation that the statement does not give; and a JSON column
// has no CHECK, as MariaDB's has. Schema is empty for a table that is created
// without one before any USE.
func Tables(sql string) ([]*schema.Table, error) {
	d := dialect.New()
	s := &file{d: d, lexRules: d.LexRules()}
	if err := sqlfile.Each(s.lexRules, unwrapComments(s.lexRules, sql), s.statement); err != nil {
		return nil, err
	}
	out := make([]*schema.Table, len(s.tables))
	for i, t := range s.tables {
		t.finish()
		out[i] = t.Table
	}
	for _, k := range s.foreign {
		if t := s.find(k.schema, k.table); t != nil {
			t.ForeignKeys.Referenced = t.ForeignKeys.Referenced || k.acts
			for _, c := range k.columns {
				if at := t.named(c); at >= 0 {
					t.Target(t.Columns[at].Name)
				}
			}
		}
	}
	return out, nil
}

// file collects the tables of a schema file, in order.
type file struct {
	d        *dialect.Dialect
	lexRules *lex.Rules
	current  string // database
	tables   []*table
	foreign  []foreignKey
}

// foreignKey is what one refers to, and whether it has actions.
type foreignKey struct {
	schema, table string
	columns       []string
	acts          bool
}

func (s *file) schema(name string) string {
	if name == "" {
		return s.current
	}
	return name
}

func (s *file) find(schema, name string) *table {
	for _, t := range s.tables {
		if t.Schema == s.schema(schema) && s.d.SameTable(neutral.Ident{Name: name}, t.Name) {
			return t
		}
	}
	return nil
}

// add adds a table, unless there is one of that name: the statement then says
// IF NOT EXISTS, or would fail.
func (s *file) add(name *ast.TableName, t *table) {
	t.Schema, t.Name = s.schema(name.Schema.O), name.Name.O
	if s.find(t.Schema, t.Name) == nil {
		s.tables = append(s.tables, t)
	}
}

func (s *file) drop(name *ast.TableName) {
	gone := s.find(name.Schema.O, name.Name.O)
	s.tables = slices.DeleteFunc(s.tables, func(t *table) bool { return t == gone })
}

func (s *file) statement(st sqlfile.Statement) error {
	if len(st.Words) == 0 || !slices.Contains([]string{"CREATE", "ALTER", "DROP", "RENAME", "USE"}, st.Words[0]) {
		return nil
	}
	if st.Words[0] == "CREATE" && slices.Contains(st.Words, "TRIGGER") {
		return s.trigger(st.SQL)
	}
	n, err := s.parse(st.SQL)
	if err != nil {
		kind := ""
		if len(st.Words) > 1 {
			kind = st.Words[1]
		}
		if kind == "TABLE" || kind == "UNIQUE" || kind == "OR" || st.Is("ALTER", "IGNORE") {
			return err
		}
		return nil
	}
	switch n := n.(type) {
	case *ast.UseStmt:
		s.current = n.DBName
	case *ast.CreateTableStmt:
		return s.create(n)
	case *ast.CreateViewStmt:
		if n.OrReplace {
			s.drop(n.ViewName)
		}
		s.add(n.ViewName, &table{Table: &schema.Table{IsView: true}})
	case *ast.CreateIndexStmt:
		if t := s.find(n.Table.Schema.O, n.Table.Name.O); t != nil {
			return t.key(n.IndexName, false, n.KeyType == ast.IndexKeyTypeUnique, n.IndexPartSpecifications)
		}
	case *ast.DropTableStmt:
		if n.TemporaryKeyword == ast.TemporaryNone {
			for _, name := range n.Tables {
				s.drop(name)
			}
		}
	case *ast.DropIndexStmt:
		if t := s.find(n.Table.Schema.O, n.Table.Name.O); t != nil {
			t.dropKey(n.IndexName)
		}
	case *ast.RenameTableStmt:
		for _, r := range n.TableToTables {
			if t := s.find(r.OldTable.Schema.O, r.OldTable.Name.O); t != nil {
				t.Schema, t.Name = s.schema(r.NewTable.Schema.O), r.NewTable.Name.O
			}
		}
	case *ast.AlterTableStmt:
		return s.alter(n)
	}
	return nil
}

func (s *file) create(n *ast.CreateTableStmt) error {
	if n.TemporaryKeyword != ast.TemporaryNone {
		return nil
	}
	if n.Select != nil {
		return errors.New("the columns of CREATE TABLE ... SELECT are not known without the database: write them out")
	}
	t := &table{Table: &schema.Table{}, generated: map[string]expression{}}
	if n.ReferTable != nil {
		from := s.find(n.ReferTable.Schema.O, n.ReferTable.Name.O)
		if from == nil {
			return fmt.Errorf("table %q is not defined earlier in the schema file", n.ReferTable.Name.O)
		}
		t = from.like()
	}
	t.options(n.Options)
	if n.Partition != nil {
		t.partition(n.Partition)
	}
	for _, c := range n.Cols {
		if err := s.column(t, c, len(t.Columns)); err != nil {
			return err
		}
	}
	for _, k := range n.Constraints {
		if err := s.constraint(t, k); err != nil {
			return err
		}
	}
	s.add(n.Table, t)
	return nil
}

func (s *file) constraint(t *table, k *ast.Constraint) error {
	switch k.Tp {
	case ast.ConstraintPrimaryKey:
		return t.key("PRIMARY", true, true, k.Keys)
	case ast.ConstraintUniq, ast.ConstraintUniqKey, ast.ConstraintUniqIndex:
		return t.key(k.Name, false, true, k.Keys)
	case ast.ConstraintKey, ast.ConstraintIndex, ast.ConstraintFulltext:
		return t.key(k.Name, false, false, k.Keys)
	case ast.ConstraintCheck:
		t.checks = append(t.checks, expressionOf(k.Expr))
	case ast.ConstraintForeignKey:
		if !strings.HasPrefix(k.Name, "slotsql_") {
			s.reference(k.Refer)
			var columns []string
			for _, p := range k.Keys {
				if i := t.named(p.Column.Name.O); i >= 0 {
					columns = append(columns, t.Columns[i].Name)
				}
			}
			t.Refer(columns...)
			t.referring = append(t.referring, columns)
		}
	}
	return nil
}

func (s *file) reference(r *ast.ReferenceDef) {
	acts := func(o ast.ReferOptionType) bool {
		return o == ast.ReferOptionCascade || o == ast.ReferOptionSetNull || o == ast.ReferOptionSetDefault
	}
	if r == nil {
		return
	}
	k := foreignKey{schema: s.schema(r.Table.Schema.O), table: r.Table.Name.O}
	k.acts = r.OnDelete != nil && acts(r.OnDelete.ReferOpt) || r.OnUpdate != nil && acts(r.OnUpdate.ReferOpt)
	for _, p := range r.IndexPartSpecifications {
		if p.Column != nil {
			k.columns = append(k.columns, p.Column.Name.O)
		}
	}
	s.foreign = append(s.foreign, k)
}

// trigger reads CREATE TRIGGER, which the parser does not know.
func (s *file) trigger(sql string) error {
	toks := lex.Tokens(s.lexRules, sql)
	word := func(i int) string {
		if i < len(toks) && toks[i].Kind == lex.Word {
			return strings.ToUpper(sql[toks[i].Start:toks[i].End])
		}
		return ""
	}
	i := 0
	for i < len(toks) && word(i) != "TRIGGER" {
		i++
	}
	for i < len(toks) && word(i) != "BEFORE" && word(i) != "AFTER" {
		i++
	}
	update, remove, insert := false, false, false
	for i++; i < len(toks) && word(i) != "ON"; i++ {
		update, remove, insert = update || word(i) == "UPDATE", remove || word(i) == "DELETE", insert || word(i) == "INSERT"
	}
	name := ""
	schema := ""
	for i++; i < len(toks); i += 2 {
		part := sql[toks[i].Start:toks[i].End]
		if toks[i].Kind == lex.QuotedIdent {
			part = strings.ReplaceAll(part[1:len(part)-1], "``", "`")
		}
		schema, name = name, part
		if i+1 >= len(toks) || sql[toks[i+1].Start:toks[i+1].End] != "." {
			break
		}
	}
	t := s.find(schema, name)
	if t == nil {
		return fmt.Errorf("table %q is not defined earlier in the schema file", name)
	}
	t.Triggers.Update = t.Triggers.Update || update
	t.Triggers.Delete = t.Triggers.Delete || remove
	t.Triggers.Insert = t.Triggers.Insert || insert
	return nil
}

// Package postgres reads schema files of PostgreSQL.
package postgres

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/sqlfile"
	dialect "github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Tables reads the facts of tables from CREATE TABLE, CREATE UNIQUE
// INDEX, CREATE DOMAIN, CREATE TRIGGER and ALTER TABLE statements, as the dialect
// reads them from a database in which they were run. Statements that say
// nothing of tables are skipped; an error is a *sqlfile.Error. Views
// come without columns, temporary tables not at all. A table without a schema
// is in that of the last SET search_path, at first in public; tables of public
// come first.
func Tables(sql string) ([]*schema.Table, error) {
	s := &file{current: "public", domains: map[string]*domain{}, names: map[string]bool{}, collations: map[string]string{}}
	if err := sqlfile.Each(dialect.New().LexRules(), sql, s.statement); err != nil {
		return nil, err
	}
	for _, k := range s.foreign {
		if t := s.find(k); t != nil {
			t.ForeignKeys.Referenced = true
		}
	}
	out := make([]*schema.Table, len(s.tables))
	for _, t := range s.tables {
		t.relate()
	}
	for i, t := range s.tables {
		t.finish()
		out[i] = t.Table
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Schema == "public" && out[j].Schema != "public" })
	return out, nil
}

// file collects the tables of a schema file, in order.
type file struct {
	current    string // schema
	tables     []*table
	domains    map[string]*domain
	collations map[string]string // schema by name
	names      map[string]bool   // schema.name of tables and indexes
	foreign    []*ast.RangeVar   // tables referenced with actions
}

// domain is a type that CREATE DOMAIN makes.
type domain struct {
	name      string // as an expression is cast to it
	base      *ast.TypeName
	collation *ast.CollateClause
	checked   bool
}

func (s *file) schema(name string) string {
	if name == "" {
		return s.current
	}
	return name
}

func (s *file) find(r *ast.RangeVar) *table {
	for _, t := range s.tables {
		if t.Name == r.GetRelname() && t.Schema == s.schema(r.GetSchemaname()) {
			return t
		}
	}
	return nil
}

func (s *file) table(r *ast.RangeVar) (*table, error) {
	if t := s.find(r); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("table %q is not defined earlier in the schema file", r.GetRelname())
}

// add adds a table, unless there is one of that name: the statement then says
// IF NOT EXISTS, or would fail.
func (s *file) add(r *ast.RangeVar, t *table) bool {
	t.Schema, t.Name = s.schema(r.Schemaname), r.Relname
	if s.find(r) != nil {
		return false
	}
	s.tables = append(s.tables, t)
	s.names[t.Schema+"."+t.Name] = true
	return true
}

func (s *file) statement(st sqlfile.Statement) error {
	if len(st.Words) < 2 || !slices.Contains([]string{"CREATE", "ALTER", "DROP", "SET"}, st.Words[0]) {
		return nil
	}
	node, err := dialect.ParseTree(st.SQL)
	if err != nil {
		switch st.Words[1] {
		case "TABLE", "UNLOGGED", "UNIQUE", "DOMAIN", "TRIGGER":
			return err
		}
		return nil
	}
	switch n := node.GetNode().(type) {
	case *ast.Node_VariableSetStmt:
		s.set(n.VariableSetStmt)
	case *ast.Node_CreateStmt:
		return s.create(n.CreateStmt)
	case *ast.Node_CreateForeignTableStmt:
		s.add(n.CreateForeignTableStmt.BaseStmt.Relation, &table{Table: &schema.Table{IsView: true}})
	case *ast.Node_ViewStmt:
		if v := n.ViewStmt.View; v.Relpersistence != "t" {
			s.add(v, &table{Table: &schema.Table{IsView: true}})
		}
	case *ast.Node_CreateTableAsStmt:
		into := n.CreateTableAsStmt.Into.Rel
		switch {
		case n.CreateTableAsStmt.Objtype == ast.ObjectType_OBJECT_MATVIEW:
			s.add(into, &table{Table: &schema.Table{IsView: true}})
		case into.Relpersistence != "t":
			return errors.New("the columns of CREATE TABLE ... AS are not known without the database: write them out")
		}
	case *ast.Node_CreateDomainStmt:
		s.domain(n.CreateDomainStmt)
	case *ast.Node_DefineStmt:
		if n.DefineStmt.Kind == ast.ObjectType_OBJECT_COLLATION {
			schema, name := lastTwo(n.DefineStmt.Defnames)
			s.collations[name] = s.schema(schema)
		}
	case *ast.Node_IndexStmt:
		return s.index(n.IndexStmt)
	case *ast.Node_CreateTrigStmt:
		return s.trigger(n.CreateTrigStmt)
	case *ast.Node_RuleStmt:
		if t := s.find(n.RuleStmt.Relation); t != nil {
			t.Triggers.UpdateRule = t.Triggers.UpdateRule || n.RuleStmt.Event == ast.CmdType_CMD_UPDATE
			t.Triggers.Ruled = t.Triggers.Ruled || t.Triggers.UpdateRule
			t.Triggers.Update = t.Triggers.Update || t.Triggers.Ruled
			t.Triggers.Delete = t.Triggers.Delete || n.RuleStmt.Event == ast.CmdType_CMD_DELETE
		}
	case *ast.Node_DropStmt:
		s.drop(n.DropStmt)
	case *ast.Node_RenameStmt:
		return s.rename(n.RenameStmt)
	case *ast.Node_AlterTableStmt:
		if n.AlterTableStmt.Objtype == ast.ObjectType_OBJECT_TABLE {
			return s.alter(n.AlterTableStmt)
		}
	}
	return nil
}

// lastTwo returns the last two parts of a name.
func lastTwo(parts []*ast.Node) (schema, name string) {
	for _, p := range parts {
		schema, name = name, p.GetString_().GetSval()
	}
	return schema, name
}

func (s *file) set(n *ast.VariableSetStmt) {
	if n.Name != "search_path" {
		return
	}
	s.current = "public"
	for _, a := range n.Args {
		if name := a.GetAConst().GetSval().GetSval(); name != "" && name != "$user" && name != "pg_catalog" {
			s.current = name
			return
		}
	}
}

func (s *file) domain(n *ast.CreateDomainStmt) {
	d := &domain{base: n.TypeName, collation: n.CollClause}
	for _, c := range n.Constraints {
		d.checked = d.checked || c.GetConstraint().GetContype() == ast.ConstrType_CONSTR_CHECK
	}
	schema, name := lastTwo(n.Domainname)
	if schema == "" {
		schema = s.current
	}
	d.name = quote(schema) + "." + quote(name)
	s.domains[name] = d
}

func (s *file) create(n *ast.CreateStmt) error {
	if n.Relation.Relpersistence == "t" {
		return nil
	}
	if n.OfTypename != nil {
		return errors.New("a typed table is not supported in a schema file: write its columns out")
	}
	t := &table{Table: &schema.Table{Storage: schema.Storage{Unlogged: n.Relation.Relpersistence == "u"}}}
	if !s.add(n.Relation, t) {
		return nil
	}
	for _, p := range n.InhRelations {
		from, err := s.table(p.GetRangeVar())
		if err != nil {
			return err
		}
		t.inherit(from)
		t.parents = append(t.parents, from)
		if n.Partbound == nil {
			from.Storage.Inherited = true
			continue
		}
		t.partOf = from
		for _, k := range from.keys {
			k.name = ""
			t.pending = append(t.pending, k)
		}
	}
	for _, e := range n.TableElts {
		switch {
		case e.GetColumnDef() != nil:
			if err := s.column(t, e.GetColumnDef()); err != nil {
				return err
			}
		case e.GetConstraint() != nil:
			if err := s.constraint(t, e.GetConstraint()); err != nil {
				return err
			}
		default:
			return errors.New("LIKE is not supported in a schema file: write the columns out")
		}
	}
	for _, p := range n.Partspec.GetPartParams() {
		e := p.GetPartitionElem()
		t.parted = append(t.parted, columnsIn(t, e.GetExpr())...)
		if e.GetName() != "" {
			t.parted = append(t.parted, e.GetName())
		}
	}
	return s.flush(t)
}

func (s *file) trigger(n *ast.CreateTrigStmt) error {
	t, err := s.table(n.Relation)
	if err != nil || strings.HasPrefix(n.Trigname, "slotsql_") {
		return err
	}
	const insert, remove, update = 1 << 2, 1 << 3, 1 << 4 // TRIGGER_TYPE_INSERT, _DELETE, _UPDATE
	t.Triggers.Update = t.Triggers.Update || n.Events&update != 0
	t.Triggers.Delete = t.Triggers.Delete || n.Events&remove != 0
	t.Triggers.Insert = t.Triggers.Insert || n.Events&insert != 0
	return nil
}

package postgres

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sqlc-dev/oliphant/ast"
)

// This file follows what a schema file does to tables that it has created.

func (s *file) drop(n *ast.DropStmt) {
	for _, o := range n.Objects {
		schema, name := lastTwo(o.GetList().GetItems())
		schema = s.schema(schema)
		switch n.RemoveType {
		case ast.ObjectType_OBJECT_TABLE, ast.ObjectType_OBJECT_VIEW, ast.ObjectType_OBJECT_MATVIEW, ast.ObjectType_OBJECT_FOREIGN_TABLE:
			delete(s.names, schema+"."+name)
			s.tables = slices.DeleteFunc(s.tables, func(t *table) bool { return t.Schema == schema && t.Name == name })
		case ast.ObjectType_OBJECT_INDEX:
			for _, t := range s.tables {
				t.keys = slices.DeleteFunc(t.keys, func(k index) bool { return t.Schema == schema && k.name == name })
			}
		}
	}
}

func (s *file) rename(n *ast.RenameStmt) error {
	switch n.RenameType {
	case ast.ObjectType_OBJECT_TABLE:
		t, err := s.table(n.Relation)
		if err == nil {
			t.Name = n.Newname
			s.names[t.Schema+"."+t.Name] = true
		}
		return err
	case ast.ObjectType_OBJECT_COLUMN:
		t, err := s.table(n.Relation)
		if err == nil && n.RelationType == ast.ObjectType_OBJECT_TABLE {
			t.rename(n.Subname, n.Newname)
		}
		return err
	case ast.ObjectType_OBJECT_INDEX, ast.ObjectType_OBJECT_TABCONSTRAINT:
		old := n.Subname
		if old == "" {
			old = n.Relation.GetRelname()
		}
		for _, t := range s.tables {
			for i := range t.keys {
				if t.Schema == s.schema(n.Relation.GetSchemaname()) && t.keys[i].name == old {
					t.keys[i].name = n.Newname
				}
			}
		}
	}
	return nil
}

// alter applies ALTER TABLE. What it does not know it refuses.
func (s *file) alter(n *ast.AlterTableStmt) error {
	t, err := s.table(n.Relation)
	if err != nil {
		return err
	}
	for _, c := range n.Cmds {
		if err := s.change(t, c.GetAlterTableCmd()); err != nil {
			return err
		}
	}
	return s.flush(t)
}

//nolint:funlen // one case for each kind of change
func (s *file) change(t *table, c *ast.AlterTableCmd) error {
	col := t.Column(c.Name)
	needed := func() error {
		if col == nil {
			return fmt.Errorf("table %q has no column %q", t.Name, c.Name)
		}
		return nil
	}
	switch c.Subtype {
	case ast.AlterTableType_AT_AddColumn:
		def := c.Def.GetColumnDef()
		if c.MissingOk && t.Column(def.Colname) != nil {
			return nil
		}
		return s.column(t, def)
	case ast.AlterTableType_AT_AddConstraint:
		return s.constraint(t, c.Def.GetConstraint())
	case ast.AlterTableType_AT_DropConstraint:
		t.keys = slices.DeleteFunc(t.keys, func(k index) bool { return k.name == c.Name })
		t.checks = slices.DeleteFunc(t.checks, func(k check) bool { return k.name == c.Name })
	case ast.AlterTableType_AT_ColumnDefault:
		if err := needed(); err != nil {
			return err
		}
		col.Identity, col.HasDefault = isNextval(c.Def), isValue(c.Def)
	case ast.AlterTableType_AT_SetNotNull, ast.AlterTableType_AT_DropNotNull:
		if err := needed(); err != nil {
			return err
		}
		col.Nullable = c.Subtype == ast.AlterTableType_AT_DropNotNull
	case ast.AlterTableType_AT_AddIdentity, ast.AlterTableType_AT_SetIdentity, ast.AlterTableType_AT_DropIdentity:
		if err := needed(); err != nil {
			return err
		}
		col.Identity = c.Subtype != ast.AlterTableType_AT_DropIdentity
		col.Always = col.Identity && alwaysIdentity(c.Def, col.Always)
	case ast.AlterTableType_AT_AlterColumnType:
		if err := needed(); err != nil {
			return err
		}
		def := c.Def.GetColumnDef()
		return s.describe(t, col, def.TypeName, def.CollClause)
	case ast.AlterTableType_AT_EnableRowSecurity:
		t.secured = true
	case ast.AlterTableType_AT_DisableRowSecurity:
		t.secured = false
	case ast.AlterTableType_AT_AttachPartition:
		part, err := s.table(c.Def.GetPartitionCmd().Name)
		if err != nil {
			return err
		}
		part.partOf, part.parents = t, []*table{t}
	case ast.AlterTableType_AT_SetStatistics,
		ast.AlterTableType_AT_SetOptions,
		ast.AlterTableType_AT_ResetOptions,
		ast.AlterTableType_AT_SetStorage,
		ast.AlterTableType_AT_SetCompression,
		ast.AlterTableType_AT_ValidateConstraint,
		ast.AlterTableType_AT_ChangeOwner,
		ast.AlterTableType_AT_ClusterOn,
		ast.AlterTableType_AT_DropCluster,
		ast.AlterTableType_AT_SetLogged,
		ast.AlterTableType_AT_SetUnLogged,
		ast.AlterTableType_AT_SetAccessMethod,
		ast.AlterTableType_AT_SetTableSpace,
		ast.AlterTableType_AT_SetRelOptions,
		ast.AlterTableType_AT_ResetRelOptions,
		ast.AlterTableType_AT_ReplicaIdentity,
		ast.AlterTableType_AT_ForceRowSecurity,
		ast.AlterTableType_AT_NoForceRowSecurity,
		ast.AlterTableType_AT_EnableTrig:
	default:
		return errors.New("this form of ALTER TABLE is not supported in a schema file: write the table's final definition")
	}
	return nil
}

// generatedAlways marks a column that is GENERATED ALWAYS AS IDENTITY.
const generatedAlways = "a"

// alwaysIdentity reads ADD GENERATED ... AS IDENTITY and SET GENERATED.
func alwaysIdentity(def *ast.Node, before bool) bool {
	if c := def.GetConstraint(); c != nil {
		return c.GeneratedWhen == generatedAlways
	}
	for _, n := range def.GetList().GetItems() {
		if o := n.GetDefElem(); o.GetDefname() == "generated" {
			return o.GetArg().GetInteger().GetIval() == int32(generatedAlways[0])
		}
	}
	return before
}

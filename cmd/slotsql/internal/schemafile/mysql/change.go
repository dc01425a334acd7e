package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// alter applies ALTER TABLE. What it does not know it refuses.
func (s *file) alter(n *ast.AlterTableStmt) error {
	t := s.find(n.Table.Schema.O, n.Table.Name.O)
	if t == nil {
		return fmt.Errorf("table %q is not defined earlier in the schema file", n.Table.Name.O)
	}
	for _, a := range n.Specs {
		if err := s.change(t, a); err != nil {
			return err
		}
	}
	return nil
}

func (s *file) change(t *table, a *ast.AlterTableSpec) error {
	switch a.Tp {
	case ast.AlterTableAddColumns:
		for _, c := range a.NewColumns {
			if t.named(c.Name.Name.O) >= 0 && a.IfNotExists {
				continue
			}
			if err := s.column(t, c, t.position(a.Position, len(t.Columns))); err != nil {
				return err
			}
		}
		for _, k := range a.NewConstraints {
			if err := s.constraint(t, k); err != nil {
				return err
			}
		}
	case ast.AlterTableAddConstraint:
		return s.constraint(t, a.Constraint)
	case ast.AlterTableModifyColumn, ast.AlterTableChangeColumn:
		c := a.NewColumns[0]
		old := c.Name.Name.O
		if a.OldColumnName != nil {
			old = a.OldColumnName.Name.O
		}
		at := t.named(old)
		if at < 0 {
			return fmt.Errorf("table %q has no column %q", t.Name, old)
		}
		if old = t.Columns[at].Name; !strings.EqualFold(old, c.Name.Name.O) && len(t.checks)+len(t.generated) > 0 {
			return errors.New(
				"renaming a column of a table with expressions is not supported in a schema file: write the table's final definition",
			)
		}
		delete(t.generated, old)
		t.Columns = slices.Delete(t.Columns, at, at+1)
		for i := range t.keys {
			t.keys[i].rename(old, c.Name.Name.O)
		}
		return s.column(t, c, t.position(a.Position, at))
	case ast.AlterTableDropPrimaryKey:
		t.dropKey("PRIMARY")
	case ast.AlterTableDropIndex:
		t.dropKey(a.Name)
	case ast.AlterTableRenameTable:
		t.Schema, t.Name = s.schema(a.NewTable.Schema.O), a.NewTable.Name.O
	case ast.AlterTableOption:
		t.options(a.Options)
	case ast.AlterTablePartition, ast.AlterTableRemovePartitioning:
		t.partition(a.Partition)
	case ast.AlterTableDropForeignKey, ast.AlterTableLock, ast.AlterTableAlgorithm, ast.AlterTableForce, ast.AlterTableEnableKeys,
		ast.AlterTableDisableKeys, ast.AlterTableWithValidation, ast.AlterTableWithoutValidation, ast.AlterTableOrderByColumns,
		ast.AlterTableAddPartitions, ast.AlterTableDropPartition, ast.AlterTableIndexInvisible:
	default:
		return errors.New("this form of ALTER TABLE is not supported in a schema file: write the table's final definition")
	}
	return nil
}

// partition takes over PARTITION BY.
func (t *table) partition(p *ast.PartitionOptions) {
	t.Storage.Partitioned, t.parted = p != nil, nil
	if p == nil {
		return
	}
	for _, m := range []*ast.PartitionMethod{&p.PartitionMethod, p.Sub} {
		if m == nil {
			continue
		}
		for _, c := range m.ColumnNames {
			t.parted = append(t.parted, c.Name.O)
		}
		if m.Expr != nil {
			t.parted = append(t.parted, columnsOf(m.Expr)...)
		}
	}
}

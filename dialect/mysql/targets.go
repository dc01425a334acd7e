package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.TargetFinder = (*Dialect)(nil)

// Targets implements dialect.TargetFinder. InnoDB lets a foreign key refer to the first
// columns of any index. MariaDB opens every table of the database that is asked about, so it
// is asked about that of the tables alone; a foreign key from another one it does not tell.
// slotsql's own are of key columns, and left out.
func (d *Dialect) Targets(ctx context.Context, s dialect.Session, tables []*schema.Table) error {
	srv, err := d.ask(ctx, s)
	if err != nil {
		return err
	}
	bySchema := map[string][]*schema.Table{}
	for _, t := range tables {
		bySchema[t.Schema] = append(bySchema[t.Schema], t)
	}
	for schema, tables := range bySchema {
		var names []string
		for _, t := range tables {
			names = append(names, t.Name)
		}
		query := "SELECT REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE" +
			" WHERE REFERENCED_TABLE_SCHEMA = " + nameLiteral(schema) + " AND REFERENCED_TABLE_NAME IN " + literals(names) +
			" AND CONSTRAINT_NAME NOT LIKE '" + constraintPrefix + "%'"
		if srv.mariaDB {
			query += " AND TABLE_SCHEMA = " + nameLiteral(schema)
		}
		rows, err := s.Query(ctx, query)
		if err != nil {
			return fmt.Errorf("reading foreign keys to tables of %s: %w", schema, err)
		}
		for _, r := range rows {
			for _, t := range tables {
				if !srv.folds && t.Name != dialect.String(r[0]) || !strings.EqualFold(t.Name, dialect.String(r[0])) {
					continue
				}
				target(t, dialect.String(r[1]))
			}
		}
	}
	return nil
}

// target notes a column that a foreign key refers to.
func target(t *schema.Table, column string) {
	for i := range t.Columns {
		if strings.EqualFold(t.Columns[i].Name, column) {
			t.Target(t.Columns[i].Name)
		}
	}
}

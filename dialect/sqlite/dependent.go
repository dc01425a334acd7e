package sqlite

import (
	"context"
	"strings"

	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// readTriggers looks at the triggers of the tables' own database and at the
// temporary ones, which may be on any table.
func readTriggers(ctx context.Context, s dialect.Session, db, list string, found map[string]*described) error {
	triggers := ".sqlite_schema WHERE type = 'trigger' AND tbl_name COLLATE NOCASE IN " + list
	rows, err := s.Query(ctx, "SELECT tbl_name, name, sql, 0 FROM "+quote(db)+triggers+
		" UNION SELECT tbl_name, name, sql, 1 FROM temp"+triggers+" ORDER BY 2")
	if err != nil {
		return err
	}
	own, err := ownTriggers(ctx, s, db, rows)
	if err != nil {
		return err
	}
	for i, r := range rows {
		t := found[foldName(dialect.String(r[0]))]
		if t == nil {
			continue
		}
		if own[i] {
			t.Triggers.Own = append(t.Triggers.Own, dialect.String(r[1]))
			continue
		}
		n, err := parseOne(dialect.String(r[2]))
		create, ok := n.(*tree.CreateTriggerStmt)
		if err != nil || !ok {
			t.Triggers.Update, t.Triggers.Delete, t.Triggers.Insert = true, true, true
			continue
		}
		t.Triggers.Update = t.Triggers.Update || strings.EqualFold(create.Event, "UPDATE")
		t.Triggers.Delete = t.Triggers.Delete || strings.EqualFold(create.Event, "DELETE")
		t.Triggers.Insert = t.Triggers.Insert || strings.EqualFold(create.Event, "INSERT")
	}
	return nil
}

// ownTriggers recognises slotsql's triggers: by their name, and by a slot table
// that exists and that they write.
func ownTriggers(ctx context.Context, s dialect.Session, db string, triggers [][]any) (map[int]bool, error) {
	writes := map[int]string{}
	var names []string
	for i, r := range triggers {
		slots, ok := ownTrigger(dialect.String(r[1]))
		if ok && strings.Contains(dialect.String(r[2]), quote(slots)) && (number(r[3]) == 0 || db == "temp") {
			writes[i] = foldName(slots)
			names = append(names, slots)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := s.Query(
		ctx,
		"SELECT name FROM "+quote(db)+".sqlite_schema WHERE type = 'table' AND name COLLATE NOCASE IN "+textList(names),
	)
	if err != nil {
		return nil, err
	}
	tables, own := map[string]bool{}, map[int]bool{}
	for _, r := range rows {
		tables[foldName(dialect.String(r[0]))] = true
	}
	for i, slots := range writes {
		own[i] = tables[slots]
	}
	return own, nil
}

// readTargets finds the columns that foreign keys of any table refer to, slotsql's own slot
// tables left out. SQLite refuses to change one that is in no unique key. Foreign keys come from the
// schema that the session has in memory: no table is read for them.
func readTargets(ctx context.Context, s dialect.Session, db, list string, found map[string]*described) error {
	rows, err := s.Query(ctx, `SELECT DISTINCT f."table", f."to" FROM `+quote(db)+".sqlite_schema AS m, pragma_foreign_key_list(m.name, "+textLiteral(db)+
		`) AS f WHERE m.type = 'table' AND f."table" COLLATE NOCASE IN `+list+` AND f."to" IS NOT NULL AND (`+textLiteral(triggerPrefix)+
		" || m.name || '_delete') COLLATE NOCASE NOT IN (SELECT g.name FROM "+quote(db)+".sqlite_schema AS g WHERE g.type = 'trigger') ORDER BY 1, 2")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if t := found[foldName(dialect.String(r[0]))]; t != nil {
			target(t.Table, dialect.String(r[1]))
		}
	}
	return nil
}

// target notes a column that a foreign key refers to.
func target(t *schema.Table, column string) {
	for i := range t.Columns {
		if sameName(t.Columns[i].Name, column) {
			t.Target(t.Columns[i].Name)
		}
	}
}

// referenced reports whether a foreign key with actions refers to the table;
// that of slotsql's own slot table does not count.
func referenced(ctx context.Context, s dialect.Session, t *schema.Table) (bool, error) {
	rows, err := s.Query(ctx, "SELECT DISTINCT m.name FROM "+quote(t.Schema)+".sqlite_schema AS m, pragma_foreign_key_list(m.name, ?) AS f"+
		` WHERE m.type = 'table' AND f."table" = ? COLLATE NOCASE`+
		" AND (f.on_update NOT IN ('NO ACTION', 'RESTRICT') OR f.on_delete NOT IN ('NO ACTION', 'RESTRICT'))", t.Schema, t.Name)
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		own, err := s.Query(
			ctx,
			"SELECT 1 FROM "+quote(t.Schema)+".sqlite_schema WHERE type = 'trigger' AND name = ? COLLATE NOCASE",
			triggerPrefix+dialect.String(r[0])+"_delete",
		)
		if err != nil {
			return false, err
		}
		if len(own) == 0 {
			return true, nil
		}
	}
	return false, nil
}

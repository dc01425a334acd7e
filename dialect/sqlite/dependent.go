package sqlite

import (
	"context"
	"strings"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// readTriggers looks at the triggers of the table's own database and at the
// temporary ones, which may be on any table.
func readTriggers(ctx context.Context, s dialect.Session, o *object, t *rewrite.Table) error {
	const triggers = ".sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE"
	rows, err := s.Query(ctx, "SELECT name, sql, 0 FROM "+quote(o.schema)+triggers+
		" UNION SELECT name, sql, 1 FROM temp"+triggers, o.name)
	if err != nil {
		return err
	}
	for _, r := range rows {
		name, sql, temporary := text(r[0]), text(r[1]), number(r[2]) != 0
		if !temporary || o.schema == "temp" {
			own, err := isOwnTrigger(ctx, s, o, name, sql)
			if err != nil {
				return err
			}
			if own {
				t.OwnTriggers = append(t.OwnTriggers, name)
				continue
			}
		}
		n, err := parseOne(sql)
		create, ok := n.(*ast.CreateTriggerStmt)
		if err != nil || !ok {
			t.UpdateTrigger, t.DeleteTrigger, t.InsertTrigger = true, true, true
			continue
		}
		t.UpdateTrigger = t.UpdateTrigger || strings.EqualFold(create.Event, "UPDATE")
		t.DeleteTrigger = t.DeleteTrigger || strings.EqualFold(create.Event, "DELETE")
		t.InsertTrigger = t.InsertTrigger || strings.EqualFold(create.Event, "INSERT")
	}
	return nil
}

// isOwnTrigger recognises slotsql's triggers: by their name, and by a slot
// table that exists and that they write.
func isOwnTrigger(ctx context.Context, s dialect.Session, o *object, name, sql string) (bool, error) {
	slots, ok := ownTrigger(name)
	if !ok || !strings.Contains(sql, quote(slots)) {
		return false, nil
	}
	return exists(ctx, s, o.schema, "table", slots)
}

func exists(ctx context.Context, s dialect.Session, schema, kind, name string) (bool, error) {
	rows, err := s.Query(ctx, "SELECT 1 FROM "+quote(schema)+".sqlite_schema WHERE type = ? AND name = ? COLLATE NOCASE", kind, name)
	return len(rows) > 0, err
}

// referenced says whether a foreign key with actions refers to the table;
// that of slotsql's own slot table does not count.
func referenced(ctx context.Context, s dialect.Session, o *object) (bool, error) {
	rows, err := s.Query(ctx, "SELECT DISTINCT m.name FROM "+quote(o.schema)+".sqlite_schema AS m, pragma_foreign_key_list(m.name, ?) AS f"+
		` WHERE m.type = 'table' AND f."table" = ? COLLATE NOCASE`+
		" AND (f.on_update NOT IN ('NO ACTION', 'RESTRICT') OR f.on_delete NOT IN ('NO ACTION', 'RESTRICT'))", o.schema, o.name)
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		own, err := exists(ctx, s, o.schema, "trigger", triggerPrefix+text(r[0])+"_delete")
		if err != nil {
			return false, err
		}
		if !own {
			return true, nil
		}
	}
	return false, nil
}

// referring notes the columns of the table's own foreign keys.
func referring(ctx context.Context, s dialect.Session, o *object, t *rewrite.Table) error {
	rows, err := s.Query(ctx, `SELECT f."from", f.id, f."table", f."to", f.on_delete, f.on_update FROM pragma_foreign_key_list(?, ?) AS f ORDER BY f.id, f.seq`, o.name, o.schema)
	for n, r := range rows {
		if n == 0 || number(rows[n-1][1]) != number(r[1]) {
			t.Parents = append(t.Parents, rewrite.Parent{Schema: o.schema, Name: text(r[2]), Cascades: text(r[4]) == "CASCADE", Rekeys: text(r[5]) == "CASCADE"})
		}
		p := &t.Parents[len(t.Parents)-1]
		p.Columns, p.References = append(p.Columns, text(r[0])), append(p.References, text(r[3]))
		for i := range t.Columns {
			if sameName(t.Columns[i].Name, text(r[0])) {
				t.Refer(t.Columns[i].Name)
			}
		}
	}
	return err
}

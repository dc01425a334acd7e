package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// Table reads one table from information_schema.
func (d *Dialect) Table(ctx context.Context, s dialect.Session, schema, name string) (*rewrite.Table, error) {
	t, err := d.table(ctx, s, schema, name)
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", name, err)
	}
	return t, nil
}

func (d *Dialect) table(ctx context.Context, s dialect.Session, schema, name string) (*rewrite.Table, error) {
	t, err := d.find(ctx, s, schema, name)
	if t == nil || err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context, dialect.Session, *rewrite.Table) error{columns, uniques, checks, triggers, references, referring, temporary} {
		if err := read(ctx, s, t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// find resolves the name. information_schema compares names loosely, so the
// exact name is looked for among what it returns.
func (d *Dialect) find(ctx context.Context, s dialect.Session, schema, name string) (*rewrite.Table, error) {
	rows, err := s.Query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES"+
		" WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?", schema, name)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	folds := d.FoldTableNames
	if !folds {
		server, err := ForServer(ctx, s)
		if err != nil {
			return nil, err
		}
		folds = server.FoldTableNames
	}
	var found *rewrite.Table
	for _, r := range rows {
		t := &rewrite.Table{Schema: text(r[0]), Name: text(r[1]), IsView: strings.HasSuffix(text(r[2]), "VIEW")}
		exact := t.Name == name && (schema == "" || t.Schema == schema)
		if exact || folds && found == nil {
			found = t
		}
	}
	return found, nil
}

func columns(ctx context.Context, s dialect.Session, t *rewrite.Table) error {
	rows, err := s.Query(ctx, "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, EXTRA, CHARACTER_SET_NAME, COLLATION_NAME,"+
		" NUMERIC_PRECISION, NUMERIC_SCALE, GENERATION_EXPRESSION, COLUMN_DEFAULT, COLUMN_COMMENT FROM information_schema.COLUMNS"+
		" WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION", t.Schema, t.Name)
	if err != nil {
		return fmt.Errorf("reading columns: %w", err)
	}
	generated := map[int]string{}
	for _, r := range rows {
		extra := strings.ToLower(text(r[4]))
		c := rewrite.Column{
			Name:     text(r[0]),
			Type:     text(r[2]),
			Nullable: strings.EqualFold(text(r[3]), "YES"),
			Identity: strings.Contains(extra, "auto_increment"),
			OnUpdate: strings.Contains(extra, "on update"),
			Hidden:   strings.Contains(extra, "invisible"),
		}
		// MariaDB writes a default of NULL out.
		c.HasDefault = r[10] != nil && !strings.EqualFold(text(r[10]), "NULL")
		if cs := text(r[5]); cs != "" {
			c.Type += " CHARACTER SET " + cs + " COLLATE " + text(r[6])
		}
		if strings.Contains(extra, "virtual generated") || strings.Contains(extra, "stored generated") || strings.Contains(extra, "persistent") {
			c.Generated = true
			generated[len(t.Columns)] = text(r[9])
		}
		numeric(&c, strings.ToLower(text(r[1])), strings.ToLower(text(r[2])), text(r[7]), text(r[8]))
		copied(&c, text(r[10]), text(r[11]))
		t.Columns = append(t.Columns, c)
	}
	for i, expr := range generated {
		t.Columns[i].DependsOn = mentioned(t, expr)
	}
	return nil
}

var integerBits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "integer": 32, "bigint": 64}

// numeric fills in how the column adds up. A ZEROFILL column shows its values
// padded, which a total cannot, so it is no counter.
func numeric(c *rewrite.Column, dataType, columnType, precision, scale string) {
	c.Unsigned = strings.Contains(columnType, "unsigned")
	if strings.Contains(columnType, "zerofill") {
		return
	}
	if bits, ok := integerBits[dataType]; ok {
		c.Numeric, c.Bits = rewrite.Integer, bits
		return
	}
	switch dataType {
	case "decimal", "numeric":
		c.Numeric = rewrite.Decimal
		c.Precision, _ = strconv.Atoi(precision)
		c.Scale, _ = strconv.Atoi(scale)
	case "float", "double", "real":
		c.Numeric = rewrite.Float
	}
}

func uniques(ctx context.Context, s dialect.Session, t *rewrite.Table) error {
	rows, err := s.Query(ctx, "SELECT INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS"+
		" WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND NON_UNIQUE = 0 ORDER BY INDEX_NAME = 'PRIMARY' DESC, INDEX_NAME, SEQ_IN_INDEX", t.Schema, t.Name)
	if err != nil {
		return fmt.Errorf("reading unique keys: %w", err)
	}
	partial := map[string]bool{}
	var all []rewrite.Unique
	for _, r := range rows {
		name := text(r[0])
		if n := len(all); n == 0 || all[n-1].Name != name {
			all = append(all, rewrite.Unique{Name: name, Primary: name == "PRIMARY"})
		}
		u := &all[len(all)-1]
		u.Columns = append(u.Columns, text(r[1]))
		// A key on a prefix or on an expression says nothing of whole columns.
		if r[2] != nil || r[1] == nil {
			partial[name] = true
		}
	}
	for _, u := range all {
		if partial[u.Name] {
			t.OtherUniques = true
			continue
		}
		t.Uniques = append(t.Uniques, u)
	}
	return nil
}

// checks finds the columns that CHECK constraints mention.
func checks(ctx context.Context, s dialect.Session, t *rewrite.Table) error {
	rows, err := s.Query(ctx, "SELECT VERSION()")
	if err != nil {
		return err
	}
	query := "SELECT c.CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS c JOIN information_schema.TABLE_CONSTRAINTS t" +
		" ON t.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND t.CONSTRAINT_NAME = c.CONSTRAINT_NAME AND t.CONSTRAINT_TYPE = 'CHECK'" +
		" WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ?"
	if len(rows) > 0 && strings.Contains(strings.ToLower(text(rows[0][0])), "mariadb") {
		// Constraint names are only unique within a table there.
		query = "SELECT CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ?"
	}
	if rows, err = s.Query(ctx, query, t.Schema, t.Name); err != nil {
		return fmt.Errorf("reading CHECK constraints: %w", err)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		for _, c := range mentioned(t, text(r[0])) {
			if !seen[c] {
				seen[c] = true
				t.Checked = append(t.Checked, c)
			}
		}
	}
	return nil
}

// mentioned returns the columns whose names occur in an expression, and all
// columns when none does.
func mentioned(t *rewrite.Table, expr string) []string {
	found := map[string]bool{}
	for _, tok := range rewrite.Tokens(&lexis, expr) {
		name := expr[tok.Start:tok.End]
		switch tok.Kind {
		case rewrite.QuotedIdent:
			found[strings.ToLower(unquote(name))] = true
		case rewrite.Word:
			found[strings.ToLower(name)] = true
		}
	}
	var out, all []string
	for _, c := range t.Columns {
		all = append(all, c.Name)
		if found[strings.ToLower(c.Name)] {
			out = append(out, c.Name)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

func triggers(ctx context.Context, s dialect.Session, t *rewrite.Table) error {
	rows, err := s.Query(ctx, "SELECT EVENT_MANIPULATION FROM information_schema.TRIGGERS"+
		" WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ?", t.Schema, t.Name)
	if err != nil {
		return fmt.Errorf("reading triggers: %w", err)
	}
	for _, r := range rows {
		event := strings.ToUpper(text(r[0]))
		t.UpdateTrigger = t.UpdateTrigger || strings.Contains(event, "UPDATE")
		t.DeleteTrigger = t.DeleteTrigger || strings.Contains(event, "DELETE")
		t.InsertTrigger = t.InsertTrigger || strings.Contains(event, "INSERT")
	}
	return nil
}

func references(ctx context.Context, s dialect.Session, t *rewrite.Table) error {
	rows, err := s.Query(ctx, "SELECT CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS"+
		" WHERE UNIQUE_CONSTRAINT_SCHEMA = ? AND REFERENCED_TABLE_NAME = ?", t.Schema, t.Name)
	if err != nil {
		return fmt.Errorf("reading foreign keys: %w", err)
	}
	for _, r := range rows {
		if strings.HasPrefix(text(r[0]), constraintPrefix) {
			continue
		}
		for _, rule := range r[1:] {
			if v := text(rule); v != "RESTRICT" && v != "NO ACTION" {
				t.Referencing = true
			}
		}
	}
	return nil
}

func referring(ctx context.Context, s dialect.Session, t *rewrite.Table) error {
	rows, err := s.Query(ctx, "SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE"+
		" WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND REFERENCED_TABLE_NAME IS NOT NULL", t.Schema, t.Name)
	if err != nil {
		return fmt.Errorf("reading foreign keys: %w", err)
	}
	if len(rows) == 0 {
		return nil
	}
	for _, r := range rows {
		t.Refer(text(r[0]))
	}
	rows, err = s.Query(ctx, "SELECT k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, r.DELETE_RULE, r.UPDATE_RULE"+
		" FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r"+
		" ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME"+
		" WHERE k.TABLE_SCHEMA = ? AND k.TABLE_NAME = ? ORDER BY k.CONSTRAINT_NAME, k.ORDINAL_POSITION", t.Schema, t.Name)
	if err != nil {
		return fmt.Errorf("reading foreign keys: %w", err)
	}
	for i, r := range rows {
		if i == 0 || text(rows[i-1][0]) != text(r[0]) {
			t.Parents = append(t.Parents, rewrite.Parent{Schema: text(r[2]), Name: text(r[3]), Cascades: text(r[5]) == "CASCADE", Rekeys: text(r[6]) == "CASCADE"})
		}
		p := &t.Parents[len(t.Parents)-1]
		p.Columns, p.References = append(p.Columns, text(r[1])), append(p.References, text(r[4]))
	}
	return nil
}

// temporary notices a temporary table that hides the table of that name.
func temporary(ctx context.Context, s dialect.Session, t *rewrite.Table) error {
	if t.IsView {
		return nil
	}
	rows, err := s.Query(ctx, "SHOW CREATE TABLE "+baseTable(t))
	if err != nil {
		return fmt.Errorf("reading the definition: %w", err)
	}
	for _, r := range rows {
		if len(r) > 1 && strings.HasPrefix(text(r[1]), "CREATE TEMPORARY") {
			t.Temporary = true
		}
	}
	return nil
}

// text reads a value as any driver gives it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

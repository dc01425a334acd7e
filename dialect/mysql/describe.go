package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.Describer = (*Dialect)(nil)

// Table reads one table, as Describe does, and which tables refer to it, for
// which MariaDB opens every table of the database.
func (d *Dialect) Table(ctx context.Context, s dialect.Session, schema, name string) (*rewrite.Table, error) {
	found, err := d.Describe(ctx, s, []dialect.WrittenName{{Schema: schema, Name: name}}, dialect.MayHide)
	if err != nil || found[0] == nil {
		return nil, err
	}
	if err := referencing(ctx, s, found[0]); err != nil {
		return nil, fmt.Errorf("table %q: %w", name, err)
	}
	return found[0], nil
}

// Describe implements dialect.Describer, from information_schema. Each query is
// about one database, named by a constant, and about tables named by constants:
// MariaDB opens those and no others.
func (d *Dialect) Describe(
	ctx context.Context,
	s dialect.Session,
	names []dialect.WrittenName,
	temporary dialect.Temporary,
) ([]*rewrite.Table, error) {
	srv, err := d.ask(ctx, s)
	if err != nil {
		return nil, err
	}
	out := make([]*rewrite.Table, len(names))
	for _, asked := range bySchema(srv.database, names) {
		f := &found{schema: asked.schema, mariaDB: srv.mariaDB, tables: map[string]*rewrite.Table{}}
		if err := f.read(ctx, s, asked.names, temporary); err != nil {
			return nil, fmt.Errorf("reading tables of %s: %w", asked.schema, err)
		}
		for stored, t := range f.tables {
			for _, at := range asked.places(stored, srv.folds) {
				if out[at] == nil || names[at].Name == stored { // the exact name wins
					out[at] = t
				}
			}
		}
	}
	return out, nil
}

// found are the tables of one database that are described.
type found struct {
	schema  string
	mariaDB bool
	tables  map[string]*rewrite.Table // by stored name
}

func (f *found) read(ctx context.Context, s dialect.Session, names []string, temporary dialect.Temporary) error {
	rows, err := s.Query(
		ctx,
		"SELECT TABLE_NAME, TABLE_TYPE, ENGINE, (SELECT MAX(e.TRANSACTIONS) FROM information_schema.ENGINES e WHERE e.ENGINE = t.ENGINE), CREATE_OPTIONS"+
			" FROM information_schema.TABLES t WHERE TABLE_SCHEMA = "+nameLiteral(f.schema)+" AND TABLE_NAME IN "+literals(names),
	)
	if err != nil || len(rows) == 0 {
		return err
	}
	for _, r := range rows {
		t := &rewrite.Table{
			Schema:      f.schema,
			Name:        text(r[0]),
			IsView:      strings.HasSuffix(text(r[1]), "VIEW"),
			Versioned:   text(r[1]) == "SYSTEM VERSIONED",
			Partitioned: strings.Contains(text(r[4]), "partitioned"),
		}
		if strings.EqualFold(text(r[3]), "NO") {
			t.NoTransactions = text(r[2])
		}
		f.tables[t.Name] = t
	}
	for _, read := range []func(context.Context, dialect.Session) error{f.columns, f.uniques, f.checks, f.triggers, f.foreignKeys} {
		if err := read(ctx, s); err != nil {
			return err
		}
	}
	if temporary == dialect.MayHide {
		return f.hidden(ctx, s)
	}
	return nil
}

// of asks a view of information_schema about the tables: the first column is the
// table's name. Rows of one that has come since are left out.
func (f *found) of(
	ctx context.Context,
	s dialect.Session,
	what, columns, from, schemaColumn, tableColumn, rest string,
	each func(t *rewrite.Table, r []any),
) error {
	rows, err := s.Query(ctx, "SELECT "+tableColumn+", "+columns+" FROM information_schema."+from+
		" WHERE "+schemaColumn+" = "+nameLiteral(f.schema)+" AND "+tableColumn+" IN "+f.list()+rest)
	if err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	for _, r := range rows {
		if t := f.tables[text(r[0])]; t != nil {
			each(t, r[1:])
		}
	}
	return nil
}

func (f *found) list() string { return literals(slices.Sorted(maps.Keys(f.tables))) }

func (f *found) columns(ctx context.Context, s dialect.Session) error {
	generated := map[*rewrite.Table]map[int]string{}
	err := f.of(ctx, s, "columns", "COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, EXTRA, CHARACTER_SET_NAME, COLLATION_NAME,"+
		" NUMERIC_PRECISION, NUMERIC_SCALE, GENERATION_EXPRESSION, COLUMN_DEFAULT, COLUMN_COMMENT, PRIVILEGES", "COLUMNS", "TABLE_SCHEMA", "TABLE_NAME",
		" ORDER BY TABLE_NAME, ORDINAL_POSITION", func(t *rewrite.Table, r []any) {
			c, expr := column(r)
			if c.Generated {
				if generated[t] == nil {
					generated[t] = map[int]string{}
				}
				generated[t][len(t.Columns)] = expr
			}
			t.Columns = append(t.Columns, c)
		})
	for t, exprs := range generated {
		for i, expr := range exprs {
			t.Columns[i].DependsOn = mentioned(t, expr)
		}
	}
	return err
}

// column reads a column, and the expression of a generated one.
func column(r []any) (c rewrite.Column, generated string) {
	extra := strings.ToLower(text(r[4]))
	c = rewrite.Column{
		Name:     text(r[0]),
		Type:     text(r[2]),
		Nullable: strings.EqualFold(text(r[3]), "YES"),
		Identity: strings.Contains(extra, "auto_increment"),
		OnUpdate: strings.Contains(extra, "on update"),
		Hidden:   strings.Contains(extra, "invisible"),
	}
	may := strings.ToLower(text(r[12]))
	c.NoSelect, c.NoInsert, c.NoUpdate = !strings.Contains(may, "select"), !strings.Contains(may, "insert"), !strings.Contains(
		may,
		"update",
	)
	c.NoReferences = !strings.Contains(may, "references")
	// MariaDB writes a default of NULL out.
	c.HasDefault = r[10] != nil && !strings.EqualFold(text(r[10]), "NULL")
	if cs := text(r[5]); cs != "" {
		c.Type += " CHARACTER SET " + cs + " COLLATE " + text(r[6])
	}
	if strings.Contains(extra, "virtual generated") || strings.Contains(extra, "stored generated") ||
		strings.Contains(extra, "persistent") {
		c.Generated, generated = true, text(r[9])
	}
	numeric(&c, strings.ToLower(text(r[1])), strings.ToLower(text(r[2])), text(r[7]), text(r[8]))
	copied(&c, text(r[10]), text(r[11]))
	return c, generated
}

func (f *found) uniques(ctx context.Context, s dialect.Session) error {
	type key struct {
		table *rewrite.Table
		name  string
	}
	// A key on a prefix or on an expression says nothing of whole columns.
	partial, expressions := map[key]bool{}, map[key]string{}
	unique := " AND NON_UNIQUE = 0"
	err := f.of(ctx, s, "unique keys", "INDEX_NAME, COLUMN_NAME, SUB_PART", "STATISTICS", "TABLE_SCHEMA", "TABLE_NAME",
		unique+" ORDER BY TABLE_NAME, INDEX_NAME = 'PRIMARY' DESC, INDEX_NAME, SEQ_IN_INDEX", func(t *rewrite.Table, r []any) {
			name := text(r[0])
			if n := len(t.Uniques); n == 0 || t.Uniques[n-1].Name != name {
				t.Uniques = append(t.Uniques, rewrite.Unique{Name: name, Primary: name == "PRIMARY"})
			}
			u := &t.Uniques[len(t.Uniques)-1]
			switch {
			case r[1] == nil:
				partial[key{t, name}], expressions[key{t, name}] = true, ""
				return
			case r[2] != nil:
				partial[key{t, name}] = true
			}
			u.Columns = append(u.Columns, text(r[1]))
		})
	if err != nil {
		return err
	}
	if len(expressions) > 0 { // MySQL, whose STATISTICS has them
		if err := f.of(ctx, s, "expressions of unique keys", "INDEX_NAME, EXPRESSION", "STATISTICS", "TABLE_SCHEMA", "TABLE_NAME",
			unique+" AND EXPRESSION IS NOT NULL", func(t *rewrite.Table, r []any) {
				expressions[key{t, text(r[0])}] += " " + text(r[1])
			}); err != nil {
			return err
		}
	}
	for _, t := range f.tables {
		t.Uniques = slices.DeleteFunc(t.Uniques, func(u rewrite.Unique) bool {
			k := key{t, u.Name}
			if !partial[k] {
				return false
			}
			over := u.Columns
			if e, ok := expressions[k]; ok {
				over = slices.Concat(over, mentioned(t, e))
			}
			t.OtherUniques = true
			t.AddPartialUnique(u.Name, func(c string) bool { return slices.Contains(over, c) })
			return true
		})
		if len(t.Uniques) == 0 {
			t.Uniques = nil
		}
	}
	return nil
}

// checks finds the columns that CHECK constraints mention.
func (f *found) checks(ctx context.Context, s dialect.Session) error {
	// Constraint names are only unique within a table on MariaDB.
	columns, from, schema, table, rest := "CHECK_CLAUSE", "CHECK_CONSTRAINTS", "CONSTRAINT_SCHEMA", "TABLE_NAME", ""
	if !f.mariaDB {
		columns, schema, table, rest = "c.CHECK_CLAUSE", "t.TABLE_SCHEMA", "t.TABLE_NAME", " AND t.CONSTRAINT_TYPE = 'CHECK'"
		from = "TABLE_CONSTRAINTS t JOIN information_schema.CHECK_CONSTRAINTS c ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME"
	}
	checked := map[*rewrite.Table]map[string]bool{}
	return f.of(ctx, s, "CHECK constraints", columns, from, schema, table, rest, func(t *rewrite.Table, r []any) {
		if checked[t] == nil {
			checked[t] = map[string]bool{}
		}
		check := rewrite.Check{Columns: mentioned(t, text(r[0])), SQL: text(r[0])}
		t.Checks = append(t.Checks, check)
		for _, c := range check.Columns {
			if !checked[t][c] {
				checked[t][c] = true
				t.Checked = append(t.Checked, c)
			}
		}
	})
}

func (f *found) triggers(ctx context.Context, s dialect.Session) error {
	return f.of(
		ctx,
		s,
		"triggers",
		"EVENT_MANIPULATION",
		"TRIGGERS",
		"EVENT_OBJECT_SCHEMA",
		"EVENT_OBJECT_TABLE",
		"",
		func(t *rewrite.Table, r []any) {
			event := strings.ToUpper(text(r[0]))
			t.UpdateTrigger = t.UpdateTrigger || strings.Contains(event, "UPDATE")
			t.DeleteTrigger = t.DeleteTrigger || strings.Contains(event, "DELETE")
			t.InsertTrigger = t.InsertTrigger || strings.Contains(event, "INSERT")
		},
	)
}

// foreignKeys reads the tables' own ones.
func (f *found) foreignKeys(ctx context.Context, s dialect.Session) error {
	type key struct {
		table *rewrite.Table
		name  string
	}
	places := map[key]int{}
	err := f.of(
		ctx,
		s,
		"foreign keys",
		"CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME",
		"KEY_COLUMN_USAGE",
		"TABLE_SCHEMA",
		"TABLE_NAME",
		" AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION",
		func(t *rewrite.Table, r []any) {
			t.Refer(text(r[1]))
			k := key{t, text(r[0])}
			i, ok := places[k]
			if !ok {
				i = len(t.Parents)
				places[k] = i
				t.Parents = append(t.Parents, rewrite.Parent{Schema: text(r[2]), Name: text(r[3])})
			}
			p := &t.Parents[i]
			p.Columns, p.References = append(p.Columns, text(r[1])), append(p.References, text(r[4]))
		},
	)
	if err != nil || len(places) == 0 {
		return err
	}
	return f.of(
		ctx,
		s,
		"foreign keys",
		"CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE",
		"REFERENTIAL_CONSTRAINTS",
		"CONSTRAINT_SCHEMA",
		"TABLE_NAME",
		"",
		func(t *rewrite.Table, r []any) {
			if i, ok := places[key{t, text(r[0])}]; ok {
				t.Parents[i].Cascades, t.Parents[i].Rekeys = text(r[1]) == "CASCADE", text(r[2]) == "CASCADE"
			}
		},
	)
}

// hidden notices temporary tables that hide tables of their name.
func (f *found) hidden(ctx context.Context, s dialect.Session) error {
	for _, t := range f.tables {
		if err := temporary(ctx, s, t); err != nil {
			return err
		}
	}
	return nil
}

package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.Describer = (*Dialect)(nil)

// Table reads one table, as Describe does, and which tables refer to it, for
// which MariaDB opens every table of the database.
func (d *Dialect) Table(ctx context.Context, s dialect.Session, inSchema, name string) (*schema.Table, error) {
	found, err := d.Describe(ctx, s, []dialect.WrittenName{{Schema: inSchema, Name: name}}, dialect.MayHide)
	if err != nil || found[0] == nil {
		return nil, err
	}
	if err := referencing(ctx, s, found[0]); err != nil {
		return nil, fmt.Errorf("table %q: %w", name, err)
	}
	return found[0], d.Targets(ctx, s, found)
}

// Describe implements dialect.Describer, from information_schema. Each query is
// about one database, named by a constant, and about tables named by constants:
// MariaDB opens those and no others.
func (d *Dialect) Describe(
	ctx context.Context,
	s dialect.Session,
	names []dialect.WrittenName,
	temporary dialect.Temporary,
) ([]*schema.Table, error) {
	srv, err := d.ask(ctx, s)
	if err != nil {
		return nil, err
	}
	out := make([]*schema.Table, len(names))
	for _, asked := range bySchema(srv.database, names) {
		f := &found{schema: asked.schema, mariaDB: srv.mariaDB, tables: map[string]*schema.Table{}}
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
	return out, assumeTriggers(ctx, s, srv, out)
}

// found are the tables of one database that are described.
type found struct {
	schema  string
	mariaDB bool
	tables  map[string]*schema.Table // by stored name
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
		t := &schema.Table{
			Schema:  f.schema,
			Name:    dialect.String(r[0]),
			IsView:  strings.HasSuffix(dialect.String(r[1]), "VIEW"),
			Storage: schema.Storage{Versioned: dialect.String(r[1]) == "SYSTEM VERSIONED", Partitioned: strings.Contains(dialect.String(r[4]), "partitioned")},
		}
		if strings.EqualFold(dialect.String(r[3]), "NO") {
			t.Storage.NoTransactions = dialect.String(r[2])
		}
		f.tables[t.Name] = t
	}
	for _, read := range []func(context.Context, dialect.Session) error{
		f.columns, f.uniques, f.checks, f.unseen, f.triggers, f.foreignKeys, f.partitions,
	} {
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
	each func(t *schema.Table, r []any),
) error {
	rows, err := s.Query(ctx, "SELECT "+tableColumn+", "+columns+" FROM information_schema."+from+
		" WHERE "+schemaColumn+" = "+nameLiteral(f.schema)+" AND "+tableColumn+" IN "+f.list()+rest)
	if err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	for _, r := range rows {
		if t := f.tables[dialect.String(r[0])]; t != nil {
			each(t, r[1:])
		}
	}
	return nil
}

func (f *found) list() string { return literals(slices.Sorted(maps.Keys(f.tables))) }

func (f *found) columns(ctx context.Context, s dialect.Session) error {
	generated := map[*schema.Table]map[int]string{}
	err := f.of(ctx, s, "columns", "COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, EXTRA, CHARACTER_SET_NAME, COLLATION_NAME,"+
		" NUMERIC_PRECISION, NUMERIC_SCALE, GENERATION_EXPRESSION, COLUMN_DEFAULT, PRIVILEGES", "COLUMNS", "TABLE_SCHEMA", "TABLE_NAME",
		" ORDER BY TABLE_NAME, ORDINAL_POSITION", func(t *schema.Table, r []any) {
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
		for _, i := range slices.Sorted(maps.Keys(exprs)) {
			t.Columns[i].DependsOn = mentioned(t, exprs[i])
			t.AddGenerated(i, exprs[i])
		}
	}
	return err
}

// defaultKind returns the kind of a default, as the server writes it out: MariaDB an
// expression without parentheses, MySQL a string without quotes. What could be either
// counts as an expression.
func defaultKind(text, extra string) schema.DefaultKind {
	_, err := strconv.ParseFloat(text, 64)
	switch {
	case strings.HasPrefix(strings.ToLower(text), "current_timestamp"):
		return schema.DefaultNow
	case strings.Contains(extra, "default_generated"):
		return schema.DefaultComputed
	case err == nil || strings.HasPrefix(text, "'"):
		return schema.DefaultFixed
	case strings.ContainsAny(text, "(`+-*/%|&^~<>=! "):
		return schema.DefaultComputed
	}
	return schema.DefaultFixed
}

// column reads a column, and the expression of a generated one.
func column(r []any) (c schema.Column, generated string) {
	extra := strings.ToLower(dialect.String(r[4]))
	c = schema.Column{
		Name:     dialect.String(r[0]),
		Type:     dialect.String(r[2]),
		Nullable: strings.EqualFold(dialect.String(r[3]), "YES"),
		Identity: strings.Contains(extra, "auto_increment"),
		OnUpdate: strings.Contains(extra, "on update"),
		Hidden:   strings.Contains(extra, "invisible"),
	}
	may := strings.ToLower(dialect.String(r[11]))
	c.Denied.Select, c.Denied.Insert, c.Denied.Update = !strings.Contains(may, "select"), !strings.Contains(may, "insert"), !strings.Contains(
		may,
		"update",
	)
	c.Denied.References = !strings.Contains(may, "references")
	// MariaDB writes a default of NULL out.
	c.Default = defaultKind(dialect.String(r[10]), extra)
	c.HasDefault = r[10] != nil && !strings.EqualFold(dialect.String(r[10]), "NULL")
	if cs := dialect.String(r[5]); cs != "" {
		c.Type += " CHARACTER SET " + cs + " COLLATE " + dialect.String(r[6])
	}
	if strings.Contains(extra, "virtual generated") || strings.Contains(extra, "stored generated") ||
		strings.Contains(extra, "persistent") {
		c.Generated, generated = true, dialect.String(r[9])
	}
	DescribeNumber(&c, Number{
		DataType:  strings.ToLower(dialect.String(r[1])),
		Precision: dialect.String(r[7]), Scale: dialect.String(r[8]),
	})
	return c, generated
}

// ordering gathers the columns of an index, up to one of which it has a prefix or to an expression.
type ordering struct {
	table   *schema.Table
	index   string
	columns []string
	whole   bool
}

func (o *ordering) part(t *schema.Table, index, column string, prefix bool) {
	if t != o.table || index != o.index {
		o.end()
		*o = ordering{table: t, index: index, whole: true}
	}
	if o.whole = o.whole && column != "" && !prefix; o.whole {
		o.columns = append(o.columns, column)
	}
}

func (o *ordering) end() {
	if o.table != nil {
		o.table.AddOrder(o.columns...)
	}
}

func (f *found) uniques(ctx context.Context, s dialect.Session) error {
	type key struct {
		table *schema.Table
		name  string
	}
	// A key on a prefix or on an expression says nothing of whole columns.
	partial, expressions := map[key]bool{}, map[key]string{}
	var order ordering
	err := f.of(ctx, s, "keys", "INDEX_NAME, COLUMN_NAME, SUB_PART, NON_UNIQUE", "STATISTICS", "TABLE_SCHEMA", "TABLE_NAME",
		" ORDER BY TABLE_NAME, INDEX_NAME = 'PRIMARY' DESC, INDEX_NAME, SEQ_IN_INDEX", func(t *schema.Table, r []any) {
			name := dialect.String(r[0])
			t.Index(dialect.String(r[1]))
			order.part(t, name, dialect.String(r[1]), r[2] != nil)
			if dialect.String(r[3]) != "0" {
				if r[1] == nil {
					expressions[key{t, name}] = ""
				}
				return
			}
			if n := len(t.Uniques); n == 0 || t.Uniques[n-1].Name != name {
				t.Uniques = append(t.Uniques, schema.Unique{Name: name, Primary: name == "PRIMARY"})
			}
			u := &t.Uniques[len(t.Uniques)-1]
			switch {
			case r[1] == nil:
				partial[key{t, name}], expressions[key{t, name}] = true, ""
				return
			case r[2] != nil:
				partial[key{t, name}] = true
			}
			u.Columns = append(u.Columns, dialect.String(r[1]))
		})
	order.end()
	if err != nil {
		return err
	}
	if len(expressions) > 0 { // MySQL, whose STATISTICS has them
		if err := f.of(ctx, s, "expressions of keys", "INDEX_NAME, EXPRESSION, NON_UNIQUE", "STATISTICS", "TABLE_SCHEMA", "TABLE_NAME",
			" AND EXPRESSION IS NOT NULL", func(t *schema.Table, r []any) {
				expressions[key{t, dialect.String(r[0])}] += " " + addExpression(t, r)
			}); err != nil {
			return err
		}
	}
	for _, t := range f.tables {
		t.Uniques = slices.DeleteFunc(t.Uniques, func(u schema.Unique) bool {
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

// addExpression takes an expression of an index, and returns it.
func addExpression(t *schema.Table, r []any) string {
	name, expr := dialect.String(r[0]), dialect.String(r[1])
	if unique := dialect.String(r[2]) == "0"; !unique {
		t.AddIndexed(name, expr, func(c string) bool { return slices.Contains(mentioned(t, expr), c) })
	}
	return expr
}

// checks finds the columns that CHECK constraints mention.
func (f *found) checks(ctx context.Context, s dialect.Session) error {
	// Constraint names are only unique within a table on MariaDB.
	columns, from, inSchema, table, rest := "CHECK_CLAUSE", "CHECK_CONSTRAINTS", "CONSTRAINT_SCHEMA", "TABLE_NAME", ""
	if !f.mariaDB {
		columns, inSchema, table, rest = "c.CHECK_CLAUSE", "t.TABLE_SCHEMA", "t.TABLE_NAME", " AND t.CONSTRAINT_TYPE = 'CHECK'"
		from = "TABLE_CONSTRAINTS t JOIN information_schema.CHECK_CONSTRAINTS c ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME"
	}
	return f.of(ctx, s, "CHECK constraints", columns, from, inSchema, table, rest, func(t *schema.Table, r []any) { check(t, dialect.String(r[0])) })
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
		func(t *schema.Table, r []any) {
			event := strings.ToUpper(dialect.String(r[0]))
			t.Triggers.Update = t.Triggers.Update || strings.Contains(event, "UPDATE")
			t.Triggers.Delete = t.Triggers.Delete || strings.Contains(event, "DELETE")
			t.Triggers.Insert = t.Triggers.Insert || strings.Contains(event, "INSERT")
		},
	)
}

// foreignKeys reads the tables' own ones.
func (f *found) foreignKeys(ctx context.Context, s dialect.Session) error {
	type key struct {
		table *schema.Table
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
		func(t *schema.Table, r []any) {
			t.Refer(dialect.String(r[1]))
			k := key{t, dialect.String(r[0])}
			i, ok := places[k]
			if !ok {
				i = len(t.ForeignKeys.Parents)
				places[k] = i
				t.ForeignKeys.Parents = append(t.ForeignKeys.Parents, schema.Parent{Schema: dialect.String(r[2]), Name: dialect.String(r[3])})
			}
			p := &t.ForeignKeys.Parents[i]
			p.Columns, p.References = append(p.Columns, dialect.String(r[1])), append(p.References, dialect.String(r[4]))
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
		func(t *schema.Table, r []any) {
			if i, ok := places[key{t, dialect.String(r[0])}]; ok {
				p := &t.ForeignKeys.Parents[i]
				p.Cascades, p.Rekeys = dialect.String(r[1]) == "CASCADE", dialect.String(r[2]) == "CASCADE"
			}
		},
	)
}

// hidden notices temporary tables that hide tables of their name. All that information_schema tells is of
// the hidden one.
func (f *found) hidden(ctx context.Context, s dialect.Session) error {
	for _, t := range f.tables {
		hides, err := temporary(ctx, s, t)
		if err != nil {
			return err
		}
		if hides {
			*t = schema.Table{Schema: t.Schema, Name: t.Name, Temporary: true}
		}
	}
	return nil
}

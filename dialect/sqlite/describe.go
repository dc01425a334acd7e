package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.Describer = (*Dialect)(nil)

// Table reads the facts of one table or view, as Describe does, and which foreign
// keys refer to it, for which every table of the database is looked at.
func (d *Dialect) Table(ctx context.Context, s dialect.Session, schema, name string) (*schema.Table, error) {
	found, err := d.Describe(ctx, s, []dialect.WrittenName{{Schema: schema, Name: name}}, dialect.MayHide)
	if err != nil || found[0] == nil {
		return nil, err
	}
	t := found[0]
	if t.ForeignKeys.Referenced, err = referenced(ctx, s, t); err != nil {
		return nil, fmt.Errorf("sqlite: reading table %q: %w", name, err)
	}
	return t, nil
}

// described is a table while it is read.
type described struct {
	*schema.Table
	sql          string
	def          definition
	withoutRowid bool
	strict       bool
	primary      int      // the columns of the primary key
	keys         []string // those of them that may be the rowid itself
	indexes      []index
	foreignKey   int64 // that is being read
}

// Describe implements dialect.Describer. SQLite tells by functions that take a
// table's name; they are joined with the list of tables.
func (d *Dialect) Describe(
	ctx context.Context,
	s dialect.Session,
	names []dialect.WrittenName,
	_ dialect.Temporary,
) ([]*schema.Table, error) {
	out := make([]*schema.Table, len(names))
	databases, err := searched(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("sqlite: reading tables: %w", err)
	}
	for _, db := range databases {
		found, err := foundIn(ctx, s, db, names)
		if err != nil {
			return nil, fmt.Errorf("sqlite: reading tables of %s: %w", db, err)
		}
		for i, n := range names {
			if t := found[foldName(n.Name)]; t != nil && out[i] == nil && (n.Schema == "" || sameName(n.Schema, db)) {
				out[i] = t.Table
			}
		}
		for name, t := range found {
			if !slices.Contains(out, t.Table) {
				delete(found, name) // one in a database before it is meant
			}
		}
		if len(found) > 0 {
			if err := complete(ctx, s, db, found); err != nil {
				return nil, fmt.Errorf("sqlite: reading tables of %s: %w", db, err)
			}
		}
	}
	return out, nil
}

// searched lists the databases in SQLite's order: temp, main, then attached ones in
// the order of attachment.
func searched(ctx context.Context, s dialect.Session) ([]string, error) {
	list, err := databases(ctx, s)
	out := []string{"temp"}
	for _, d := range list {
		out = append(out, d.name)
	}
	return out, err
}

// foundIn finds tables and views of a database, by their folded names.
func foundIn(ctx context.Context, s dialect.Session, db string, names []dialect.WrittenName) (map[string]*described, error) {
	var asked []string
	for _, n := range names {
		if n.Schema == "" || sameName(n.Schema, db) {
			asked = append(asked, n.Name)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	rows, err := s.Query(
		ctx,
		"SELECT name, type, sql FROM "+quote(db)+".sqlite_schema WHERE type IN ('table', 'view') AND name COLLATE NOCASE IN "+
			textList(asked),
	)
	if err != nil {
		return nil, err
	}
	found := map[string]*described{}
	for _, r := range rows {
		t := &described{
			Table: &schema.Table{Schema: db, Name: dialect.String(r[0]), IsView: dialect.String(r[1]) == "view", Temporary: db == "temp"},
			sql:   dialect.String(r[2]),
		}
		if t.def = readDefinition(t.sql); t.IsView {
			t.def = definition{understood: true}
		}
		found[foldName(t.Name)] = t
	}
	return found, nil
}

// complete reads what there is to know of tables of a database.
func complete(ctx context.Context, s dialect.Session, db string, found map[string]*described) error {
	var names []string
	for _, t := range found {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	list, schema := textList(names), textLiteral(db)
	from := " FROM " + quote(db) + ".sqlite_schema AS m, "
	these := " WHERE m.type IN ('table', 'view') AND m.name IN " + list
	// Each of these reads the schema once: SQLite has no index of it by which it could find a row of it for each of another one.
	indexes, err := definitionsOf(ctx, s, db, list)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		query string
		each  func(t *described, r []any)
	}{
		{"SELECT name, wr, strict FROM pragma_table_list WHERE schema = " + schema + " AND name IN " + list, (*described).kind},
		{`SELECT m.name, c.name, c.type, c."notnull", c.dflt_value, c.hidden, c.pk` + from + "pragma_table_xinfo(m.name, " + schema + ") AS c" + these + " ORDER BY m.name, c.cid", (*described).column},
		{"SELECT m.name, x.name, x.origin, x.partial, p.cid, p.name, p.coll" + from + "pragma_index_list(m.name, " + schema + ") AS x, pragma_index_xinfo(x.name, " + schema + ") AS p" +
			these + ` AND x."unique" = 1 AND p.key = 1 ORDER BY m.name, x.seq, p.seqno`, func(t *described, r []any) { t.indexed(r, indexes) }},
		{"SELECT m.name, x.name" + from + "pragma_index_list(m.name, " + schema + ") AS x" +
			these + ` AND x."unique" = 0 ORDER BY m.name, x.name`, func(t *described, r []any) { t.computes(dialect.String(r[0]), indexes) }},
		{`SELECT m.name, f."from", f.id, f."table", f."to", f.on_delete, f.on_update` + from + "pragma_foreign_key_list(m.name, " + schema + ") AS f" +
			these + " ORDER BY m.name, f.id, f.seq", (*described).refers},
	} {
		rows, err := s.Query(ctx, part.query)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if t := found[foldName(dialect.String(r[0]))]; t != nil {
				part.each(t, r[1:])
			}
		}
	}
	for _, t := range found {
		t.finish()
	}
	if err := readTargets(ctx, s, db, list, found); err != nil {
		return err
	}
	return readTriggers(ctx, s, db, list, found)
}

// definitionsOf reads the definitions of the tables' indexes, by their names.
func definitionsOf(ctx context.Context, s dialect.Session, db, list string) (map[string]string, error) {
	rows, err := s.Query(ctx, "SELECT name, sql FROM "+quote(db)+".sqlite_schema WHERE type = 'index' AND tbl_name COLLATE NOCASE IN "+list)
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[dialect.String(r[0])] = dialect.String(r[1])
	}
	return out, err
}

func (t *described) kind(r []any) {
	t.withoutRowid, t.strict = number(r[0]) != 0, number(r[1]) != 0
}

// indexed takes a column of a unique index.
func (t *described) indexed(r []any, definitions map[string]string) {
	name := dialect.String(r[0])
	if n := len(t.indexes); n == 0 || t.indexes[n-1].name != name {
		t.indexes = append(t.indexes, index{name: name, primary: dialect.String(r[1]) == "pk", partial: number(r[2]) != 0})
	}
	x := &t.indexes[len(t.indexes)-1]
	x.expression = x.expression || number(r[3]) < 0 // -1: rowid, -2: expression
	x.columns, x.collations = append(x.columns, dialect.String(r[4])), append(x.collations, dialect.String(r[5]))
	if (x.partial || x.expression) && x.mentioned == nil {
		x.define(definitions[name])
	}
}

// refers takes a column of a foreign key.
func (t *described) refers(r []any) {
	if len(t.ForeignKeys.Parents) == 0 || t.foreignKey != number(r[1]) {
		t.foreignKey = number(r[1])
		t.ForeignKeys.Parents = append(
			t.ForeignKeys.Parents,
			schema.Parent{
				Schema: t.Schema, Name: dialect.String(r[2]),
				Cascades: dialect.String(r[4]) == "CASCADE", Rekeys: dialect.String(r[5]) == "CASCADE",
			},
		)
	}
	p := &t.ForeignKeys.Parents[len(t.ForeignKeys.Parents)-1]
	p.Columns, p.References = append(p.Columns, dialect.String(r[0])), append(p.References, dialect.String(r[3]))
	for i := range t.Columns {
		if sameName(t.Columns[i].Name, dialect.String(r[0])) {
			t.Refer(t.Columns[i].Name)
		}
	}
}

// finish sets what takes all columns and indexes to know.
func (t *described) finish() {
	t.Numbers = !t.withoutRowid && !t.IsView
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Generated {
			c.DependsOn = t.def.dependsOn(c.Name, t.Table)
			t.AddGenerated(i, t.def.computed[foldName(c.Name)])
		}
	}
	if rowid := t.rowidAlias(t.indexes); rowid != "" {
		c := t.Column(rowid)
		c.Identity, c.Nullable = true, false
		t.Uniques = append(t.Uniques, schema.Unique{Primary: true, Columns: []string{rowid}})
	}
	addUniques(t.Table, t.indexes, t.def)
	t.Checked = t.def.checkedColumns(t.Table)
	t.Checks = t.def.checksOf(t.Checked)
}

// rowidAlias returns the INTEGER PRIMARY KEY column that is the rowid itself:
// the single primary key column of a rowid table that needed no index.
// (INTEGER PRIMARY KEY DESC has an index, and is none.)
func (t *described) rowidAlias(indexes []index) string {
	if t.withoutRowid || t.IsView || t.primary != 1 || len(t.keys) != 1 ||
		slices.ContainsFunc(indexes, func(x index) bool { return x.primary }) {
		return ""
	}
	return t.keys[0]
}

// textList writes strings for IN.
func textList(values []string) string {
	out := make([]string, len(values))
	for i, s := range values {
		out[i] = textLiteral(s)
	}
	return "(" + strings.Join(out, ", ") + ")"
}

func textLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

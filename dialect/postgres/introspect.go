package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// The catalog queries name everything by its schema, pass and return text only, and take one parameter: the
// tables. The first query takes their names, the others (parts) their OIDs; the first column of each result of these
// is the table's OID.
const (
	tableQuery = `
SELECT a.ord::text, c.oid::text, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text,
  (c.relrowsecurity OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '2'))::text,
  (c.relrowsecurity OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '4'))::text,
  (c.relrowsecurity OR EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '3'))::text,
  (c.oid IN (SELECT k.confrelid FROM pg_catalog.pg_constraint k WHERE k.contype = 'f' AND (k.confupdtype <> 'a' OR k.confdeltype <> 'a')))::text,
  (c.relkind <> 'p' AND EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid))::text,
  EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type = '2')::text,
  CASE WHEN c.relkind <> 'r' OR c.relpersistence <> 'p' OR c.relreplident = 'f' OR EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisvalid
    AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident)) THEN false ELSE EXISTS (SELECT 1 FROM pg_catalog.pg_publication p
    CROSS JOIN LATERAL pg_catalog.pg_get_publication_tables(p.pubname::text) v WHERE p.pubupdate AND v.relid = c.oid) END::text,
  ` + hasQuery + `
FROM pg_catalog.json_array_elements_text($1::text::pg_catalog.json) WITH ORDINALITY AS a(name, ord)
JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(a.name) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY a.ord`

	columnQuery = `
SELECT a.attrelid::text, a.attname::text, pg_catalog.format_type(b.oid, b.typmod)::text,
  CASE WHEN a.attcollation <> 0 AND a.attcollation <> y.typcollation THEN (SELECT pg_catalog.quote_ident(m.nspname) || '.' || pg_catalog.quote_ident(l.collname)
    FROM pg_catalog.pg_collation l JOIN pg_catalog.pg_namespace m ON m.oid = l.collnamespace WHERE l.oid = a.attcollation) END::text,
  (NOT a.attnotnull)::text, a.attidentity::text, a.attgenerated::text,
  (a.attgenerated = '' AND COALESCE(pg_catalog.pg_get_expr(f.adbin, f.adrelid) LIKE 'nextval(%', false))::text,
  CASE WHEN y.typnamespace = 'pg_catalog'::pg_catalog.regnamespace THEN y.typname ELSE '' END::text, b.typmod::text, b.checked::text, a.attnum::text,
  (a.attgenerated = '' AND COALESCE(pg_catalog.pg_get_expr(f.adbin, f.adrelid) NOT LIKE 'nextval(%' AND pg_catalog.pg_get_expr(f.adbin, f.adrelid) NOT LIKE 'NULL%', false))::text,
  COALESCE((SELECT '"' || pg_catalog.replace(m.nspname, '"', '""') || '"."' || pg_catalog.replace(o.typname, '"', '""') || '"' FROM pg_catalog.pg_type o JOIN pg_catalog.pg_namespace m ON m.oid = o.typnamespace
    WHERE o.oid = a.atttypid AND o.typtype = 'd'), ''),
  CASE WHEN a.attgenerated <> '' THEN pg_catalog.pg_get_expr(f.adbin, f.adrelid) END
FROM pg_catalog.pg_attribute a
CROSS JOIN LATERAL (
  WITH RECURSIVE d(oid, typmod, depth, checked) AS (
    SELECT a.atttypid, a.atttypmod, 0, false
    UNION ALL
    SELECT t.typbasetype, CASE WHEN d.typmod >= 0 THEN d.typmod ELSE t.typtypmod END, d.depth + 1,
      d.checked OR EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid AND k.contype = 'c')
    FROM d JOIN pg_catalog.pg_type t ON t.oid = d.oid WHERE t.typtype = 'd')
  SELECT d.oid, d.typmod, d.checked FROM d ORDER BY d.depth DESC LIMIT 1) b
JOIN pg_catalog.pg_type y ON y.oid = b.oid
LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
WHERE a.attrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::text::pg_catalog.oid[]))) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum`

	// A generated column's sources hang on the column up to version 14 and on
	// its expression later.
	dependQuery = `
SELECT DISTINCT f.adrelid::text, f.adnum::text, a.attname::text
FROM pg_catalog.pg_attrdef f
JOIN pg_catalog.pg_depend p ON p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.refobjid = f.adrelid AND p.refobjsubid > 0 AND p.refobjsubid <> f.adnum
  AND (p.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND p.objid = f.oid
    OR p.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.objid = f.adrelid AND p.objsubid = f.adnum)
JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = p.refobjsubid
WHERE f.adrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::text::pg_catalog.oid[]))) ORDER BY 1, 2, 3`

	// The tables, and those below them: partitions, and what inherits.
	below = `
WITH RECURSIVE below (root, rel) AS (
  SELECT o, o FROM pg_catalog.unnest($1::text::pg_catalog.oid[]) AS o
  UNION SELECT b.root, h.inhrelid FROM below b JOIN pg_catalog.pg_inherits h ON h.inhparent = b.rel)`

	uniqueQuery = `
SELECT i.indrelid::text, x.relname::text, i.indisprimary::text, a.attname::text,
  (NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conindid = x.oid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u')))::text,
  CASE WHEN y.typcategory = 'C' AND i.indpred IS NOT NULL THEN 'false' ELSE pg_catalog.pg_get_expr(i.indpred, i.indrelid) END
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS u(attnum, ord)
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.attnum JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
WHERE i.indrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::text::pg_catalog.oid[]))) AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indexprs IS NULL
  AND u.ord <= i.indnkeyatts
ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid, u.ord`

	// Indexes that have rows in one order of their columns.
	orderQuery = `
SELECT i.indrelid::text, pg_catalog.json_agg(a.attname ORDER BY u.ord)::text
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid JOIN pg_catalog.pg_am m ON m.oid = x.relam AND m.amname = 'btree'
CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS u(attnum, ord)
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.attnum
WHERE i.indrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::text::pg_catalog.oid[]))) AND i.indisvalid AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
  AND u.ord <= i.indnkeyatts
GROUP BY i.indrelid, i.indexrelid HAVING pg_catalog.count(DISTINCT i.indoption[u.ord - 1]::pg_catalog.int4 & 1) = 1`

	// The unique keys that uniqueQuery leaves out, those of partitions and of tables that
	// inherit among them, with every column that they mention.
	partialUniqueQuery = `
SELECT DISTINCT b.root::text, x.relname::text, a.attname::text,
  (b.rel = b.root AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL)::text
FROM below b JOIN pg_catalog.pg_index i ON i.indrelid = b.rel JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum > 0 AND (
  a.attnum = ANY (i.indkey::pg_catalog.int2[]) OR ` + wholeRow + ` OR EXISTS (
    SELECT 1 FROM pg_catalog.pg_depend p
    WHERE p.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.objid = i.indexrelid
      AND p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.refobjid = i.indrelid AND p.refobjsubid = a.attnum))
WHERE i.indisunique AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhrelid = i.indexrelid)
ORDER BY 1, 2, 3`

	// A foreign key to a partitioned table has another one to each partition below
	// it, which are left out. It does nothing while the triggers that carry it out are disabled
	// (DISABLE TRIGGER ALL).
	referringQuery = `
SELECT k.conrelid::text, (SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = k.conrelid AND a.attnum = k.conkey[u.ord]), k.oid::text,
  n.nspname::text, c.relname::text, (SELECT b.attname::text FROM pg_catalog.pg_attribute b WHERE b.attrelid = k.confrelid AND b.attnum = k.confkey[u.ord]),
  (k.confdeltype = 'c' AND f.fires)::text, (k.confupdtype = 'c' AND f.fires)::text
FROM pg_catalog.pg_constraint k CROSS JOIN LATERAL pg_catalog.generate_subscripts(k.conkey, 1) AS u(ord)
JOIN pg_catalog.pg_class c ON c.oid = k.confrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (SELECT NOT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g
  WHERE g.tgconstraint = k.oid AND g.tgrelid = k.confrelid AND g.tgenabled NOT IN ('O', 'A')) AS fires) f
WHERE k.conrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::text::pg_catalog.oid[]))) AND k.contype = 'f' AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint o WHERE o.oid = k.conparentid AND o.conrelid = k.conrelid)
ORDER BY k.conrelid, k.oid, u.ord`
)

var _ dialect.Describer = (*Dialect)(nil)

// Table reads what the catalogs say of a table.
func (d *Dialect) Table(ctx context.Context, s dialect.Session, schema, name string) (*schema.Table, error) {
	found, err := d.Describe(ctx, s, []dialect.WrittenName{{Schema: schema, Name: name}}, dialect.MayHide)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// described is a table while it is read.
type described struct {
	*schema.Table
	places     map[string]int             // of the columns, by catalog number
	generated  []string                   // the expressions of columns, "" for those that are not generated
	checked    map[string]bool            // columns that something may refuse a value of
	constraint string                     // whose columns are being read
	partial    map[string]map[string]bool // the columns of partial unique keys, by their name
	present    presentKeys
}

// Describe implements dialect.Describer. Row security counts as triggers, because it
// may change which rows a statement touches. Which table a name means, temporary
// ones included, the server says.
func (d *Dialect) Describe(
	ctx context.Context,
	s dialect.Session,
	names []dialect.WrittenName,
	_ dialect.Temporary,
) ([]*schema.Table, error) {
	return describe(ctx, s, names, partsOf)
}

// describe reads the facts of tables, of the parts that are asked for of tables that have these.
func describe(ctx context.Context, s dialect.Session, names []dialect.WrittenName, of func(has string) []part) ([]*schema.Table, error) {
	out := make([]*schema.Table, len(names))
	rows, err := s.Query(ctx, tableQuery, namesJSON(names))
	if err != nil || len(rows) == 0 {
		return out, err
	}
	tables := map[string]*described{}
	var oids []string
	has := ""
	for _, r := range rows {
		has += dialect.String(r[13])
		at, err := strconv.Atoi(dialect.String(r[0]))
		if err != nil || at < 1 || at > len(names) {
			return nil, fmt.Errorf("postgres: reading tables: there is no table %v", r[0])
		}
		oid, kind := dialect.String(r[1]), dialect.String(r[4])
		t := tables[oid]
		if t == nil {
			t = &described{Table: &schema.Table{
				Schema:      dialect.String(r[2]),
				Name:        dialect.String(r[3]),
				IsView:      kind == "v" || kind == "m" || kind == "f",
				Temporary:   dialect.String(r[5]) == "t",
				Triggers:    schema.Triggers{Update: yes(r[6]), Ruled: yes(r[6]), UpdateRule: yes(r[11]), Delete: yes(r[7]), Insert: yes(r[8])},
				ForeignKeys: schema.ForeignKeys{Referenced: yes(r[9])},
				Storage:     schema.Storage{Inherited: yes(r[10]), Unlogged: dialect.String(r[5]) == "u", Unidentified: yes(r[12])},
			}, places: map[string]int{}, checked: map[string]bool{}}
			tables[oid] = t
			oids = append(oids, oid)
		}
		out[at-1] = t.Table
	}
	asked := of(has)
	rows, err = s.Query(ctx, describeQuery(asked), "{"+strings.Join(oids, ",")+"}")
	if err != nil {
		return nil, err
	}
	for i, part := range asked {
		var found [][]any
		if rows[0][i] == nil {
			continue
		}
		if err := json.Unmarshal([]byte(dialect.String(rows[0][i])), &found); err != nil {
			return nil, fmt.Errorf("postgres: reading tables: %w", err)
		}
		for _, r := range found {
			if t := tables[dialect.String(r[0])]; t != nil {
				if err := part.each(t, r[1:]); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, t := range tables {
		t.finish()
	}
	return out, nil
}

func (t *described) column(r []any) error {
	c := schema.Column{
		Name:     dialect.String(r[0]),
		Type:     dialect.String(r[1]),
		Nullable: yes(r[3]),
		Identity: dialect.String(r[4]) != "" ||
			yes(r[6]),
		Always:     dialect.String(r[4]) == "a",
		Generated:  dialect.String(r[5]) != "",
		HasDefault: yes(r[11]),
		Domain:     dialect.String(r[12]),
	}
	if r[2] != nil {
		c.Type += " COLLATE " + dialect.String(r[2])
	}
	if err := DescribeNumber(&c, dialect.String(r[7]), dialect.String(r[8])); err != nil {
		return err
	}
	t.checked[c.Name] = yes(r[9])
	t.places[dialect.String(r[10])] = len(t.Columns)
	t.generated = append(t.generated, dialect.String(r[13]))
	t.Columns = append(t.Columns, c)
	return nil
}

func (t *described) dependsOn(r []any) error {
	if i, ok := t.places[dialect.String(r[0])]; ok && t.Columns[i].Generated {
		t.Columns[i].DependsOn = append(t.Columns[i].DependsOn, dialect.String(r[1]))
	}
	return nil
}

func (t *described) unique(r []any) error {
	if t.Storage.Inherited {
		return nil // a unique index does not reach into the tables that inherit from this
	}
	if r[4] != nil {
		t.present.add(dialect.String(r[0]), dialect.String(r[2]), dialect.String(r[4]))
		return nil
	}
	n := len(t.Uniques)
	if n == 0 || t.Uniques[n-1].Name != dialect.String(r[0]) {
		t.Uniques = append(t.Uniques, schema.Unique{Name: dialect.String(r[0]), Primary: yes(r[1]), Index: yes(r[3])})
		n++
	}
	t.Uniques[n-1].Columns = append(t.Uniques[n-1].Columns, dialect.String(r[2]))
	return nil
}

func (t *described) order(r []any) error {
	var columns []string
	if err := json.Unmarshal([]byte(dialect.String(r[0])), &columns); err != nil {
		return fmt.Errorf("postgres: reading the columns of an index: %w", err)
	}
	t.AddOrder(columns...)
	return nil
}

// partialUnique reads a column that a unique key mentions.
func (t *described) partialUnique(r []any) error {
	if whole := yes(r[2]) && !t.Storage.Inherited; whole {
		return nil
	}
	if t.partial == nil {
		t.partial = map[string]map[string]bool{}
	}
	if t.partial[dialect.String(r[0])] == nil {
		t.partial[dialect.String(r[0])] = map[string]bool{}
	}
	t.partial[dialect.String(r[0])][dialect.String(r[1])] = true
	return nil
}

// refers reads a column of a foreign key; constraint is that of the last one.
func (t *described) refers(r []any) error {
	t.Refer(dialect.String(r[0]))
	if t.constraint != dialect.String(r[1]) {
		t.constraint = dialect.String(r[1])
		p := schema.Parent{Schema: dialect.String(r[2]), Name: dialect.String(r[3]), Cascades: yes(r[5]), Rekeys: yes(r[6])}
		t.ForeignKeys.Parents = append(t.ForeignKeys.Parents, p)
	}
	p := &t.ForeignKeys.Parents[len(t.ForeignKeys.Parents)-1]
	p.Columns, p.References = append(p.Columns, dialect.String(r[0])), append(p.References, dialect.String(r[4]))
	return nil
}

// finish sets what takes all columns to know.
func (t *described) finish() {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Generated && len(c.DependsOn) == 0 {
			c.DependsOn = ColumnNames(t.Table, c.Name)
		}
		if c.Generated {
			t.AddGenerated(i, t.generated[i])
		}
	}
	for _, c := range t.Columns {
		if t.checked[c.Name] {
			t.Checked = append(t.Checked, c.Name)
		}
	}
	for name, columns := range t.partial {
		t.AddPartialUnique(name, func(c string) bool { return columns[c] })
	}
	for _, name := range t.present.names() {
		t.MarkPresent(name)
	}
}

// DescribeNumber sets what a column's type says of its numbers.
func DescribeNumber(c *schema.Column, typname, typmod string) error {
	switch typname {
	case "int2":
		c.Numeric, c.Bits = schema.Integer, 16
	case "int4":
		c.Numeric, c.Bits = schema.Integer, 32
	case "int8":
		c.Numeric, c.Bits = schema.Integer, 64
	case "float4", "float8":
		c.Numeric = schema.Float
	case "numeric":
		c.Numeric = schema.Decimal
		mod, err := strconv.Atoi(typmod)
		if err != nil {
			return fmt.Errorf("column %q: type modifier: %w", c.Name, err)
		}
		if mod >= 0 {
			// Eleven bits of signed scale below the precision, plus 4.
			c.Precision = (mod - 4) >> 16 & 0xffff
			c.Scale = ((mod-4)&0x7ff ^ 0x400) - 0x400
		}
	}
	return nil
}

// ColumnNames returns the names of the columns but one.
func ColumnNames(t *schema.Table, except string) []string {
	var out []string
	for _, c := range t.Columns {
		if c.Name != except {
			out = append(out, c.Name)
		}
	}
	return out
}

func yes(v any) bool { return dialect.String(v) == "true" || dialect.String(v) == "t" }

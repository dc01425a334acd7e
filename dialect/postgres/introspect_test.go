package postgres

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

func TestTable(t *testing.T) {
	t.Parallel()
	scale := lowScale(t)
	h := fmt.Sprintf("numeric(3,%d)", scale)
	open := database(t,
		`CREATE DOMAIN positive AS integer CHECK (VALUE > 0)`,
		`CREATE DOMAIN price AS numeric(8,2)`,
		`CREATE TABLE "Odd Name" (
			id bigserial PRIMARY KEY, other int GENERATED ALWAYS AS IDENTITY, slug varchar(20) COLLATE "C" UNIQUE,
			a smallint NOT NULL, b numeric(12,2), c numeric, d real, e money, f positive, g price, h `+h+`,
			sum int GENERATED ALWAYS AS (a + 1) STORED, tags text[], CONSTRAINT range CHECK (a > 0 OR other > 5), UNIQUE (a, b) INCLUDE (c),
			UNIQUE (d) DEFERRABLE)`,
		`CREATE UNIQUE INDEX part ON "Odd Name" (c) WHERE h > 0`,
		`CREATE UNIQUE INDEX lowered ON "Odd Name" (lower(slug))`,
		`CREATE TABLE child (id bigint REFERENCES "Odd Name" ON DELETE CASCADE)`)
	tb, err := New().Table(context.Background(), open(), "", "Odd Name")
	if err != nil {
		t.Fatal(err)
	}
	again, err := New().Table(context.Background(), simpleSession{open()}, "public", "Odd Name")
	if err != nil || !reflect.DeepEqual(tb, again) {
		t.Errorf("simple protocol: %v\n got %+v\nwant %+v", err, again, tb)
	}
	want := []schema.Column{
		{Name: "id", Type: "bigint", Identity: true, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
		{Name: "other", Type: "integer", Identity: true, Always: true, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32}},
		{Name: "slug", Type: `character varying(20) COLLATE pg_catalog."C"`, Nullable: true},
		{Name: "a", Type: "smallint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 16}},
		{Name: "b", Type: "numeric(12,2)", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Decimal, Precision: 12, Scale: 2}},
		{Name: "c", Type: "numeric", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Decimal}},
		{Name: "d", Type: "real", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Float}},
		{Name: "e", Type: "money", Nullable: true},
		{Name: "f", Type: "integer", Domain: `"public"."positive"`, Nullable: true, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32}},
		{Name: "g", Type: "numeric(8,2)", Domain: `"public"."price"`, Nullable: true, NumericType: schema.NumericType{Numeric: schema.Decimal, Precision: 8, Scale: 2}},
		{Name: "h", Type: h, Nullable: true, NumericType: schema.NumericType{Numeric: schema.Decimal, Precision: 3, Scale: scale}},
		{Name: "sum", Type: "integer", Nullable: true, Generated: true, DependsOn: []string{"a"}, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32}},
		{Name: "tags", Type: "text[]", Nullable: true},
	}
	for i, c := range want {
		if i >= len(tb.Columns) || !reflect.DeepEqual(tb.Columns[i], c) {
			t.Errorf("column %d\n got %+v\nwant %+v", i, tb.Columns[i], c)
		}
	}
	uniques := []schema.Unique{
		{Name: "Odd Name_pkey", Primary: true, Columns: []string{"id"}},
		{Name: "Odd Name_slug_key", Columns: []string{"slug"}},
		{Name: "Odd Name_a_b_c_key", Columns: []string{"a", "b"}},
	}
	if !reflect.DeepEqual(tb.Uniques, uniques) {
		t.Errorf("uniques\n got %+v\nwant %+v", tb.Uniques, uniques)
	}
	// The partial, expression and deferrable unique keys count as checks.
	if checked := []string{"other", "slug", "a", "c", "d", "f", "h"}; !reflect.DeepEqual(tb.Checked, checked) {
		t.Errorf("checked %v, want %v", tb.Checked, checked)
	}
	if tb.Schema != "public" || tb.Name != "Odd Name" || tb.Triggers.Update || tb.Triggers.Delete || !tb.ForeignKeys.Referenced || tb.IsView ||
		tb.Temporary {
		t.Errorf("%+v", tb)
	}
}

// What is not asked for, as no table has it, says nothing of them.
func TestPartsOf(t *testing.T) {
	t.Parallel()
	s := database(t,
		`CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
		`CREATE DOMAIN positive AS integer CHECK (VALUE > 0)`,
		`CREATE TABLE t1 (id int PRIMARY KEY, a int, b text UNIQUE)`,
		`CREATE INDEX ON t1 (a, b)`,
		`CREATE TABLE t2 (id int PRIMARY KEY REFERENCES t1 ON DELETE CASCADE, p positive)`,
		`CREATE TABLE t3 (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a + 1) STORED)`,
		`CREATE TABLE t4 (id int PRIMARY KEY, a int CHECK (a > 0))`,
		`CREATE TABLE t5 (id int PRIMARY KEY, a int)`,
		`ALTER TABLE t5 ADD CHECK (a > 0) NOT VALID`,
		`CREATE TABLE t6 (id int PRIMARY KEY, a int, UNIQUE (a) DEFERRABLE)`,
		`CREATE TABLE t7 (id int PRIMARY KEY, a int, EXCLUDE (a WITH =))`,
		`CREATE TABLE t8 (id int PRIMARY KEY, a int)`,
		`CREATE UNIQUE INDEX ON t8 (a) WHERE a > 0`,
		`CREATE TABLE t9 (id int PRIMARY KEY, a int)`,
		`CREATE UNIQUE INDEX ON t9 (abs(a))`,
		`CREATE TABLE t10 (id int PRIMARY KEY, a int)`,
		`CREATE INDEX ON t10 (a) WHERE a > 0`,
		`CREATE TABLE t11 (id int PRIMARY KEY, a int)`,
		`CREATE INDEX ON t11 (abs(a))`,
		`CREATE TABLE t12 (id int PRIMARY KEY, a int CHECK (a > 0))`,
		`CREATE TABLE t13 (UNIQUE (a)) INHERITS (t12)`,
		`CREATE TABLE t14 (id int PRIMARY KEY, a int) PARTITION BY RANGE (id)`,
		`CREATE TABLE t15 (id int PRIMARY KEY, a int) PARTITION BY RANGE (id)`,
		`CREATE TABLE t16 PARTITION OF t15 DEFAULT`,
		`CREATE TABLE t17 (id int PRIMARY KEY, a int)`,
		`CREATE TRIGGER x BEFORE UPDATE ON t17 FOR EACH ROW EXECUTE FUNCTION nothing()`,
		`CREATE VIEW t18 AS SELECT * FROM t1`,
		`CREATE TABLE t19 (id int PRIMARY KEY, a int)`,
		`CREATE TABLE t20 () INHERITS (t19)`,
		`CREATE UNIQUE INDEX ON t20 (a)`,
		`ALTER TABLE t20 ADD CHECK (a > 1)`,
		`CREATE TABLE t21 (id int PRIMARY KEY, a int, EXCLUDE (abs(a) WITH =) WHERE (a > 0))`,
	)()
	for i := range 21 {
		names := []dialect.WrittenName{{Name: fmt.Sprintf("t%d", i+1)}}
		want, err := describe(t.Context(), s, names, func(string) []part { return parts })
		if err != nil {
			t.Fatal(err)
		}
		got, err := New().Describe(t.Context(), s, names, dialect.NoneHides)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", names[0].Name, err, got[0], want[0])
		}
	}
}

func TestTableFacts(t *testing.T) {
	t.Parallel()
	s := database(
		t,
		`CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
		`CREATE TABLE plain (id int PRIMARY KEY, c int)`,
		`CREATE VIEW view AS SELECT * FROM plain`,
		`CREATE MATERIALIZED VIEW mat AS SELECT * FROM plain`,
		`CREATE TABLE updated (id int PRIMARY KEY)`,
		`CREATE TRIGGER x BEFORE UPDATE ON updated FOR EACH ROW EXECUTE FUNCTION nothing()`,
		`CREATE TABLE deleted (id int PRIMARY KEY)`,
		`CREATE TRIGGER x AFTER DELETE ON deleted EXECUTE FUNCTION nothing()`,
		`CREATE TABLE disabled (id int PRIMARY KEY)`,
		`CREATE TRIGGER x BEFORE UPDATE ON disabled FOR EACH ROW EXECUTE FUNCTION nothing()`,
		`ALTER TABLE disabled DISABLE TRIGGER x`,
		`CREATE TABLE ruled (id int PRIMARY KEY)`,
		`CREATE RULE x AS ON UPDATE TO ruled DO ALSO NOTIFY y`,
		`CREATE TABLE secured (id int PRIMARY KEY)`,
		`ALTER TABLE secured ENABLE ROW LEVEL SECURITY`,
		`CREATE TABLE parent (id int PRIMARY KEY)`,
		`CREATE TABLE heir () INHERITS (parent)`,
		`CREATE TABLE parted (id int PRIMARY KEY, c int) PARTITION BY HASH (id)`,
		`CREATE TABLE part PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
		`CREATE TRIGGER x BEFORE UPDATE ON part FOR EACH ROW EXECUTE FUNCTION nothing()`,
		`CREATE TABLE whole (id int PRIMARY KEY, c int, CHECK (whole IS NOT NULL))`,
		`CREATE SEQUENCE seq`,
	)()
	s.exec(`CREATE TEMP TABLE temporary (id int PRIMARY KEY)`)
	s.exec(`CREATE TEMP TABLE plain (id int PRIMARY KEY, other int)`)
	facts := func(schema, name string) *schema.Table {
		t.Helper()
		tb, err := New().Table(context.Background(), s, schema, name)
		if err != nil {
			t.Fatal(err)
		}
		return tb
	}
	for _, c := range []struct {
		schema, name string
		ok           bool
		what         func(*schema.Table) bool
	}{
		{"public", "plain", true, func(tb *schema.Table) bool { return !tb.Temporary && !tb.Triggers.Update && tb.Column("c") != nil }},
		{"", "plain", true, func(tb *schema.Table) bool { return tb.Temporary && tb.Column("other") != nil }},
		{"", "view", true, func(tb *schema.Table) bool { return tb.IsView }},
		{"", "mat", true, func(tb *schema.Table) bool { return tb.IsView }},
		{"", "updated", true, func(tb *schema.Table) bool { return tb.Triggers.Update && !tb.Triggers.Delete }},
		{"", "deleted", true, func(tb *schema.Table) bool { return !tb.Triggers.Update && tb.Triggers.Delete }},
		{"", "disabled", true, func(tb *schema.Table) bool { return !tb.Triggers.Update }},
		{"", "ruled", true, func(tb *schema.Table) bool { return tb.Triggers.Update && !tb.Triggers.Delete }},
		{"", "secured", true, func(tb *schema.Table) bool { return tb.Triggers.Update && tb.Triggers.Delete }},
		{"", "parent", true, func(tb *schema.Table) bool { return len(tb.Uniques) == 0 }},
		{"", "parted", true, func(tb *schema.Table) bool { return len(tb.Uniques) == 1 && tb.Triggers.Update }},
		{"", "whole", true, func(tb *schema.Table) bool { return len(tb.Checked) == 2 }},
		{"", "missing", false, nil}, {"missing", "plain", false, nil}, {"", "seq", false, nil}, {"", "Plain", false, nil},
	} {
		tb := facts(c.schema, c.name)
		if (tb != nil) != c.ok || c.ok && !c.what(tb) {
			t.Errorf("%s.%s: %+v", c.schema, c.name, tb)
		}
	}
	// Without any schema in the search path, and one object per name of
	// pg_catalog in its way.
	s.run(
		`CREATE SCHEMA shadow`,
		`CREATE TABLE shadow.pg_class (x int)`,
		`CREATE TABLE shadow.pg_attribute (x int)`,
		`SET search_path TO shadow, pg_catalog`,
	)
	if tb := facts("public", "plain"); tb == nil || len(tb.Columns) != 2 {
		t.Errorf("%+v", tb)
	}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	open := database(t, `CREATE SCHEMA a`)
	x, y := open(), open()
	read := func(s *session) any {
		n, err := New().Namespace(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if read(x) != read(y) {
		t.Errorf("%q %q", read(x), read(y))
	}
	before := read(x)
	x.exec("SET search_path TO a, public")
	if read(x) == before {
		t.Error("search_path makes no difference")
	}
	x.exec("RESET search_path")
	x.exec("CREATE TEMP TABLE t (id int)")
	if read(x) == before {
		t.Error("a temporary schema makes no difference")
	}
}

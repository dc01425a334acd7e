package mysql

import (
	"reflect"
	"testing"

	"github.com/slotsql/slotsql/rewrite/schema"
)

func TestTable(t *testing.T) {
	d := served(t)
	s := sessions(t, 1)[0]
	s.run(
		"CREATE TABLE posts (id INT UNSIGNED NOT NULL AUTO_INCREMENT, slug VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,"+
			" a INT, b SMALLINT NOT NULL DEFAULT 3, views BIGINT NOT NULL DEFAULT 0, price DECIMAL(12,3), ratio DOUBLE, padded INT(5) ZEROFILL,"+
			" twice BIGINT AS (views * 2) VIRTUAL, changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, body TEXT,"+
			" PRIMARY KEY (id), UNIQUE KEY z (slug), UNIQUE KEY ab (b, a), UNIQUE KEY pre (body(10)), KEY (a), CONSTRAINT c1 CHECK (`views` >= 0 AND price < 100))",
		"CREATE TABLE child (p INT UNSIGNED, FOREIGN KEY (p) REFERENCES posts (id) ON DELETE CASCADE)",
		"CREATE VIEW pv AS SELECT * FROM posts",
		"CREATE TRIGGER tr BEFORE DELETE ON posts FOR EACH ROW SET @x = 1",
	)
	tab, err := d.Table(t.Context(), s, "", "posts")
	if err != nil {
		t.Fatal(err)
	}
	if tab.Schema != s.one("SELECT DATABASE()") || tab.Name != "posts" || tab.IsView || tab.Temporary || tab.Triggers.Update ||
		!tab.Triggers.Delete ||
		!tab.ForeignKeys.Referenced {
		t.Errorf("%+v", tab)
	}
	if want := []schema.Unique{
		{Name: "PRIMARY", Primary: true, Columns: []string{"id"}},
		{Name: "ab", Columns: []string{"b", "a"}},
		{Name: "z", Columns: []string{"slug"}},
	}; !reflect.DeepEqual(tab.Uniques, want) {
		t.Errorf("uniques %+v", tab.Uniques)
	}
	if want := []string{"views", "price"}; !reflect.DeepEqual(tab.Checked, want) {
		t.Errorf("checked %v", tab.Checked)
	}
	for _, want := range []schema.Column{
		{Name: "id", Type: "int(10) unsigned", Identity: true, NumericType: schema.NumericType{Numeric: schema.Integer, Unsigned: true, Bits: 32}},
		{Name: "slug", Type: "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"},
		{Name: "b", Type: "smallint(6)", HasDefault: true, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 16}},
		{Name: "a", Type: "int(11)", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32}},
		{Name: "price", Type: "decimal(12,3)", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Decimal, Precision: 12, Scale: 3}},
		{Name: "ratio", Type: "double", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Float}},
		{Name: "padded", Type: "int(5) unsigned zerofill", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Integer, Unsigned: true, Padded: true, Bits: 32}},
		{Name: "twice", Type: "bigint(20)", Nullable: true, Generated: true, DependsOn: []string{"views"}, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
		{Name: "changed", Type: "timestamp", HasDefault: true, Default: schema.DefaultNow, OnUpdate: true},
	} {
		want.Type = narrow(t, want.Type)
		if got := tab.Column(want.Name); got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
	if tab, err := d.Table(t.Context(), s, "", "Posts"); tab != nil || err != nil {
		t.Errorf("another letter case: %v %v", tab, err)
	}
	if tab, err := d.Table(t.Context(), s, "nowhere", "posts"); tab != nil || err != nil {
		t.Errorf("another schema: %v %v", tab, err)
	}
	if tab, err := d.Table(t.Context(), s, "", "pv"); err != nil || !tab.IsView {
		t.Errorf("view: %v %v", tab, err)
	}
	s.run("CREATE TEMPORARY TABLE child (x INT)")
	if tab, err := d.Table(t.Context(), s, "", "child"); err != nil || !tab.Temporary {
		t.Errorf("temporary: %v %v", tab, err)
	}
}

func TestSession(t *testing.T) {
	d := served(t)
	s := sessions(t, 1)[0]
	want := func(want bool, after string) {
		t.Helper()
		got, err := d.InTransaction(t.Context(), s)
		if err != nil || got != want {
			t.Errorf("after %s: %v, %v", after, got, err)
		}
	}
	s.run("CREATE TABLE x (i INT)", "SET autocommit = 0")
	s.run("SELECT * FROM x")
	want(true, "SELECT with autocommit off")
	s.run("ROLLBACK", "SET autocommit = 1")
	want(false, "autocommit on")
	ns, err := d.Namespace(t.Context(), s)
	if err != nil || ns.Names != s.one("SELECT DATABASE()") {
		t.Errorf("namespace %q, %v", ns, err)
	}
	s.run("SET sql_mode = 'ANSI_QUOTES'")
	if quotes, err := d.Namespace(t.Context(), s); err != nil || quotes == ns || d.In(quotes.Names).LexRules().DoubleString ||
		d.In(ns.Names) != d {
		t.Errorf("namespace with ANSI_QUOTES %q, %v", quotes, err)
	}
	if server, err := ForServer(t.Context(), s); err != nil || server.FoldTableNames || server.NoWait != noWait(s.one("SELECT VERSION()")) {
		t.Errorf("server %+v, %v", server, err)
	}
}

package sqlite

import (
	"reflect"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// A schema file says the same of its tables as a database in which it was run.
func TestParseSchema(t *testing.T) {
	for _, c := range []struct{ name, sql string }{
		{"rowid", "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT NOT NULL DEFAULT 'x', views int DEFAULT 0, r REAL, d DECIMAL(10, 2), x, n INT DEFAULT NULL, m INT DEFAULT (1 + 1), o DEFAULT -1, p DEFAULT CURRENT_TIMESTAMP)"},
		{"rowid descending", "CREATE TABLE t (id INTEGER PRIMARY KEY DESC)"},
		{"rowid by table constraint", "CREATE TABLE t (v INT UNIQUE, id integer, PRIMARY KEY (id DESC))"},
		{"not a rowid", "CREATE TABLE t (id INT PRIMARY KEY, v BIGINT NOT NULL)"},
		{"text key", "CREATE TABLE t (id TEXT PRIMARY KEY COLLATE NOCASE, v INT, UNIQUE (v, id)); CREATE UNIQUE INDEX part ON t (v) WHERE v > 0; CREATE UNIQUE INDEX expr ON t (v + 1); CREATE INDEX plain ON t (v)"},
		{"index collations", "CREATE TABLE t (a TEXT, b TEXT COLLATE NOCASE); CREATE UNIQUE INDEX i ON t (a COLLATE NOCASE); CREATE UNIQUE INDEX j ON t (b COLLATE BINARY)"},
		{"order of indexes", "CREATE TABLE t (a INT UNIQUE ON CONFLICT REPLACE, b INT UNIQUE, c TEXT UNIQUE COLLATE NOCASE, UNIQUE (a), UNIQUE (b, c), PRIMARY KEY (b)); CREATE UNIQUE INDEX z ON t (c, a); CREATE UNIQUE INDEX y ON t (a, c DESC)"},
		{"without rowid", "CREATE TABLE t (a INTEGER, b TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID"},
		{"without rowid, integer", "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT UNIQUE) WITHOUT ROWID"},
		{"strict", "CREATE TABLE t (id ANY PRIMARY KEY, n INT, v ANY, b BLOB, r REAL) STRICT; CREATE TABLE u (id INTEGER PRIMARY KEY, n TEXT) STRICT, WITHOUT ROWID"},
		{"checks and generated", "CREATE TABLE t (a INT CHECK (a > 0), b INT, c INT AS (b * 2), d INT GENERATED ALWAYS AS (a) STORED, e INT, f INT, CONSTRAINT x CHECK (c < 100), CHECK (\"F\" > 1))"},
		{"added column", "CREATE TABLE t (a INT); ALTER TABLE t ADD COLUMN b INT NOT NULL DEFAULT 1 CHECK (b >= a); ALTER TABLE t ADD c INT AS (a)"},
		{"renamed", "CREATE TABLE old (a INT UNIQUE); ALTER TABLE old RENAME TO t"},
		{"triggers", "CREATE TABLE t (a INT); CREATE TRIGGER slotsql_x_update AFTER UPDATE OF a ON t BEGIN SELECT CASE WHEN 1 THEN 2 END; END; CREATE TABLE u (a); CREATE TRIGGER d BEFORE DELETE ON u BEGIN SELECT 1; END; CREATE TRIGGER i AFTER INSERT ON u BEGIN SELECT 1; END"},
		{"targets", "CREATE TABLE t (a INTEGER PRIMARY KEY, b, \"C c\"); CREATE TABLE u (x REFERENCES T (B), y REFERENCES u, z REFERENCES u (x) ON DELETE CASCADE, FOREIGN KEY (x, y) REFERENCES t (b, \"c C\"))"},
		{"referenced", "CREATE TABLE u (b REFERENCES T ON DELETE CASCADE); CREATE TABLE t (a INTEGER PRIMARY KEY); CREATE TABLE v (x REFERENCES w ON DELETE NO ACTION ON UPDATE RESTRICT); CREATE TABLE w (y TEXT PRIMARY KEY REFERENCES t (a) ON UPDATE SET NULL)"},
		{"odd names", "CREATE TABLE [a t] (\"true\" INT, \"a b\" \"check\", n INT COLLATE NOCASE, `c``d` VARCHAR ( 20 ), 'e' UNSIGNED BIG INT, f \"INT\", PRIMARY KEY (\"a b\", [true]))"},
		{"dropped", "CREATE TABLE t (a INT); CREATE TABLE IF NOT EXISTS T (b INT); CREATE TABLE u (a INT UNIQUE); DROP TABLE u; CREATE TABLE u (b INT); CREATE UNIQUE INDEX x ON u (b); DROP INDEX x"},
		{"dump", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE IF NOT EXISTS \"main\".\"t\" (a INT, -- it's; a comment\n b INT);\nINSERT INTO t VALUES(1,'x;y');\nCREATE TEMP TABLE u (a); CREATE TEMP TRIGGER q BEFORE INSERT ON u BEGIN SELECT 1; END;\nCOMMIT;\nANALYZE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := open(t, false, c.sql)
			got, err := New().ParseSchema(c.sql)
			if err != nil {
				t.Fatal(err)
			}
			names := strings.Split(e.query("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"), "; ")
			if len(names) != len(got) {
				t.Fatalf("%d tables, want %v", len(got), names)
			}
			for _, name := range names {
				want, err := New().Table(t.Context(), e, "main", name)
				if err != nil || want == nil {
					t.Fatal(want, err)
				}
				want.ForeignKeys.Parents = nil // told by databases only
				want.Checks = nil              // a file that changes a table knows fewer
				for _, tb := range got {
					tb.Checks = nil
					for _, list := range [][]rewrite.Computed{tb.Storage.Computed, want.Storage.Computed} {
						for i := range list {
							list[i].SQL = ""
						}
					}
					if tb.Name == want.Name && !reflect.DeepEqual(tb, want) {
						t.Errorf("got\n%s\n%+v\nwant\n%s\n%+v", facts(tb), *tb, facts(want), *want)
					}
				}
			}
		})
	}
}

func TestParseSchemaOwn(t *testing.T) {
	d := New()
	base, err := d.ParseSchema("CREATE TABLE p (id INTEGER PRIMARY KEY, views INT)")
	if err != nil {
		t.Fatal(err)
	}
	p := base[0]
	p.Counter = &rewrite.Counter{
		Key:       []string{"id"},
		Counters:  []string{"views"},
		Slots:     8,
		SlotTable: rewrite.SlotTable{Schema: "main", Name: "p_slots", Column: "slot"},
	}
	sql := "CREATE TABLE p (id INTEGER PRIMARY KEY, views INT);\n" + strings.Join(d.CreateSlots(p), ";\n")
	all, err := d.ParseSchema(sql)
	if err != nil {
		t.Fatal(err)
	}
	if q := all[0]; len(all) != 2 || q.Triggers.Update || q.Triggers.Delete || q.ForeignKeys.Referenced {
		t.Errorf("own triggers count: %+v", q)
	}
}

func TestParseSchemaOther(t *testing.T) {
	d := New()
	all, err := d.ParseSchema("CREATE VIEW v AS SELECT 1; CREATE VIRTUAL TABLE f USING fts5(x); SELECT nonsense from from; DROP VIEW v")
	if err != nil || len(all) != 2 || !all[0].IsView || all[1].Name != "f" {
		t.Errorf("%+v %v", all, err)
	}
	for sql, want := range map[string]string{
		"\nCREATE TABLE t (a INT,,)":                      "line 2: CREATE TABLE t (a INT,,): ",
		"CREATE TABLE t AS SELECT 1":                      "write them out",
		"ALTER TABLE t ADD c":                             "is not defined earlier in the schema file",
		"CREATE TABLE t (a); ALTER TABLE t DROP COLUMN a": "write the table's final definition",
		"CREATE TABLE t (a, PRIMARY KEY (b))":             "does not exist",
	} {
		if _, err := d.ParseSchema(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

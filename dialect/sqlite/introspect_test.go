package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// facts writes a table's facts, one line each.
func facts(t *schema.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.%s", t.Schema, t.Name)
	for flag, on := range map[string]bool{" view": t.IsView, " temporary": t.Temporary} {
		if on {
			b.WriteString(flag)
		}
	}
	for flag, on := range map[string]bool{"update": t.Triggers.Update, "delete": t.Triggers.Delete} {
		if on {
			b.WriteString(" trigger:" + flag)
		}
	}
	if t.ForeignKeys.Referenced {
		b.WriteString(" referenced")
	}
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "\n%s %s", c.Name, c.Type)
		kind := [...]string{"", " integer", " decimal", " float"}[c.Numeric]
		b.WriteString(kind)
		for _, f := range []struct {
			name string
			on   bool
		}{{" null", c.Nullable}, {" identity", c.Identity}, {" default", c.HasDefault}} {
			if f.on {
				b.WriteString(f.name)
			}
		}
		if c.Generated {
			b.WriteString(" from " + strings.Join(c.DependsOn, ","))
		}
	}
	for _, u := range t.Uniques {
		b.WriteString("\nunique " + strings.Join(u.Columns, ","))
		if u.Primary {
			b.WriteString(" primary")
		}
	}
	if len(t.Checked) > 0 {
		b.WriteString("\nchecked " + strings.Join(t.Checked, ","))
	}
	return b.String()
}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup []string
		want  string
	}{
		{"rowid", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT NOT NULL DEFAULT 'x', views int DEFAULT 0, r REAL, d DECIMAL(10, 2), x)"},
			"main.t\nid INTEGER integer identity\na TEXT default\nviews INT integer null default\nr REAL float null\nd DECIMAL(10, 2) float null\nx  null\nunique id primary"},
		{"rowid descending", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY DESC)"},
			"main.t\nid INTEGER integer null\nunique id primary"},
		{"text key", []string{"CREATE TABLE t (id TEXT PRIMARY KEY COLLATE NOCASE, v INT, UNIQUE (v, id))", "CREATE UNIQUE INDEX part ON t (v) WHERE v > 0", "CREATE UNIQUE INDEX expr ON t (v + 1)", "CREATE INDEX plain ON t (v)"},
			"main.t\nid TEXT COLLATE \"NOCASE\" null\nv INT integer null\nunique id primary\nunique v,id"},
		{"index collations", []string{"CREATE TABLE t (a TEXT, b TEXT COLLATE NOCASE)", "CREATE UNIQUE INDEX i ON t (a COLLATE NOCASE)", "CREATE UNIQUE INDEX j ON t (b COLLATE BINARY)"},
			"main.t\na TEXT COLLATE BINARY null\nb TEXT COLLATE \"NOCASE\" null\nunique a"},
		{"without rowid", []string{"CREATE TABLE t (a INTEGER, b TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID"},
			"main.t\na INTEGER integer\nb TEXT\nunique b,a primary"},
		{"without rowid, integer", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY) WITHOUT ROWID"},
			"main.t\nid INTEGER integer\nunique id primary"},
		{"strict", []string{"CREATE TABLE t (id ANY PRIMARY KEY, n INT, v ANY) STRICT"},
			"main.t\nid BLOB\nn INT integer null\nv BLOB null\nunique id primary"},
		{"checks and generated", []string{"CREATE TABLE t (a INT CHECK (a > 0), b INT, c INT AS (b * 2), d INT AS (a) STORED, e INT, CONSTRAINT x CHECK (c < 100))"},
			"main.t\na INT integer null\nb INT integer null\nc INT integer null from b\nd INT integer null from a\ne INT integer null\nchecked a,b,c"},
		{"added column", []string{"CREATE TABLE t (a INT)", "ALTER TABLE t ADD COLUMN b INT CHECK (b >= a)"},
			"main.t\na INT integer null\nb INT integer null\nchecked a,b"},
		{"triggers", []string{"CREATE TABLE t (a INT)", "CREATE TRIGGER slotsql_x_update AFTER UPDATE OF a ON t BEGIN SELECT 1; END"},
			"main.t trigger:update\na INT integer null"},
		{"temporary trigger", []string{"CREATE TABLE t (a INT)", "CREATE TEMP TRIGGER x BEFORE DELETE ON t BEGIN SELECT 1; END"},
			"main.t trigger:delete\na INT integer null"},
		{"insert trigger", []string{"CREATE TABLE t (a INT)", "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END"},
			"main.t\na INT integer null"},
		{"referenced", []string{"CREATE TABLE t (a INTEGER PRIMARY KEY)", "CREATE TABLE u (b REFERENCES T ON DELETE CASCADE)"},
			"main.t referenced\na INTEGER integer identity\nunique a primary"},
		{"view", []string{"CREATE TABLE u (a INT)", "CREATE VIEW t AS SELECT a, 1 AS b FROM u"},
			"main.t view\na INT integer null\nb  null"},
		{"temporary", []string{"CREATE TABLE t (a)", "CREATE TEMP TABLE T (b INT)"},
			"temp.T temporary\nb INT integer null"},
		{"attached", []string{"ATTACH ':memory:' AS \"other db\"", "CREATE TABLE \"other db\".t (a INT)"},
			"other db.t\na INT integer null"},
		{"odd names", []string{"CREATE TABLE t (\"true\" INT, \"a b\" \"check\", n INT COLLATE NOCASE)"},
			"main.t\ntrue INT null\na b NUMERIC float null\nn INT COLLATE \"NOCASE\" null"},
		{"none", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := open(t, false, c.setup...)
			got, err := New().Table(t.Context(), e, "", "T")
			if err != nil {
				t.Fatal(err)
			}
			if got == nil {
				if c.want != "" {
					t.Fatal("no table")
				}
				return
			}
			if got := facts(got); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// slotsql's own triggers and foreign key are no facts of the application's.
func TestTableOwn(t *testing.T) {
	e := open(t, true, "CREATE TABLE p (id INTEGER PRIMARY KEY, views INT)")
	e.counters("p", []string{"id"}, "views")
	p, err := New().Table(t.Context(), e, "main", "P")
	if err != nil {
		t.Fatal(err)
	}
	if p.Triggers.Update || p.Triggers.Delete || p.ForeignKeys.Referenced {
		t.Errorf("own triggers count: %+v", p)
	}
	if q, err := New().Table(t.Context(), e, "nowhere", "p"); q != nil || err != nil {
		t.Errorf("unknown schema: %v, %v", q, err)
	}
}

// Triggers survive what applications do to their tables.
func TestTableAltered(t *testing.T) {
	bothForeignKeys(t, func(t *testing.T, on bool) {
		e := open(t, on, "CREATE TABLE p (id INTEGER PRIMARY KEY, views INTEGER)", "INSERT INTO p VALUES (1, 1)")
		p := e.counters("p", []string{"id"}, "views")
		e.add(p, "id = 1", 1, "4", "views")
		e.exec("ALTER TABLE p ADD COLUMN note TEXT")
		e.exec("ALTER TABLE p RENAME COLUMN note TO memo")
		e.exec("ALTER TABLE p DROP COLUMN memo")
		e.exec("ALTER TABLE p RENAME COLUMN views TO seen")
		e.exec("ALTER TABLE p RENAME COLUMN seen TO views")
		e.total("5", p, "1")
		e.exec("ALTER TABLE p RENAME TO q")
		e.exec("DELETE FROM q")
		e.want("0", "SELECT COUNT(*) FROM p_slots")
	})
}

func TestNamespace(t *testing.T) {
	e := open(t, false, "CREATE TABLE t (a)")
	namespace := func() string {
		t.Helper()
		s, err := New().Namespace(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return s.Names
	}
	seen := map[string]string{namespace(): "start"}
	for _, s := range []string{"CREATE TEMP TABLE t (a)", "ATTACH ':memory:' AS x", "ATTACH ':memory:' AS y", "CREATE TEMP VIEW v AS SELECT 1"} {
		e.exec(s)
		if old, ok := seen[namespace()]; ok {
			t.Errorf("%s: same namespace as after %s", s, old)
		}
		seen[namespace()] = s
	}
	for _, s := range []string{"DROP VIEW v", "DETACH y", "DETACH x", "DROP TABLE temp.t"} {
		e.exec(s)
	}
	if seen[namespace()] != "start" {
		t.Errorf("namespace did not come back: %q", namespace())
	}
}

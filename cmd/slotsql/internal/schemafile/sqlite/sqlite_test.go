package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

func TestTables(t *testing.T) {
	for _, c := range []struct{ name, sql, want string }{
		{
			"in the file's order", "CREATE TABLE z (a INTEGER PRIMARY KEY, b INT UNIQUE); CREATE TABLE a (b); CREATE VIEW m AS SELECT x FROM nowhere",
			"z[a b] a[b] m view",
		},
		{
			"changed", `CREATE TABLE old (a INT UNIQUE, c); CREATE TABLE gone (a); CREATE VIEW v AS SELECT 1; ALTER TABLE old RENAME TO t;
ALTER TABLE t ADD COLUMN b INT NOT NULL DEFAULT 1 CHECK (b >= a); ALTER TABLE t DROP COLUMN c; DROP TABLE gone; DROP VIEW v; CREATE TABLE IF NOT EXISTS t (x)`,
			"t[a b]",
		},
		{
			"dump", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE IF NOT EXISTS \"main\".\"t\" (a INT, -- it's; a comment\n b INT);\n" +
				"INSERT INTO t VALUES(1,'x;y');\nCREATE TEMP TABLE u (a); CREATE TEMP TRIGGER q BEFORE INSERT ON u BEGIN SELECT 1; END;\nCOMMIT;\nANALYZE",
			"t[a b]",
		},
		{"shell's schema", "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT); CREATE TABLE sqlite_sequence(name,seq)", "t[a]"},
		{"from a query", "CREATE TABLE t (a INT); CREATE TABLE u AS SELECT a, 1 AS b FROM t", "t[a] u[a b]"},
		{"virtual", "CREATE VIRTUAL TABLE f USING fts5(x); CREATE VIRTUAL TABLE g USING absent(x); CREATE TABLE t (a)", "f[] t[a]"},
		{
			"the application's own", `CREATE TABLE t (a TEXT COLLATE german UNIQUE, b TEXT CHECK (b REGEXP '^x'), c AS (slug(a)));
CREATE UNIQUE INDEX i ON t (initials(b)); CREATE INDEX j ON t (b COLLATE french)`,
			"t[a b c]",
		},
		{"nothing of tables", "SELECT nonsense from from; UPDATE t SET x = 1", ""},
	} {
		got, err := Tables(c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var list []string
		for _, table := range got {
			var columns []string
			for _, column := range table.Columns {
				columns = append(columns, column.Name)
			}
			if table.IsView {
				list = append(list, table.Name+" view")
			} else {
				list = append(list, fmt.Sprintf("%s%v", table.Name, columns))
			}
		}
		if s := strings.Join(list, " "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.name, s, c.want)
		}
	}
}

// The triggers of a slot table are slotsql's own, and are not the application's.
func TestTablesOwn(t *testing.T) {
	const create = "CREATE TABLE p (id INTEGER PRIMARY KEY, views INT)"
	base, err := Tables(create)
	if err != nil {
		t.Fatal(err)
	}
	p := base[0]
	p.Counter = &schema.Counter{
		Key:       []string{"id"},
		Counters:  []string{"views"},
		Slots:     8,
		SlotTable: schema.SlotTable{Schema: "main", Name: "p_slots", Column: "slot"},
	}
	all, err := Tables(create + ";\n" + strings.Join(sqlite.New().CreateSlots(p), ";\n"))
	if err != nil {
		t.Fatal(err)
	}
	if q := all[0]; len(all) != 2 || q.Triggers.Update || q.Triggers.Delete || q.ForeignKeys.Referenced {
		t.Errorf("own triggers count: %+v", q)
	}
}

func TestErrors(t *testing.T) {
	for sql, want := range map[string]string{
		"\nCREATE TABLE t (a INT,,)":                     `line 2: CREATE TABLE t (a INT,,): SQL logic error: near ",": syntax error`,
		"ALTER TABLE t ADD c":                            "no such table: t",
		"CREATE TABLE t (a, PRIMARY KEY (b))":            "no such column: b",
		"CREATE TABLE t (a); CREATE UNIQUE INDEX i ON t": "line 1: CREATE UNIQUE INDEX i ON t: ",
	} {
		if _, err := Tables(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

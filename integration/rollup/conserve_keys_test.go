package rollup

import (
	"errors"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// keyKinds are types of keys with two values that stand side by side; "" is the empty
// key.
var keyKinds = map[string][2]string{
	"TIMESTAMP(6)":    {"'2024-10-27 02:30:00.5'", "'2024-10-27 02:30:00.6'"},
	"ENUM('x', '1')":  {"'x'", "'1'"},
	"SET('a', 'b')":   {"'a'", "'a,b'"},
	"FLOAT":           {"CAST(0.1 AS FLOAT)", "CAST(0.2 AS FLOAT)"},
	"DOUBLE":          {"0.1", "0.30000000000000004"},
	"TIME(3)":         {"'-10:00:00.5'", "'838:59:59'"},
	"YEAR":            {"1999", "2001"},
	"BIT(64)":         {"b'1'", "0xffffffffffffffff"},
	"INET6":           {"'::1'", "'::2'"},
	"DATE":            {"'0000-00-00'", "'2024-05-00'"},
	"DATETIME(6)":     {"'0000-00-00'", "'2024-05-01 00:00:00.000001'"},
	"VARCHAR(5)":      {"'ä'", "''"},
	"DECIMAL(10,2)":   {"-1.50", "1.5"},
	"VARBINARY(4)":    {"''", "X'00FF'"},
	"CHAR(3) ASCII":   {"'a'", "'b'"},
	"BIGINT UNSIGNED": {"0", "18446744073709551615"},
	"":                {"", ""},
}

// Drains of tables whatever the type of their key, and of the empty key, move what
// arrives, or nothing.
func TestFoldConservesKeys(t *testing.T) {
	for kind, values := range keyKinds {
		for _, o := range obstacles {
			if o.dialect != "mysql" {
				continue
			}
			for _, layout := range []string{"dedicated", "journal"} {
				t.Run(kind+"/"+o.name+"/"+layout, func(t *testing.T) {
					t.Parallel()
					checkKeyKind(t, kind, values, o, layout)
				})
			}
		}
	}
}

func checkKeyKind(t *testing.T, kind string, values [2]string, o obstacle, layout string) {
	t.Helper()
	schema := []string{"CREATE TABLE posts (id INT NOT NULL UNIQUE, k " + kind + " NOT NULL PRIMARY KEY, views BIGINT NOT NULL)"}
	key, which := "", [2]string{" WHERE id = 1", " WHERE id = 2"}
	for i, v := range values {
		schema = append(schema, fmt.Sprintf("INSERT INTO posts VALUES (%d, %s, 0)", i+1, v))
	}
	if kind == "" {
		which = [2]string{}
		key = "key: [], "
		schema = []string{"CREATE TABLE posts (id INT NOT NULL, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (2, 0)"}
	}
	p := twin.New(t, twin.Options{
		Dialect: "mysql",
		Params:  "sql_mode=''",
		Schema:  schema,
		Config: fmt.Sprintf(
			"version: 1\nauto_migrate: true\ntables: {posts: {%scounters: {views: {}}, slots: 8, placement: random, layout: %s, defer_triggers: %v}}\n",
			key,
			layout,
			o.deferred,
		),
	})
	want := ""
	for i, w := range which {
		if kind == "" && i == 1 {
			break
		}
		for range 2 {
			execAll(t, p.Wrapped, "UPDATE posts SET views = views + 20000"+w)
		}
		want += "40000"
		if kind != "" && i == 0 {
			want += "\n"
		}
	}
	if got := rows(t, p.Under, "SELECT SUM(views) FROM posts"); got != "0" {
		t.Fatalf("base values add up to %s: nothing is slotted", got)
	}
	before := rows(t, p.Under, held)
	execAll(t, p.Under, o.up...)
	if o.name == "float" {
		before = rows(t, p.Under, held)
	}
	for _, query := range []string{"UPDATE posts SET views = 5" + which[1], "UPDATE posts SET views = views * 2", "DELETE FROM posts WHERE views > 7"} {
		tx, err := p.Wrapped.Begin()
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(query)
		if err == nil {
			t.Errorf("%s has run", query)
		} else if !errors.Is(err, slotsql.ErrNotMoved) {
			t.Errorf("%s: %v", query, err)
		}
		_ = tx.Commit()
		if after := rows(t, p.Under, held); after != before {
			t.Fatalf("%s: base rows and slots hold %s, want %s", query, after, before)
		}
	}
	execAll(t, p.Under, o.down...)
	execAll(t, p.Wrapped, "UPDATE posts SET views = views * 1"+which[0])
	execAll(t, p.Wrapped, "UPDATE posts SET views = views * 1")
	if got := rows(t, p.Under, "SELECT views FROM posts ORDER BY id"); got != want && o.name != "float" {
		t.Errorf("at last: %s", got)
	}
	if got := rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots"); got != "0" {
		t.Errorf("%s slot rows are left", got)
	}
}

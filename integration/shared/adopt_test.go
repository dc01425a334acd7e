package shared

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

const adoptConfig = `version: 1
tables:
  posts: {layout: shared, counters: {views: {record_type: 1}, likes: {record_type: 2}}}
`

// slotted is a slot table as other programs make it.
func slotted(dialect, columns string) string {
	if dialect == "sqlite" {
		return "CREATE TABLE slotted_counters (record_type INTEGER NOT NULL, record_id INTEGER NOT NULL, slot INTEGER NOT NULL DEFAULT 0, count INTEGER NOT NULL DEFAULT 0" + columns + ", PRIMARY KEY (record_type, record_id, slot)) WITHOUT ROWID"
	}
	return "CREATE TABLE slotted_counters (record_type INT NOT NULL, record_id INT NOT NULL, slot INT NOT NULL DEFAULT 0, count BIGINT NOT NULL DEFAULT 0" + columns + ", UNIQUE (record_type, record_id, slot))"
}

// A slot table that is there, with counts of this application and of others, goes
// on being used: its counts are part of the totals from the first statement on,
// and what the database numbers in it is nothing that the application sees.
func TestAdopt(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		slots := slotted(dialect, "")
		log := "CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT)"
		last := "SELECT last_insert_rowid()"
		switch dialect {
		case "mysql":
			slots = "CREATE TABLE slotted_counters (id INT NOT NULL AUTO_INCREMENT, record_type INT NOT NULL, record_id INT NOT NULL, slot INT NOT NULL DEFAULT '0', count INT NOT NULL," +
				" PRIMARY KEY (id), UNIQUE KEY records_and_slots (record_type, record_id, slot))"
			slots = strings.Replace(slots, "count INT NOT NULL", "count BIGINT NOT NULL", 1)
			log, last = "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, note TEXT)", "SELECT LAST_INSERT_ID()"
		case "postgres":
			log, last = "CREATE TABLE log (id SERIAL PRIMARY KEY, note TEXT)", "SELECT lastval()"
		}
		p := twin.New(t, twin.Options{Dialect: dialect, Config: adoptConfig, Params: params(dialect), Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, likes BIGINT NOT NULL)",
			"INSERT INTO posts VALUES (1, 10, 0), (2, 20, 5)",
			log,
			slots,
		}})
		execAll(
			t,
			p.Under,
			"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (1, 1, 3, 100), (1, 1, 99, 7), (2, 1, 0, 4), (7, 1, 3, 1000)",
		)
		execAll(t, p.Plain, "UPDATE posts SET views = views + 107, likes = likes + 4 WHERE id = 1")
		plain, wrapped := twin.Conn(t, p.Plain), twin.Conn(t, p.Wrapped)
		all := []string{"SELECT * FROM posts ORDER BY id", "SELECT id FROM posts ORDER BY views DESC LIMIT 1"}
		same(t, plain, wrapped, all...)
		for i := range 3 {
			for _, q := range []string{
				"INSERT INTO log (note) VALUES ('a')", "UPDATE posts SET views = views + 1 WHERE id = 1", last, "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 2", last,
				"INSERT INTO log (note) VALUES ('b')", "BEGIN", "UPDATE posts SET likes = likes + 1 WHERE id = 1", last, "UPDATE posts SET likes = likes + 1 WHERE id = 2", all[0], last, "COMMIT", last,
				"UPDATE posts SET likes = likes + 1 WHERE id = 99", last, "INSERT INTO log (note) SELECT 'c' FROM posts", last,
			} {
				same(t, plain, wrapped, q)
			}
			same(t, plain, wrapped, all...)
			if i == 1 {
				same(t, plain, wrapped, "UPDATE posts SET views = views * 2", last)
			}
		}
		if got := text(t, p.Under, "SELECT count FROM slotted_counters WHERE record_type = 7"); got != "1000" {
			t.Errorf("another program's count is %s", got)
		}
		if dialect == "mysql" {
			if got := text(t, p.Under, "SELECT COUNT(*) > 3, SUM(id > 4) FROM slotted_counters"); got != "0 0" && got != "1 0" {
				t.Errorf("rows numbered by the database: %s", got)
			}
			if got := text(
				t,
				p.Under,
				"SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'slotted_counters'",
			); got != "5" {
				t.Errorf("AUTO_INCREMENT is %s", got)
			}
		}
		// What is left in slots goes to the base rows when the application leaves.
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, want := text(t, p.Under, all[0]), text(t, p.Plain, all[0]); got != want {
			t.Errorf("drained: %s, want %s", got, want)
		}
		dropped, err := slotsql.MigrateDown(t.Context(), twin.Connector(t, p))
		if err != nil || strings.Contains(fmt.Sprint(dropped), "slotted_counters") {
			t.Errorf("dropped %v, %v", dropped, err)
		}
		if got := text(t, p.Under, "SELECT COUNT(*), SUM(count) FROM slotted_counters"); got != "1 1000" {
			t.Errorf("left: %s", got)
		}
	})
}

// Two slot rows that have the same hash for a number do not pass for each other.
func TestAdoptSameNumber(t *testing.T) {
	p := twin.New(t, twin.Options{Dialect: "mysql", Config: adoptConfig, Params: params("mysql"), Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, likes BIGINT NOT NULL)",
		"INSERT INTO posts VALUES (1, 10, 0), (2, 20, 5)",
		"CREATE TABLE slotted_counters (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, record_type INT NOT NULL, record_id BIGINT NOT NULL, slot INT NOT NULL, count BIGINT NOT NULL DEFAULT 0," +
			" UNIQUE KEY (record_type, record_id, slot))",
	}})
	taken := ""
	for slot := range 64 {
		taken += fmt.Sprintf(", (-1 - CAST(CONV(LEFT(SHA2(CONCAT_WS('/', 1, 1, %d), 256), 15), 16, 10) AS SIGNED), 50, %[1]d, 0, 7)", slot)
	}
	execAll(t, p.Under, "INSERT INTO slotted_counters VALUES "+taken[2:])
	for range 3 {
		same(
			t,
			p.Plain,
			p.Wrapped,
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"SELECT * FROM posts ORDER BY id",
			"UPDATE posts SET likes = likes + 1, views = views + 1 WHERE id = 1",
			"UPDATE posts SET views = views + 1 WHERE id = 2",
			"SELECT * FROM posts ORDER BY id",
		)
	}
	if got := text(t, p.Under, "SELECT COUNT(*), SUM(count) FROM slotted_counters WHERE record_type = 50"); got != "64 448" {
		t.Errorf("others' rows: %s", got)
	}
}

// What a shared slot table must be is said at start-up.
func TestAdoptProblems(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		tables := map[string][2]string{
			"no column":  {strings.Replace(slotted(dialect, ""), "count ", "number ", 1), `has no column "count" for counts`},
			"no default": {slotted(dialect, ", made INT NOT NULL"), `has a column "made" without a default`},
			"two keys":   {slotted(dialect, ", made INT UNIQUE"), "allows a row only one slot"},
			"text id": {
				strings.NewReplacer(
					"record_id INT NOT NULL",
					"record_id VARCHAR(20) NOT NULL",
					"record_id INTEGER NOT NULL",
					"record_id TEXT NOT NULL",
				).Replace(slotted(dialect, "")),
				"an integer key needs an integer column",
			},
		}
		switch dialect {
		case "sqlite":
			tables["rowids"] = [2]string{strings.Replace(slotted(dialect, ""), " WITHOUT ROWID", "", 1), "create it WITHOUT ROWID"}
			tables["no key"] = [2]string{
				"CREATE TABLE slotted_counters (id INTEGER PRIMARY KEY, record_type INT, record_id INT, slot INT, count INT)",
				"has no unique key on",
			}
		case "mysql":
			tables["narrow slot"] = [2]string{strings.Replace(slotted(dialect, ""), "slot INT", "slot TINYINT", 1), "cannot hold slot"}
			tables["narrow count"] = [2]string{
				strings.Replace(slotted(dialect, ""), "count BIGINT", "count INT", 1),
				"too narrow for counter \"likes\"",
			}
			tables["unsigned count"] = [2]string{
				strings.Replace(slotted(dialect, ""), "count BIGINT", "count BIGINT UNSIGNED", 1),
				"a signed integer",
			}
			tables["narrow type"] = [2]string{
				strings.Replace(slotted(dialect, ""), "record_type INT", "record_type TINYINT", 1),
				"cannot hold record_type 300",
			}
			tables["narrow id"] = [2]string{
				strings.Replace(slotted(dialect, ""), "record_id INT", "record_id SMALLINT", 1),
				"it is too narrow",
			}
			tables["unsigned id"] = [2]string{
				strings.Replace(slotted(dialect, ""), "record_id INT", "record_id INT UNSIGNED", 1),
				"cannot hold negative keys",
			}
			tables["unsigned number"] = [2]string{slotted(dialect, ", id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY"), "drop it"}
		case "postgres":
			tables["numbered"] = [2]string{slotted(dialect, ", id SERIAL PRIMARY KEY"), "drop it"}
			tables["some rows"] = [2]string{
				slotted(dialect, ") ; CREATE UNIQUE INDEX u ON slotted_counters (record_id) WHERE (slot = 0"),
				"on some rows",
			}
			tables["some rows"] = [2]string{
				strings.Replace(tables["some rows"][0], ", UNIQUE (record_type, record_id, slot))", ")", 1),
				"has no unique key on",
			}
		}
		for name, tt := range tables {
			t.Run(name, func(t *testing.T) {
				p := twin.New(
					t,
					twin.Options{
						Dialect: dialect,
						Config:  strings.Replace(adoptConfig, "record_type: 2", "record_type: 300", 1),
						Schema: append([]string{
							"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, likes BIGINT NOT NULL)",
						}, strings.Split(tt[0], ";")...),
					},
				)
				if err := p.Wrapped.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), tt[1]) {
					t.Errorf("error %v, want one that says %q", err, tt[1])
				}
			})
		}
	})
}

// Keys whose values are not the same in another table are refused.
func TestKeyProblems(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		bad := map[string]string{
			"two columns": "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)",
			"a decimal":   "a DECIMAL(8,2) PRIMARY KEY",
			"a date":      "a DATE PRIMARY KEY",
		}
		if dialect != "sqlite" {
			bad["blanks"] = "a CHAR(8) PRIMARY KEY"
		}
		for name, columns := range bad {
			t.Run(name, func(t *testing.T) {
				p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{"CREATE TABLE x (n INT NOT NULL, " + columns + ")"},
					Config: "version: 1\nauto_migrate: true\ntables:\n  x: {layout: shared, counters: {n: {record_type: 1}}}\n"})
				if err := p.Wrapped.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), ":4: ") ||
					!strings.Contains(err.Error(), "use layout dedicated") {
					t.Errorf("error %v", err)
				}
			})
		}
	})
}

// Package rollup holds the tests of the roll-up on every engine: that it moves
// what it should, that only a reader of base values can tell, and that it
// survives whatever happens to it.
package rollup

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// In short, what every test of this package uses.
var (
	each    = twin.Each
	execAll = twin.ExecAll
	rows    = twin.Rows
)

// eachLayout runs f once per engine and layout.
func eachLayout(t *testing.T, f func(t *testing.T, dialect, layout string)) {
	each(t, func(t *testing.T, dialect string) {
		for _, layout := range []string{"dedicated", "journal"} {
			t.Run(layout, func(t *testing.T) {
				t.Parallel()
				f(t, dialect, layout)
			})
		}
	})
}

// patience ends a test that waits for itself.
var patience = map[string]string{"mysql": "innodb_lock_wait_timeout=60", "postgres": "lock_timeout=60s"}

// rollUp makes one pass; slots that hold nothing are deleted. A worker that was killed may have the
// lease for as long as Options.Lease is by default.
func rollUp(t testing.TB, p *twin.Pair) slotsql.RollUpReport {
	t.Helper()
	return rollUpOn(t, twin.Connector(t, p))
}

// rollUpOn is rollUp on a connector, which reads the facts of the tables once.
func rollUpOn(t testing.TB, c *slotsql.Connector) slotsql.RollUpReport {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
		r, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{Idle: 1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Held {
			return r
		}
		time.Sleep(10 * time.Millisecond) // a worker's lease runs out
	}
	t.Fatal("the lease could not be taken")
	return slotsql.RollUpReport{}
}

// idle is how many of n emptied slot rows stay for an idle pass to delete: on
// MySQL none does.
func idle(dialect string, n int) int {
	if dialect == "mysql" {
		return 0
	}
	return n
}

// pick is the statement of one dialect, from "mysql: ..." and the like, or the one
// without a name.
func pick(dialect string, statements ...string) string {
	for _, s := range statements {
		if rest, ok := strings.CutPrefix(s, dialect+": "); ok {
			return rest
		}
	}
	return statements[len(statements)-1]
}

// together runs statements in open transactions at the same time, so that each is
// counted in a slot of its own, where more than one can be open.
func together(t testing.TB, p *twin.Pair, statements ...string) {
	t.Helper()
	var open []*sql.Tx
	commit := func() {
		for _, tx := range open {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		open = nil
	}
	for _, q := range statements {
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		if open = append(open, tx); p.Dialect == "sqlite" {
			commit()
		}
	}
	commit()
	execAll(t, p.Plain, statements...)
}

// Slots of tables of many kinds are moved: the base rows are then what the plain
// twin's are, totals stay, and slots that stay idle go.
func TestMoves(t *testing.T) {
	type table struct {
		name, ddl, key string
		rows           []string // values of the key columns
		where          []string // by these
		order          string
	}
	each(t, func(t *testing.T, dialect string) {
		text := pick(dialect, "mysql: VARCHAR(40)", "sqlite: TEXT COLLATE NOCASE", "TEXT")
		tables := []table{
			{"ints", "id INT PRIMARY KEY", "[id]", []string{"-3", "7", "2000000000"}, []string{"id = %s"}, "id"},
			{
				"bigs",
				"id BIGINT PRIMARY KEY",
				"[id]",
				[]string{"-9223372036854775807", "9007199254740993", "9223372036854775807"},
				[]string{"id = %s"},
				"id",
			},
			{"words", "w " + text + " PRIMARY KEY", "[w]", []string{"'b''s'", "'Äpfel'", "'z z'", "''"}, []string{"w = %s"}, "w"},
			{
				"pairs",
				"a INT NOT NULL, b " + text + " NOT NULL, PRIMARY KEY (a, b)",
				"[a, b]",
				[]string{"1, 'x'", "1, 'y'", "2, 'a'"},
				[]string{"a = %s AND b = %s"},
				"a, b",
			},
			{
				"triples",
				"a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, PRIMARY KEY (a, b, c)",
				"[a, b, c]",
				[]string{"1, 1, 1", "1, 1, 2", "1, 2, 0", "2, 0, 0"},
				[]string{"a = %s AND b = %s AND c = %s"},
				"a, b, c",
			},
			{
				"codes",
				"id INT PRIMARY KEY, code " + text + " NOT NULL UNIQUE",
				"[code]",
				[]string{"1, 'q'", "2, 'r'"},
				[]string{"id = %s AND code = %s"},
				"id",
			},
			{
				"days",
				"d " + pick(dialect, "mysql: DATETIME(6)", "sqlite: DATETIME", "timestamp") + " PRIMARY KEY",
				"[d]",
				[]string{"'2024-02-29 12:00:00'", "'2025-01-01 00:00:00.125'"},
				[]string{"d = %s"},
				"d",
			},
			{"amounts", "a DECIMAL(12,3) PRIMARY KEY", "[a]", []string{"-1.5", "2.125", "100000000.001"}, []string{"a = %s"}, "a"},
		}
		if dialect != "sqlite" { // whose blobs cannot be keys of type TEXT
			tables = append(
				tables,
				table{
					"blobs",
					"b " + pick(dialect, "mysql: VARBINARY(20)", "sqlite: BLOB", "bytea") + " PRIMARY KEY",
					"[b]",
					[]string{
						pick(dialect, "postgres: '\\x00ff27'", "'é'"),
						pick(dialect, "postgres: '\\x41'", "'A'"),
						pick(dialect, "postgres: '\\x'", "''"),
					},
					[]string{"b = %s"},
					"b",
				},
			)
		}
		if dialect == "mysql" {
			tables = append(
				tables,
				table{
					"unsigneds",
					"id BIGINT UNSIGNED PRIMARY KEY",
					"[id]",
					[]string{"0", "18446744073709551615"},
					[]string{"id = %s"},
					"id",
				},
				table{"kinds", "k ENUM('z', 'a') PRIMARY KEY", "[k]", []string{"'z'", "'a'"}, []string{"k = %s"}, "k"},
				table{
					"latin",
					"w VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY",
					"[w]",
					[]string{"'Äpfel'", "'zebra'", "'ähnlich2'"},
					[]string{"w = %s"},
					"w",
				},
			)
		}
		if dialect == "postgres" {
			tables = append(
				tables,
				table{
					"ids",
					"id uuid PRIMARY KEY",
					"[id]",
					[]string{"'00000000-0000-0000-0000-000000000001'", "'ffffffff-0000-0000-0000-000000000001'"},
					[]string{"id = %s"},
					"id",
				},
				table{"floats", "f float8 PRIMARY KEY", "[f]", []string{"0.1", "1e300", "'-Infinity'"}, []string{"f = %s"}, "f"},
			)
		}
		var ddl, bump []string
		config := "version: 1\nauto_migrate: true\ntables:\n"
		for _, tb := range tables {
			ddl = append(
				ddl,
				"CREATE TABLE "+tb.name+" ("+strings.Replace(tb.ddl, " PRIMARY KEY", " NOT NULL PRIMARY KEY", 1)+
					", n INT NOT NULL, m BIGINT)",
			)
			ddl[len(ddl)-1] = strings.Replace(ddl[len(ddl)-1], "), n INT NOT NULL, m BIGINT)", "), n INT NOT NULL, m BIGINT)", 1)
			if i := strings.Index(tb.ddl, ", PRIMARY KEY"); i >= 0 {
				ddl[len(ddl)-1] = "CREATE TABLE " + tb.name + " (" + tb.ddl[:i] + ", n INT NOT NULL, m BIGINT" + tb.ddl[i:] + ")"
			}
			config += "  " + tb.name + ": {key: " + tb.key + ", counters: {n: {}, m: {}}}\n"
			for i, r := range tb.rows {
				m := []string{"0", "NULL"}[i%2]
				ddl = append(ddl, "INSERT INTO "+tb.name+" VALUES ("+r+", "+fmt.Sprint(i)+", "+m+")")
				for j, w := range tb.where {
					var values []any
					for _, v := range strings.SplitN(r, ", ", strings.Count(w, "%s")) {
						values = append(values, v)
					}
					where := fmt.Sprintf(w, values...)
					bump = append(
						bump,
						"UPDATE "+tb.name+" SET n = n + "+fmt.Sprint(i+j+1)+" WHERE "+where,
						"UPDATE "+tb.name+" SET n = n + 2, m = m + 3 WHERE "+where,
						"UPDATE "+tb.name+" SET m = m - 1 WHERE "+where,
					)
				}
			}
		}
		ddl = append(ddl, "CREATE TABLE hits (cnt BIGINT NOT NULL)", "INSERT INTO hits VALUES (5)")
		config += "  hits: {key: [], counters: {cnt: {}}}\n"
		bump = append(bump, "UPDATE hits SET cnt = cnt + 2", "UPDATE hits SET cnt = cnt + 3")
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: ddl, Config: config, Params: patience[dialect]})
		for round := range 3 {
			for i := range 3 {
				for _, q := range bump {
					together(t, p, q)
				}
				_ = i
			}
			for i := 0; i+2 < len(bump); i += 3 {
				together(t, p, bump[i], bump[i]) // two slots of one row
			}
			r := rollUp(t, p)
			for _, tr := range r.Tables {
				if tr.Moved == 0 || tr.Skipped+tr.Errors+tr.Orphans > 0 {
					t.Errorf("round %d: %+v", round, tr)
				}
			}
			check := func(name, order string, keys int) {
				q := "SELECT * FROM " + name
				if order != "" {
					q += " ORDER BY " + order
				}
				want := rows(t, p.Plain, q)
				if got := rows(t, p.Under, q); got != want {
					t.Errorf("round %d: %s has base values\n%s\nwant\n%s", round, name, got, want)
				}
				if got := rows(t, p.Wrapped, q); got != want {
					t.Errorf("round %d: %s has totals\n%s\nwant\n%s", round, name, got, want)
				}
			}
			for _, tb := range tables {
				check(tb.name, tb.order, len(tb.rows))
			}
			check("hits", "", 1)
		}
		for _, tr := range rollUp(t, p).Tables {
			if (tr.Deleted == 0) != (dialect == "mysql") || tr.Moved > 0 {
				t.Errorf("idle slots: %+v", tr)
			}
			if n := rows(t, p.Under, "SELECT COUNT(*) FROM "+tr.Table+"_slots"); n != "0" {
				t.Errorf("%s has %s slot rows left", tr.Table, n)
			}
		}
		execAll(t, p.Wrapped, bump...) // deleted slot rows come back
		execAll(t, p.Plain, bump...)
		for _, tb := range tables {
			q := "SELECT * FROM " + tb.name + " ORDER BY " + tb.order
			if got, want := rows(t, p.Wrapped, q), rows(t, p.Plain, q); got != want {
				t.Errorf("%s:\n%s\nwant\n%s", tb.name, got, want)
			}
		}
	})
}

// newer reports whether err is what a transaction gets that is held to its snapshot, and locks or changes a row that
// a roll-up has changed since: on PostgreSQL, and on MariaDB with innodb_snapshot_isolation (docs/divergences.md).
func newer(t *testing.T, p *twin.Pair, err error) bool {
	t.Helper()
	if p.Dialect != "mysql" {
		return p.Dialect == "postgres" && conflict(err)
	}
	held, asked := twin.SnapshotIsolation(t.Context(), p.Under)
	if asked != nil {
		t.Fatal(asked)
	}
	return held && twin.Class(err) == twin.Newer
}

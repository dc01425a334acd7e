package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// engine is one connection to a database file of its own.
type engine struct {
	t *testing.T
	dialect.PlainSession
	path string
}

func open(t *testing.T, foreignKeys bool, setup ...string) *engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	e := &engine{t: t, PlainSession: dialect.PlainSession{Conn: connect(t, path)}, path: path}
	e.exec("PRAGMA synchronous = OFF")
	e.exec(fmt.Sprintf("PRAGMA foreign_keys = %v", foreignKeys))
	for _, s := range setup {
		e.exec(s)
	}
	return e
}

func connect(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = db.Close() })
	return conn
}

func (e *engine) exec(query string, args ...any) (affected, id int64) {
	e.t.Helper()
	r, err := e.Conn.ExecContext(e.t.Context(), query, args...)
	if err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
	affected, _ = r.RowsAffected()
	id, _ = r.LastInsertId()
	return affected, id
}

// query writes all rows: `1|a; 2|b`.
func (e *engine) query(query string, args ...any) string {
	e.t.Helper()
	rows, err := e.Query(e.t.Context(), query, args...)
	if err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
	var lines []string
	for _, r := range rows {
		var cells []string
		for _, v := range r {
			cells = append(cells, fmt.Sprintf("%v", v))
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
	return strings.Join(lines, "; ")
}

func (e *engine) want(want, query string, args ...any) {
	e.t.Helper()
	if got := e.query(query, args...); got != want {
		e.t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
	}
}

// counters reads a table, makes it a counter table and creates its slots.
func (e *engine) counters(name string, key []string, counters ...string) *schema.Table {
	e.t.Helper()
	t, err := New().Table(e.t.Context(), e, "", name)
	if err != nil || t == nil {
		e.t.Fatalf("table %s: %v, %v", name, t, err)
	}
	t.Counter = &schema.Counter{
		Key: key, Counters: counters, Slots: 64,
		SlotTable: schema.SlotTable{Schema: t.Schema, Name: t.Name + "_slots", Column: "slot"},
	}
	for range 2 { // idempotent
		for _, s := range New().CreateSlots(t) {
			e.exec(s)
		}
	}
	return t
}

// add increments through slots and returns the rows affected.
func (e *engine) add(t *schema.Table, where string, slot int, delta string, counter string) int64 {
	e.t.Helper()
	n, id := e.exec(New().Increment(t, rewrite.IncrementSQL{
		Ref: quote(t.Name) + " AS q", Qualifier: "q", Where: where, Slot: fmt.Sprint(slot),
		Deltas: []rewrite.Delta{{Column: counter, SQL: delta}},
	}))
	if want := e.query("SELECT last_insert_rowid()"); fmt.Sprint(id) != want && n > 0 {
		e.t.Errorf("LastInsertId %d, connection says %s", id, want)
	}
	return n
}

func (e *engine) total(want string, t *schema.Table, order string) {
	e.t.Helper()
	var items []string
	for _, c := range t.Counter.Counters {
		items = append(items, New().Total(t, "q", c, true))
	}
	e.want(want, "SELECT "+strings.Join(items, ", ")+" FROM "+quote(t.Name)+" AS q ORDER BY "+order)
}

func (e *engine) fold(t *schema.Table, where string) {
	e.t.Helper()
	scope := rewrite.Scope{}
	if where != "" {
		scope = scopeOf(where)
		scope.Ref = quote(t.Name) + " q"
	}
	for _, s := range New().Fold(t, scope) {
		e.exec(s)
	}
}

func scopeOf(where string) rewrite.Scope {
	return rewrite.Scope{Ref: "p AS q", Qualifier: "q", Where: where}
}

// bothForeignKeys runs a test with foreign_keys off and on.
func bothForeignKeys(t *testing.T, f func(t *testing.T, on bool)) {
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprintf("foreign_keys=%v", on), func(t *testing.T) { t.Parallel(); f(t, on) })
	}
}

// Every shape of key: increments, totals, folds, deletes, moved keys,
// replaced rows.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name, create string
		key          []string
		one, two     string // the keys of two rows, as literals
		moved        string // a third key, and SET that moves row one to it
		set          string
	}{
		{"rowid", "CREATE TABLE p (id INTEGER PRIMARY KEY, views INTEGER)", []string{"id"}, "1", "2", "7", "id = 7"},
		{"rowid by its other name", "CREATE TABLE p (id INTEGER PRIMARY KEY, views INTEGER)", []string{"id"}, "1", "2", "7", "rowid = 7"},
		{"text", "CREATE TABLE p (id TEXT PRIMARY KEY, views INT)", []string{"id"}, "'1'", "'a'", "'b'", "id = 'b'"},
		{"text without rowid", "CREATE TABLE p (id VARCHAR(10) PRIMARY KEY, views BIGINT) WITHOUT ROWID", []string{"id"}, "'1'", "'01'", "'b'", "id = 'b'"},
		{"nocase", "CREATE TABLE p (id TEXT PRIMARY KEY COLLATE NOCASE, views INT)", []string{"id"}, "'Ab'", "'c'", "'D'", "id = 'D'"},
		{"nocase case only", "CREATE TABLE p (id TEXT PRIMARY KEY COLLATE NOCASE, views INT)", []string{"id"}, "'Ab'", "'c'", "'AB'", "id = 'AB'"},
		{"nocase index", "CREATE TABLE p (id TEXT NOT NULL, views INT, PRIMARY KEY (id COLLATE NOCASE))", []string{"id"}, "'Ab'", "'c'", "'AB'", "id = 'AB'"},
		{"composite", "CREATE TABLE p (id INTEGER, kind TEXT, views INT, PRIMARY KEY (id, kind))", []string{"id", "kind"}, "1, 'x'", "1, 'y'", "2, 'y'", "id = 2, kind = 'y'"},
		{"typeless", "CREATE TABLE p (id UNIQUE NOT NULL, views INTEGER)", []string{"id"}, "1", "'1'", "1.5", "id = 1.5"},
		{"numeric", "CREATE TABLE p (id DECIMAL(10,2) UNIQUE NOT NULL, views INTEGER)", []string{"id"}, "1", "1.5", "'x'", "id = 'x'"},
		{"any strict", "CREATE TABLE p (id ANY PRIMARY KEY, views INTEGER) STRICT", []string{"id"}, "1", "'1'", "'01'", "id = '01'"},
		{"unsigned big int", "CREATE TABLE p (id UNSIGNED BIG INT PRIMARY KEY, views INTEGER) WITHOUT ROWID", []string{"id"}, "1", "2", "7", "id = 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothForeignKeys(t, func(t *testing.T, on bool) {
				e := open(t, on, c.create)
				p := e.counters("p", c.key, "views")
				columns := list(columns("", append(append([]string(nil), c.key...), "views")...))
				at := func(key string) string { return schema.Tuple(c.key) + " = " + "(" + key + ")" }
				e.exec("INSERT INTO p (" + columns + ") VALUES (" + c.one + ", 10), (" + c.two + ", 20)")
				one := func(want string) {
					t.Helper()
					e.want(want, "SELECT "+New().Total(p, "q", "views", true)+" FROM p AS q WHERE "+at(c.one))
				}
				for slot := range 3 {
					if n := e.add(p, at(c.one), slot, "2", "views"); n != 1 {
						t.Fatalf("affected %d", n)
					}
					if n := e.add(p, at(c.one), 1, "-1", "views"); n != 1 {
						t.Fatalf("affected %d", n)
					}
				}
				e.add(p, at(c.two), 1, "5", "views")
				if n := e.add(p, at(c.moved)+" AND views < 0", 1, "5", "views"); n != 0 {
					t.Fatalf("no row: affected %d", n)
				}
				e.total("13; 25", p, "views")
				e.fold(p, at(c.one))
				e.want("13; 20", "SELECT views FROM p ORDER BY views")
				e.want("1", "SELECT COUNT(*) FROM p_slots")
				e.fold(p, "")
				e.want("13; 25", "SELECT views FROM p ORDER BY views")
				e.want("0", "SELECT COUNT(*) FROM p_slots")

				e.add(p, at(c.one), 1, "5", "views")
				e.add(p, at(c.two), 1, "7", "views")
				if n, _ := e.exec("UPDATE p SET " + c.set + " WHERE " + at(c.one)); n != 1 {
					t.Errorf("moved %d rows", n)
				}
				e.total("18; 32", p, "views")
				e.want("18", "SELECT "+New().Total(p, "q", "views", true)+" FROM p AS q WHERE "+at(c.moved))
				if n, _ := e.exec("DELETE FROM p WHERE " + at(c.moved)); n != 1 {
					t.Errorf("deleted %d rows", n)
				}
				e.want("1", "SELECT COUNT(*) FROM p_slots")
				e.exec("INSERT INTO p (" + columns + ") VALUES (" + c.one + ", 1)")
				one("1")
				e.add(p, at(c.one), 3, "5", "views")
				e.exec("REPLACE INTO p (" + columns + ") VALUES (" + c.one + ", 2)")
				one("2")
				e.add(p, at(c.one), 3, "5", "views")
				if c.name != "nocase case only" && c.name != "nocase index" {
					e.exec("UPDATE OR REPLACE p SET " + c.set + " WHERE " + at(c.two))
					e.exec("UPDATE OR REPLACE p SET " + c.set + " WHERE " + at(c.one))
					e.want("7", "SELECT "+New().Total(p, "q", "views", true)+" FROM p AS q WHERE "+at(c.moved))
				}
				if n, _ := e.exec("DELETE FROM p"); n == 0 {
					t.Error("deleted nothing")
				}
				e.want("0", "SELECT COUNT(*) FROM p_slots")
				e.want("", "PRAGMA foreign_key_check")
				for _, s := range New().DropSlots(p) {
					e.exec(s)
				}
				e.want("p", "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
			})
		})
	}
}

// A table without key: one row, which slotsql never assumes.
func TestEmptyKey(t *testing.T) {
	bothForeignKeys(t, func(t *testing.T, on bool) {
		e := open(t, on, "CREATE TABLE site (hits INTEGER, misses INTEGER)")
		p := e.counters("site", nil, "hits", "misses")
		if n := e.add(p, "1=1", 1, "1", "hits"); n != 0 {
			t.Fatalf("empty table: affected %d", n)
		}
		e.exec("INSERT INTO site VALUES (5, 0)")
		e.add(p, "1=1", 1, "1", "hits")
		e.add(p, "hits = 5", 2, "3", "misses")
		e.total("6|3", p, "1")
		e.fold(p, "hits = 4")
		e.want("5|0", "SELECT * FROM site")
		e.fold(p, "1")
		e.want("6|3", "SELECT * FROM site")
		e.add(p, "1", 1, "1", "hits")
		if n, id := e.exec("INSERT INTO site VALUES (0, 0)"); n != 1 || id != 2 {
			t.Errorf("insert gave %d, %d", n, id)
		}
		e.total("7|3; 0|0", p, "rowid")
		if n := e.add(p, "hits = 0", 1, "1", "hits"); n != 0 {
			t.Fatalf("two rows: affected %d", n)
		}
		e.exec("DELETE FROM site WHERE rowid = 1")
		e.add(p, "1", 1, "1", "hits")
		e.exec("DELETE FROM site")
		e.exec("INSERT INTO site VALUES (9, 9)")
		e.total("9|9", p, "1")
		e.add(p, "1", 1, "1", "hits")
		e.fold(p, "")
		e.want("10|9", "SELECT * FROM site")
	})
}

func TestQuotedNames(t *testing.T) {
	bothForeignKeys(t, func(t *testing.T, on bool) {
		e := open(t, on, `CREATE TABLE "my ""table""" ("select" INTEGER PRIMARY KEY, "a ""b'c" INTEGER, "order" "group by")`)
		p := e.counters(`my "table"`, []string{"select"}, `a "b'c`)
		e.exec(`INSERT INTO "my ""table""" VALUES (1, 1, 1)`)
		if n := e.add(p, `"select" = 1`, 1, "4", `a "b'c`); n != 1 {
			t.Fatalf("affected %d", n)
		}
		e.total("5", p, `"select"`)
		e.fold(p, `"select" = 1`)
		e.want("5", `SELECT "a ""b'c" FROM "my ""table"""`)
	})
}

// Increments and triggers leave last_insert_rowid() and changes() alone.
func TestConnectionState(t *testing.T) {
	bothForeignKeys(t, func(t *testing.T, on bool) {
		e := open(t, on, "CREATE TABLE p (id INTEGER PRIMARY KEY, views INTEGER DEFAULT 0)")
		p := e.counters("p", []string{"id"}, "views")
		if n, id := e.exec("INSERT INTO p (id) VALUES (41), (42)"); n != 2 || id != 42 {
			t.Errorf("insert gave %d, %d", n, id)
		}
		e.add(p, "id = 41", 1, "1", "views")
		e.add(p, "id = 41", 2, "1", "views")
		e.want("42", "SELECT last_insert_rowid()")
		if n, id := e.exec("REPLACE INTO p (id) VALUES (41)"); n != 1 || id != 41 {
			t.Errorf("replace gave %d, %d", n, id)
		}
		e.add(p, "id = 41", 1, "1", "views")
		e.add(p, "id = 41", 2, "1", "views")
		if n, _ := e.exec("UPDATE p SET id = id + 100"); n != 2 {
			t.Errorf("update gave %d", n)
		}
		if n, _ := e.exec("DELETE FROM p WHERE id > 0"); n != 2 {
			t.Errorf("delete gave %d", n)
		}
		e.want("2|41", "SELECT changes(), last_insert_rowid()")
		if n, id := e.exec("INSERT INTO p (id) VALUES (1) ON CONFLICT DO UPDATE SET views = views + 1 RETURNING id"); n != 1 || id != 1 {
			t.Errorf("upsert gave %d, %d", n, id)
		}
	})
}

// What cannot be slotted exactly affects no row.
func TestIncrementRefuses(t *testing.T) {
	e := open(t, true, "CREATE TABLE p (id INTEGER PRIMARY KEY, views INTEGER)")
	p := e.counters("p", []string{"id"}, "views")
	for _, value := range []string{"NULL", "1.5", "'abc'", "x'31'", "4611686018427387905", "-4611686018427387905", "9223372036854775807"} {
		e.exec("REPLACE INTO p VALUES (1, " + value + ")")
		if n := e.add(p, "id = 1", 1, "1", "views"); n != 0 {
			t.Errorf("base value %s: affected %d", value, n)
		}
	}
	e.exec("REPLACE INTO p VALUES (1, 4611686018427387904)")
	for _, delta := range []string{"1.0", "'1'", "NULL", "562949953421313", "-562949953421313", "9223372036854775807", "-9223372036854775808"} {
		for range 2 {
			if n := e.add(p, "id = 1", 1, delta, "views"); n != 0 {
				t.Errorf("delta %s: affected %d", delta, n)
			}
		}
	}
	e.exec("BEGIN")
	for slot := range maxSlots {
		if n := e.add(p, "id = 1", slot, "562949953421312", "views"); n != 1 {
			t.Fatalf("slot %d: affected %d", slot, n)
		}
	}
	e.exec("COMMIT")
	if n := e.add(p, "id = 1", 1, "1", "views"); n != 0 {
		t.Errorf("full slot: affected %d", n)
	}
	e.total("6917529027641081856", p, "1")
	e.fold(p, "")
	e.want("6917529027641081856|integer", "SELECT views, typeof(views) FROM p")

	e.exec("CREATE TABLE n (k TEXT UNIQUE, views INTEGER)")
	n := e.counters("n", []string{"k"}, "views")
	e.exec("INSERT INTO n VALUES (NULL, 1), (NULL, 2)")
	if got := e.add(n, "k IS NULL", 1, "1", "views"); got != 0 {
		t.Errorf("NULL keys: affected %d", got)
	}
	e.total("1; 2", n, "views")
}

// A drain's first statement takes the write lock although no row matches.
func TestFoldLocks(t *testing.T) {
	for _, where := range []string{"", "id = 99"} {
		e := open(t, false, "CREATE TABLE p (id INTEGER PRIMARY KEY, views INTEGER)")
		p := e.counters("p", []string{"id"}, "views")
		if l := New().Lock(p, rewrite.Scope{}); len(l) != 0 {
			t.Errorf("Lock writes %q", l)
		}
		other := &engine{t: t, PlainSession: dialect.PlainSession{Conn: connect(t, e.path)}}
		other.exec("PRAGMA busy_timeout = 0")
		for _, s := range New().Drain().Begin {
			e.exec(s)
		}
		scope := rewrite.Scope{}
		if where != "" {
			scope = scopeOf(where)
		}
		e.exec(New().Fold(p, scope)[0])
		if err := other.Exec(t.Context(), "INSERT INTO p VALUES (1, 1)"); err == nil {
			t.Errorf("where %q: another connection could write", where)
		}
		for _, s := range New().Drain().Rollback {
			e.exec(s)
		}
		if err := other.Exec(t.Context(), "INSERT INTO p VALUES (1, 1)"); err != nil {
			t.Errorf("after the drain: %v", err)
		}
	}
}

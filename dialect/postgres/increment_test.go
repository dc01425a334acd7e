package postgres

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

func incr(t *schema.Table, where string, slot int, deltas ...string) string {
	return incrLocking(t, false, where, slot, deltas...)
}

// incrLocking is an increment that holds the base row as it is, or not.
func incrLocking(t *schema.Table, holds bool, where string, slot int, deltas ...string) string {
	in := rewrite.IncrementSQL{Ref: quote(t.Name) + " AS p", Qualifier: "p", Where: where, Slot: fmt.Sprint(slot), Holds: holds}
	for i := 0; i < len(deltas); i += 2 {
		in.Deltas = append(in.Deltas, rewrite.Delta{Column: deltas[i], SQL: deltas[i+1]})
	}
	return New().Increment(t, in)
}

func total(t *schema.Table, column, where string) string {
	return "SELECT " + New().Total(t, "p", column, false) + " FROM " + quote(t.Name) + " AS p WHERE " + where
}

func one(where string) rewrite.Scope {
	return rewrite.Scope{Ref: "posts AS p", Qualifier: "p", Where: where}
}

func drain(t *schema.Table, scope rewrite.Scope) []string {
	d := New()
	return append(d.Lock(t, scope), d.Fold(t, scope)...)
}

const posts = `CREATE TABLE posts (id bigint PRIMARY KEY, slug text UNIQUE, title text, views integer NOT NULL DEFAULT 0, likes bigint, score numeric(6,2) NOT NULL DEFAULT 0, free numeric)`

func TestIncrementCounts(t *testing.T) {
	t.Parallel()
	s := database(t, posts, `INSERT INTO posts VALUES (1, 'a', 't', 10, 5, 1.50, 1.5), (2, 'b', 't', 0, NULL, 0, NULL)`)()
	tb := s.counter("posts", []string{"id"}, 4, "views", "likes", "score", "free")
	s.migrate(tb)

	for i, c := range []struct {
		sql  string
		rows int64
	}{
		{incr(tb, "id = 1", 0, "views", "1"), 1},
		{incr(tb, "id = 1", 0, "views", "2"), 1},
		{incr(tb, "p.slug = 'a'", 3, "views", "-3", "likes", "4"), 1},
		{incr(tb, "id = 1", 1, "score", "0.25", "free", "0.125"), 1},
		{incr(tb, "id = 9", 0, "views", "1"), 0},
		{incr(tb, "id = 2", 0, "likes", "1"), 0},                 // NULL + 1
		{incr(tb, "id = 2", 0, "views", "1", "likes", "1"), 0},   // all or nothing
		{incr(tb, "id = 2", 0, "free", "1"), 0},                  // NULL + 1
		{incr(tb, "id = 2", 0, "score", "0.005"), 0},             // would round
		{incr(tb, "id = 2 AND title = 'x'", 0, "views", "1"), 0}, // an extra predicate
		{incr(tb, "id = 2 OR id = 2", 0, "views", "1"), 1},       // precedence
		{incr(tb, "id = 2", 0, "views", "1000000000"), 0},        // more than a slot holds
		{incr(tb, "id = 2", 0, "views", "-1000000000"), 0},       //
	} {
		if got := s.exec(c.sql); got != c.rows {
			t.Errorf("%d: %d rows affected, want %d: %s", i, got, c.rows, c.sql)
		}
	}
	s.wants(total(tb, "views", "id = 1"), "10")
	s.wants(total(tb, "likes", "id = 1"), "9")
	s.wants(total(tb, "score", "id = 1"), "1.75")
	s.wants(total(tb, "free", "id = 1"), "1.625")
	s.wants(total(tb, "views", "id = 2"), "1")
	s.wants(total(tb, "likes", "id = 2"), "NULL")

	// Bound values take the column's type.
	in := rewrite.IncrementSQL{
		Ref:       "posts",
		Qualifier: "posts",
		Where:     "id = $2",
		Slot:      "$1",
		Deltas:    []rewrite.Delta{{Column: "views", SQL: "$3"}},
	}
	if n := s.exec(New().Increment(tb, in), 3, 1, 1); n != 1 {
		t.Errorf("%d rows", n)
	}
	s.wants(total(tb, "views", "id = 1"), "11")

	s.run(drain(tb, one("id = 1"))...)
	s.wants("SELECT views || ' ' || likes || ' ' || score || ' ' || free FROM posts WHERE id = 1", "11 9 1.75 1.625")
	s.wants("SELECT count(*) FROM posts_slots WHERE id = 1", "0")
	s.wants("SELECT count(*) FROM posts_slots", "1")
	s.exec("DELETE FROM posts WHERE id = 2")
	s.wants("SELECT count(*) FROM posts_slots", "0")
}

func TestIncrementNeverOverflows(t *testing.T) {
	t.Parallel()
	s := database(
		t,
		posts,
		`INSERT INTO posts VALUES (1, 'a', 't', 1073741824, 4611686018427387904, 4999.99, 0), (2, 'b', 't', -1073741824, -4611686018427387904, -4999.99, 0), (3, 'c', 't', 1073741825, 0, 5000.01, 0)`,
	)()
	tb := s.counter("posts", []string{"id"}, 2, "views", "likes", "score")
	s.migrate(tb)
	for _, c := range tb.Counter.Counters {
		_, bound := bounds(tb.Column(c), tb.Counter)
		full := s.value("SELECT CAST(" + bound + " AS " + tb.Column(c).Type + ")")
		if c == "score" {
			full = "277.77" // 277.7777 cut
		}
		for id, sign := range map[int]string{1: "", 2: "-"} {
			for slot := range 2 {
				where := fmt.Sprintf("id = %d", id)
				if n := s.exec(incr(tb, where, slot, c, sign+full)); n != 1 {
					t.Errorf("%s: first delta: %d rows", c, n)
				}
				if n := s.exec(incr(tb, where, slot, c, sign+"1")); n != 0 {
					t.Errorf("%s: past the bound: %d rows", c, n)
				}
			}
		}
		s.value(total(tb, c, "id = 1")) // no overflow
		s.value(total(tb, c, "id = 2"))
	}
	for _, c := range []string{"views", "score"} {
		if n := s.exec(incr(tb, "id = 3", 0, c, "1")); n != 0 {
			t.Errorf("%s: base value past its bound: %d rows", c, n)
		}
	}
	s.run("BEGIN")
	s.run(drain(tb, rewrite.Scope{})...)
	s.run("COMMIT")
	s.wants("SELECT count(*) FROM posts_slots", "0")
}

// A total has the column's own type: object id, modifier, scan type.
func TestTotalHasTheColumnsType(t *testing.T) {
	t.Parallel()
	s := database(
		t,
		`CREATE TABLE many (id int PRIMARY KEY, a smallint, b integer, c bigint, d numeric, e numeric(12,2), f numeric(3,`+fmt.Sprint(
			lowScale(t),
		)+`))`,
		`INSERT INTO many VALUES (1, 1, 1, 1, 1.50, 1.5, 100)`,
	)()
	tb := s.counter("many", []string{"id"}, 8, "a", "b", "c", "d", "e", "f")
	s.migrate(tb)
	for _, c := range tb.Counter.Counters {
		s.exec(incr(tb, "id = 1", 0, c, "0"))
		for _, args := range [][]any{nil, simple} {
			plain := columnType(t, s, "SELECT "+c+" FROM many", args)
			if got := columnType(t, s, total(tb, c, "true"), args); got != plain {
				t.Errorf("%s: got %s, want %s", c, got, plain)
			}
		}
	}
}

func columnType(t *testing.T, s *session, sql string, args []any) string {
	t.Helper()
	rows, err := s.Conn.QueryContext(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	for rows.Next() {
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
	}
	c := types[0]
	p, sc, ok := c.DecimalSize()
	return fmt.Sprint(c.DatabaseTypeName(), " ", c.ScanType(), " ", p, sc, ok, fmt.Sprintf(" %T %v", v, v))
}

func TestOddNamesAndKeys(t *testing.T) {
	t.Parallel()
	s := database(
		t,
		`CREATE SCHEMA "My ""Schema"""`,
		`CREATE TABLE "My ""Schema"""."select #1" ("Id" varchar(10) COLLATE "C", "or""der" int, "Count" int NOT NULL DEFAULT 0, PRIMARY KEY ("Id", "or""der"))`,
		`INSERT INTO "My ""Schema"""."select #1" VALUES ('x', 1, 5), ('y', 1, 0)`,
	)()
	s.exec(`SET search_path TO "My ""Schema"""`)
	tb := s.counter("select #1", []string{"Id", `or"der`}, 4, "Count")
	if got := tb.Column("Id").Type; got != `character varying(10) COLLATE pg_catalog."C"` {
		t.Errorf("key type %s", got)
	}
	s.migrate(tb)
	s.migrate(tb)
	where := `"Id" = 'x' AND "or""der" = 1`
	s.exec(incr(tb, where, 0, "Count", "1"))
	s.exec(incr(tb, where, 3, "Count", "1"))
	s.wants(total(tb, "Count", where), "7")
	// The application's own names may be those of slotsql's statements.
	scope := rewrite.Scope{Ref: `"select #1" AS slotsql_s`, Qualifier: "slotsql_s", Where: where}
	s.run("BEGIN")
	s.run(drain(tb, scope)...)
	s.run("COMMIT")
	s.wants(`SELECT "Count" FROM "select #1" WHERE `+where, "7")
	s.wants(`SELECT count(*) FROM "select #1_slots"`, "0")
	s.run(New().DropSlots(tb)...)
	s.run(New().DropSlots(tb)...)
}

func TestSingleRowTable(t *testing.T) {
	t.Parallel()
	s := database(t, `CREATE TABLE site (hits bigint NOT NULL, visits int)`, `INSERT INTO site VALUES (3, 4)`)()
	tb := s.counter("site", nil, 4, "hits", "visits")
	s.migrate(tb)
	for slot := range 4 {
		s.exec(incr(tb, "true", slot, "hits", "2", "visits", "1"))
	}
	s.wants(total(tb, "hits", "true"), "11")
	s.run("BEGIN")
	s.run(drain(tb, rewrite.Scope{Ref: "site AS p", Qualifier: "p", Where: "true"})...)
	s.run("COMMIT")
	s.wants("SELECT hits || ' ' || visits FROM site", "11 8")
	s.exec(incr(tb, "true", 0, "hits", "2"))
	s.run("BEGIN")
	s.run(drain(tb, rewrite.Scope{})...)
	s.run("COMMIT")
	s.wants("SELECT hits || ' ' || visits FROM site", "13 8")
	s.exec("DELETE FROM site")
	if n := s.exec(incr(tb, "true", 0, "hits", "2")); n != 0 {
		t.Errorf("no row: %d affected", n)
	}
}

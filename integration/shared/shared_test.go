// Package shared holds the tests of slot tables that several counter tables
// share, on every engine.
package shared

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// In short, what every test of this package uses.
var (
	each    = twin.Each
	execAll = twin.ExecAll
)

// patience ends a test that waits for itself.
var patience = map[string]string{
	"mysql":    "innodb_lock_wait_timeout=60",
	"postgres": "deadlock_timeout=20ms lock_timeout=60s",
	"sqlite":   "_pragma=busy_timeout(60000)",
}

// Three tables share one slot table, and two with text keys another one.
const config = `version: 1
auto_migrate: true
shared:
  slotted_counters: {}
  slotted_texts: {columns: {type: kind, id: name, slot: nr, count: n}}
defaults: {layout: shared}
tables:
  posts: {slot_table: slotted_counters, slots: 8, counters: {views: {record_type: 1}, likes: {record_type: 2}}}
  comments: {slot_table: slotted_counters, counters: {likes: {record_type: 3}}}
  pages: {slot_table: slotted_texts, key: [slug], counters: {hits: {record_type: 1}, bytes: {record_type: 2}}}
  tags: {slot_table: slotted_texts, counters: {uses: {record_type: 3}}}
  plain: {layout: dedicated, counters: {n: {}}}
`

func schema(dialect string) []string {
	text := map[string]string{"mysql": "VARCHAR(40)", "postgres": "VARCHAR(40)", "sqlite": "TEXT"}[dialect]
	unsigned := map[string]string{"mysql": "INT UNSIGNED", "postgres": "INT", "sqlite": "INTEGER"}[dialect]
	return []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, title " + text + ", views INT NOT NULL DEFAULT 0, likes BIGINT)",
		"INSERT INTO posts VALUES (-1, 'minus', 10, 1), (1, 'one', 20, NULL), (2, 'two', 30, 3)",
		"CREATE TABLE comments (id BIGINT PRIMARY KEY, post INT NOT NULL, likes " + unsigned + " NOT NULL DEFAULT 0)",
		"INSERT INTO comments VALUES (1, 1, 5), (2, 1, 6), (9007199254740993, 2, 7)",
		"CREATE TABLE pages (id INT PRIMARY KEY, slug " + text + " NOT NULL UNIQUE, hits BIGINT NOT NULL, bytes BIGINT NOT NULL DEFAULT 0)",
		"INSERT INTO pages VALUES (1, 'home', 0, 0), (2, 'b''s', 5, 1), (3, '1', 1, 1), (4, '', 2, 2), (5, 'Äpfel', 3, 3)",
		"CREATE TABLE tags (name " + text + " NOT NULL PRIMARY KEY, uses INT NOT NULL)",
		"INSERT INTO tags VALUES ('home', 1), ('go', 2)",
		"CREATE TABLE plain (id INT PRIMARY KEY, n INT NOT NULL)",
		"INSERT INTO plain VALUES (1, 1)",
	}
}

func newPair(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: config, Params: params(dialect)})
}

func params(dialect string) string { return strings.ReplaceAll(patience[dialect], " ", "&") }

// same runs a statement on both sides and compares all that a program sees.
func same(t *testing.T, plain, wrapped twin.Session, statements ...string) {
	t.Helper()
	for _, q := range statements {
		a, b := twin.Run(t.Context(), plain, twin.Statement{SQL: q}), twin.Run(t.Context(), wrapped, twin.Statement{SQL: q})
		for _, d := range twin.Compare(a, b) {
			if d.What == "RowsAffected" && (q == "BEGIN" || q == "ROLLBACK" || q == "COMMIT") {
				continue // SQLite repeats that of the write before, which may be a fold's, or of several slot rows
			}
			t.Errorf("%s\n%s", d, q)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

var reads = []string{
	"SELECT * FROM posts ORDER BY id",
	"SELECT id, likes FROM comments ORDER BY id",
	"SELECT * FROM pages ORDER BY id",
	"SELECT * FROM tags ORDER BY uses, name",
	"SELECT id, views FROM posts ORDER BY views DESC, id LIMIT 2",
	"SELECT id FROM posts WHERE views > 22 ORDER BY id",
	"SELECT SUM(views), SUM(likes), COUNT(*) FROM posts",
	"SELECT slug, hits FROM pages WHERE hits >= 3 AND bytes < 100 ORDER BY slug",
	"SELECT c.likes, p.views FROM comments c JOIN posts p ON p.id = c.post ORDER BY c.id",
	"SELECT slug FROM pages ORDER BY hits DESC, id LIMIT 3",
	"SELECT likes, COUNT(*) FROM comments GROUP BY likes ORDER BY likes",
	"SELECT n FROM plain",
}

func text(t testing.TB, db *sql.DB, q string) string {
	t.Helper()
	o := twin.Run(t.Context(), db, twin.Statement{SQL: q, Mode: twin.Query})
	if o.Err != nil {
		t.Fatalf("%s: %v", q, o.Err)
	}
	var lines []string
	for _, row := range o.Sets[0].Rows {
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = string(b)
			}
		}
		lines = append(lines, strings.Trim(fmt.Sprint(row), "[]"))
	}
	return strings.Join(lines, "\n")
}

// Statements of every kind do what they do to plain tables, at once and in
// transactions that end either way, and leave other programs' rows alone.
func TestStatements(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		upsert := "INSERT INTO posts (id, title, views, likes) VALUES (2, 'x', 1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1, likes = posts.likes + excluded.likes"
		replace := "INSERT INTO pages VALUES (2, 'b''s', 100, 0) ON CONFLICT (slug) DO UPDATE SET hits = excluded.hits"
		if dialect == "mysql" {
			upsert = "INSERT INTO posts (id, title, views, likes) VALUES (2, 'x', 1, 1) ON DUPLICATE KEY UPDATE views = views + 1, likes = likes + VALUES(likes)"
		}
		if dialect != "postgres" {
			replace = "REPLACE INTO pages VALUES (2, 'b''s', 100, 0)"
		}
		steps := []string{
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"UPDATE posts SET likes = likes + 1 WHERE id = 1",
			"UPDATE posts SET views = views + 2, likes = likes - 3 WHERE id = 2",
			"UPDATE posts SET likes = likes + 1, views = views + 1 WHERE id = -1",
			"UPDATE posts SET likes = likes + 1, views = views + 1 WHERE id = 1",
			"UPDATE posts SET views = views + 1 WHERE id = 77",
			"UPDATE comments SET likes = likes + 1 WHERE id = 1",
			"UPDATE comments SET likes = likes + 4 WHERE id = 9007199254740993",
			"UPDATE comments SET likes = likes - 1 WHERE id = 2",
			"UPDATE pages SET hits = hits + 1 WHERE slug = 'home'",
			"UPDATE pages SET hits = hits + 1, bytes = bytes + 50 WHERE slug = 'b''s'",
			"UPDATE pages SET hits = hits + 1 WHERE id = 3",
			"UPDATE pages SET hits = hits + 1 WHERE slug = ''",
			"UPDATE pages SET hits = hits + 1 WHERE slug = 'Äpfel'",
			"UPDATE pages SET bytes = bytes + 1 WHERE slug = 'HOME'",
			"UPDATE tags SET uses = uses + 1 WHERE name = 'home'",
			"UPDATE tags SET uses = uses + 1 WHERE name = 'go'",
			"UPDATE plain SET n = n + 1 WHERE id = 1",
			upsert,
			upsert,
			"UPDATE posts SET views = views + 5",
			"UPDATE posts SET views = 7 WHERE id = 1",
			"UPDATE posts SET likes = 0 WHERE likes IS NULL",
			"UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1",
			"UPDATE posts SET views = views * 2 WHERE id > 0",
			"UPDATE posts SET title = 'new' WHERE id = 2",
			"UPDATE posts SET id = 12 WHERE id = 2",
			"UPDATE posts SET views = views + 1 WHERE id = 12",
			"INSERT INTO posts VALUES (2, 'again', 1, 1)",
			"UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 2",
			"DELETE FROM posts WHERE id = 2",
			"INSERT INTO posts VALUES (2, 'third', 0, 0)",
			"UPDATE posts SET views = views + 1 WHERE id = 2",
			"DELETE FROM posts WHERE title = 'third'",
			"INSERT INTO posts VALUES (2, 'fourth', 0, 0)",
			replace,
			"UPDATE pages SET hits = hits + 1 WHERE slug = 'b''s'",
			replace,
			"UPDATE pages SET slug = 'house' WHERE slug = 'home'",
			"UPDATE pages SET hits = hits + 1 WHERE slug = 'house'",
			"INSERT INTO pages (id, slug, hits) SELECT 9, 'home', MAX(hits) FROM pages",
			"DELETE FROM tags",
			"INSERT INTO tags VALUES ('home', 0), ('go', 0)",
			"UPDATE tags SET uses = uses + 1 WHERE name = 'home'",
		}
		for _, around := range [][2]string{{"", ""}, {"BEGIN", "COMMIT"}, {"BEGIN", "ROLLBACK"}} {
			p := newPair(t, dialect)
			plain, wrapped := twin.Conn(t, p.Plain), twin.Conn(t, p.Wrapped)
			same(t, p.Plain, p.Wrapped, reads...)
			// Of a record type that no configuration names.
			execAll(
				t,
				p.Under,
				"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (99, 1, 0, 1000)",
				"INSERT INTO slotted_texts (kind, name, nr, n) VALUES (99, 'home', 0, 1000)",
			)
			for _, s := range steps {
				if around[0] != "" {
					same(t, plain, wrapped, around[0], s)
					same(t, plain, wrapped, reads[:4]...)
					same(t, plain, wrapped, around[1])
				} else {
					same(t, plain, wrapped, s)
				}
				same(t, p.Plain, p.Wrapped, reads...)
			}
			for _, table := range []string{"slotted_counters WHERE record_type = 99", "slotted_texts WHERE kind = 99"} {
				if got := text(t, p.Under, "SELECT COUNT(*) FROM "+table); got != "1" {
					t.Errorf("%s: %s rows", table, got)
				}
			}
			if dialect == "sqlite" {
				continue
			}
			same(
				t,
				p.Plain,
				p.Wrapped,
				"UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1",
				"TRUNCATE TABLE posts",
				"INSERT INTO posts VALUES (1, 'n', 0, 0)",
				"UPDATE posts SET views = views + 1 WHERE id = 1",
				reads[0],
				"DROP TABLE tags",
			)
			if got := text(t, p.Under, "SELECT COUNT(*) FROM slotted_texts WHERE kind = 3"); got != "0" {
				t.Errorf("%s rows of a dropped table", got)
			}
		}
	})
}

// Increments go to the shared tables, one row for each counter.
func TestSlotted(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		for range 3 {
			execAll(
				t,
				p.Wrapped,
				"UPDATE posts SET views = views + 1, likes = likes + 2 WHERE id = 2",
				"UPDATE posts SET views = views + 1 WHERE id = 2",
				"UPDATE comments SET likes = likes + 1 WHERE id = 2",
				"UPDATE pages SET hits = hits + 1, bytes = bytes + 10 WHERE slug = 'home'",
				"UPDATE tags SET uses = uses + 1 WHERE name = 'home'",
			)
		}
		for q, want := range map[string]string{
			"SELECT record_type, record_id, SUM(count) FROM slotted_counters GROUP BY record_type, record_id ORDER BY record_type": "1 2 6\n2 2 6\n3 2 3",
			"SELECT kind, name, SUM(n) FROM slotted_texts GROUP BY kind, name ORDER BY kind":                                       "1 home 3\n2 home 30\n3 home 3",
			"SELECT views, likes FROM posts WHERE id = 2":                                                                          "30 3",
		} {
			if got := text(t, p.Under, q); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", q, got, want)
			}
		}
	})
}

// A table none of whose counters there is at the time has no slots of its own in the shared table.
func TestTruncateWithoutCounters(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		same(t, p.Plain, p.Wrapped,
			"UPDATE tags SET uses = uses + 1 WHERE name = 'go'", "UPDATE pages SET hits = hits + 1 WHERE slug = ''",
			"ALTER TABLE tags RENAME COLUMN uses TO used", "TRUNCATE TABLE tags", "INSERT INTO tags (name, used) VALUES ('go', 4)",
			"ALTER TABLE tags RENAME COLUMN used TO uses", "SELECT * FROM tags", "UPDATE tags SET uses = uses + 2 WHERE name = 'go'")
		same(t, p.Plain, p.Wrapped, reads...)
	})
}

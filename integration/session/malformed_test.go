package session

import (
	"regexp"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// malformed are statements that an engine refuses, or takes otherwise than they
// look, for something in a part that a slotted upsert would leave out. The engines
// that a statement is for are named first; "" is all.
var malformed = []struct {
	dialects string
	sql      string
	args     []any
}{
	// What SET names.
	{"", "UPDATE posts SET nope.views = views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET nope.posts.views = views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET posts.views = views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts AS p SET posts.views = views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = nope.views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = nope.posts.views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts AS p SET views = posts.views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = views + 1, views = views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = views + 1, likes = 1, likes = 2 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = views + 1, nope = 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = nope + 1 WHERE id = 1", nil},
	{"mysql", "UPDATE posts SET POSTS.views = views + 1 WHERE id = 1", nil},
	{"mysql", "UPDATE posts SET views = POSTS.views + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = IFNULL(views, 0) + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = COALESCE(views, 'x') + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = COALESCE(views, ?) + 1 WHERE id = 1", []any{"x"}},
	{"", "UPDATE posts SET views = COALESCE(views, 99999999999999999999) + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = COALESCE(views, NULL) + 1 WHERE id = 1", nil},
	{"", "UPDATE posts SET views = COALESCE(views, 0.5) + 1 WHERE id = 1", nil},

	// What WHERE names.
	{"", "UPDATE posts SET views = views + 1 WHERE nope.id = 1", nil},
	{"", "UPDATE posts SET views = views + 1 WHERE nope.posts.id = 1", nil},
	{"", "UPDATE posts AS p SET views = views + 1 WHERE posts.id = 1", nil},
	{"", "UPDATE posts AS p SET views = views + 1 WHERE nope.p.id = 1", nil},
	{"mysql", "UPDATE posts SET views = views + 1 WHERE POSTS.id = 1", nil},
	{"", "UPDATE posts SET views = views + 1 WHERE id = 1 AND nope = 1", nil},
	{"", "UPDATE posts SET views = views + 1 WHERE id = 1 AND COUNT(*) > 0", nil},
	{"", "UPDATE posts SET views = views + 1 WHERE id = 1 AND excluded.views = 1", nil},
	{"", "UPDATE posts SET views = views + 1 WHERE id = 1 AND slotsql_s.views = 1", nil},
	{"", "UPDATE posts SET views = views + 1 WHERE id = 1 LIMIT 1", nil},
	{"", "UPDATE posts SET views = views + 1 WHERE id = 1 LIMIT 99999999999999999999999", nil},
	{"mysql", "UPDATE posts SET views = views + 1 WHERE id = 1 AND VALUES(views) IS NULL", nil},
	{"postgres", "UPDATE posts SET views = views + 1 WHERE posts.title = 1", nil},

	// Placeholders and arguments.
	{"", "UPDATE posts SET views = views + ? WHERE id = ?", []any{1}},
	{"", "UPDATE posts SET views = views + ? WHERE id = ?", []any{1, 1, 1}},
	{"", "UPDATE posts SET views = views + 1 WHERE id = 1", []any{1}},
	{"postgres", "UPDATE posts SET views = views + $1 WHERE id = $3", []any{1, 1, 1}},
	{"postgres", "UPDATE posts SET views = views + $2 WHERE id = 1", []any{1, 1}},
	{"postgres", "UPDATE posts SET views = views + $1 WHERE id = 1 AND title = $1", []any{1}},
	{"postgres", "UPDATE posts SET views = views + 1 WHERE id = $1 AND title = $1", []any{1}},
	{"postgres", "UPDATE posts SET views = views + $1 WHERE id = $1", []any{1}},
	{"postgres", "SELECT views FROM posts WHERE views > 1 AND id > $2 ORDER BY views DESC LIMIT 2", []any{1, 1}},
	{"postgres", "SELECT title FROM posts WHERE id > $1 AND title > $1 ORDER BY views DESC LIMIT 2", []any{1}},

	// Columns and values of an INSERT.
	{"", "INSERT INTO posts (id, views, nope) VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views, views) VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, id, views) VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts VALUES (1, 1, 1, 'x', 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts VALUES (1, 1, 1, 'x') ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (title) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (nope) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id, title) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id, id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + excluded.nope", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = nope.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET posts.views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1, views = 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1, nope = 1", nil},
	{"", "INSERT INTO posts AS p (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (DEFAULT, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES ('1x', 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES ('1', 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1.4, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", []any{"1x"}},
	{"", "INSERT INTO posts (id, views) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", []any{1.4}},
	{"", "INSERT INTO posts (id, views) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", []any{nil}},
	{"", "INSERT INTO posts (id, views, likes) VALUES (1, 1, 'x') ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (1, 99999999999) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", nil},
	{"", "INSERT INTO posts (id, views) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1", []any{1, 2}},
	{
		"postgres",
		"INSERT INTO posts (id, views, title) VALUES ($1, 1, $1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1",
		[]any{1},
	},
	{"postgres", "INSERT INTO posts (id, views) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET views = posts.views + $2", []any{1, 2}},
	{
		"postgres",
		"INSERT INTO posts (id, views) VALUES ($1, 1) ON CONFLICT ON CONSTRAINT nope DO UPDATE SET views = posts.views + 1",
		[]any{1},
	},
	{
		"postgres",
		"INSERT INTO posts (id, views) VALUES ($1, 1) ON CONFLICT ON CONSTRAINT posts_pkey DO UPDATE SET views = posts.views + 1",
		[]any{1},
	},
	{"postgres", "INSERT INTO tags (name, n) VALUES ($1, 1) ON CONFLICT ON CONSTRAINT tags_name DO UPDATE SET n = tags.n + 1", []any{"a"}},
	{"postgres", "INSERT INTO tags (id, name, n) VALUES (1, $1, 1) ON CONFLICT (name) DO UPDATE SET n = tags.n + 1", []any{"a"}},
	{"postgres", "INSERT INTO tags (made, name, n) VALUES (1, $1, 1) ON CONFLICT (name) DO UPDATE SET n = tags.n + 1", []any{"a"}},
	{"mysql", "INSERT INTO posts (nope.id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + 1", nil},
	{"mysql", "INSERT INTO posts (posts.id, posts.views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + 1", nil},
	{"mysql", "INSERT INTO posts SET nope.id = 1, views = 1 ON DUPLICATE KEY UPDATE views = views + 1", nil},
	{"mysql", "INSERT INTO posts SET id = 1, views = 1, views = 1 ON DUPLICATE KEY UPDATE views = views + 1", nil},
	{"mysql", "INSERT INTO posts SET id = 1, nope = 1 ON DUPLICATE KEY UPDATE views = views + 1", nil},
	{"mysql", "INSERT INTO posts (id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + VALUES(nope)", nil},
	{"mysql", "INSERT INTO posts (id, views) VALUES (1, 1) AS new ON DUPLICATE KEY UPDATE views = posts.views + new.views", nil},
	{"mysql", "INSERT INTO posts (id, views, hidden) VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE views = views + 1", nil},
	{"mysql", "INSERT INTO tags VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1", nil},
	{"mysql", "INSERT INTO tags VALUES (1, 'b', 1) ON DUPLICATE KEY UPDATE n = n + 1", nil},
	{"", "INSERT INTO made (id, twice, n) VALUES (1, 2, 1) ON CONFLICT (id) DO UPDATE SET n = made.n + 1", nil},
	{"", "INSERT INTO made VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = made.n + 1", nil},
	{"", "INSERT INTO made VALUES (1, 2, 1) ON CONFLICT (id) DO UPDATE SET n = made.n + 1", nil},
}

// malformedSchema are further tables: with columns that an INSERT need not or must
// not give, and with a unique key that is no constraint.
func malformedSchema(dialect string) []string {
	stored := map[string]string{"sqlite": "GENERATED ALWAYS AS (id * 2)", "mysql": "INT GENERATED ALWAYS AS (id * 2) STORED", "postgres": "INT GENERATED ALWAYS AS (id * 2) STORED"}[dialect]
	out := []string{
		"CREATE TABLE made (id INT PRIMARY KEY, twice " + stored + ", n INT NOT NULL)",
		"INSERT INTO made (id, n) VALUES (1, 1)",
	}
	switch dialect {
	case "postgres":
		out = append(out,
			"CREATE TABLE tags (id INT PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name TEXT NOT NULL, n INT NOT NULL)",
			"CREATE UNIQUE INDEX tags_name ON tags (name)", "INSERT INTO tags (name, n) VALUES ('a', 1)")
	case "mysql":
		out = append(
			out,
			"CREATE TABLE tags (id INT PRIMARY KEY, name VARCHAR(20) INVISIBLE, n INT NOT NULL)",
			"INSERT INTO tags (id, n) VALUES (1, 1)",
		)
	default:
		out = append(out, "CREATE TABLE tags (id INT PRIMARY KEY, name VARCHAR(20), n INT NOT NULL)")
	}
	return out
}

const malformedConfig = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}, slots: 8}, made: {counters: {n: {}}}, tags: {counters: {n: {}}}}\n"

// A statement that the engine refuses is refused, and counts nothing.
func TestMalformed(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(
			t,
			twin.Options{Dialect: dialect, Schema: append(schema(dialect), malformedSchema(dialect)...), Config: malformedConfig},
		)
		for _, m := range malformed {
			if m.dialects != "" && m.dialects != dialect {
				continue
			}
			query := m.sql
			switch dialect {
			case "postgres":
				query = dollars(query)
			case "mysql":
				query = onConflict.ReplaceAllString(query, "ON DUPLICATE KEY UPDATE ")
			}
			for _, prepared := range []bool{false, true} {
				for _, db := range []twin.Execer{p.Plain, p.Wrapped} {
					// The slot rows are there, and known.
					twin.ExecAll(t, db, "UPDATE posts SET views = 10, likes = 1 WHERE id = 1", "UPDATE made SET n = 1 WHERE id = 1",
						"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE made SET n = n + 1 WHERE id = 1")
				}
				p.Same(t, twin.Statement{SQL: query, Args: m.args, Prepared: prepared})
				for _, q := range []string{"SELECT id, views, likes FROM posts", "SELECT id, n FROM made", "SELECT id, n FROM tags"} {
					plain, wrapped := p.Run(t.Context(), twin.Statement{SQL: q})
					for _, d := range twin.Compare(plain, wrapped) {
						t.Errorf("after %s %v: %s", query, m.args, d)
					}
				}
			}
		}
	})
}

var onConflict = regexp.MustCompile(`ON CONFLICT (\(.*?\) )?DO UPDATE SET `)

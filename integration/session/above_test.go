package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

const inEU = " WHERE id = 1 AND region = 'eu'"

// ofPart are statements on a table above the counter table posts_eu, each of which meets
// increments in slots of that one.
var ofPart = []string{
	"SELECT * FROM posts ORDER BY id, region",
	"SELECT * FROM seen ORDER BY id",
	"SELECT * FROM seen_eu ORDER BY id",
	"UPDATE posts SET views = 100" + inEU,
	"UPDATE posts SET views = views * 2 WHERE id = 1",
	"SELECT views FROM posts WHERE id = 1 FOR UPDATE",
	"INSERT INTO posts VALUES (4, 'eu', 1, 4), (5, 'us', 1, 5)",
	"DELETE FROM posts WHERE views > 40",
}

// A counter table that is a partition is used through the partitioned table as well: that
// statement sees totals, and may set them or move rows between partitions.
func TestPartition(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{
		"slots":   "placement: random, slots: 8",
		"journal": "layout: journal",
		"bare":    "placement: random, slots: 8, foreign_keys: false",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const add = "UPDATE posts_eu SET views = views + 1" + inEU
			p := twin.New(t, twin.Options{
				Dialect: "postgres",
				Params:  unprepared["postgres"],
				Config:  "version: 1\nauto_migrate: true\ntables: {posts_eu: {counters: {views: {}}, " + options + "}}\n",
				Schema: []string{
					"CREATE TABLE users (id INT PRIMARY KEY)",
					"INSERT INTO users VALUES (1), (2), (3), (4), (5)",
					"CREATE TABLE posts (id INT, region TEXT, views INT NOT NULL DEFAULT 0, author INT REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE, " +
						"PRIMARY KEY (id, region)) PARTITION BY LIST (region)",
					"CREATE TABLE posts_eu PARTITION OF posts FOR VALUES IN ('eu')",
					"CREATE TABLE posts_us PARTITION OF posts FOR VALUES IN ('us')",
					"INSERT INTO posts VALUES (1, 'eu', 10, 1), (2, 'us', 20, 2), (3, 'eu', 30, 3)",
					"CREATE VIEW seen AS SELECT id, views FROM posts",
					"CREATE VIEW seen_eu AS SELECT id, views FROM posts_eu",
				},
			})
			s := pinned(t, p)
			run := func(statements ...string) {
				t.Helper()
				for _, query := range statements {
					for _, q := range []string{add, query, "SELECT * FROM posts_eu ORDER BY id"} {
						s.same(t, twin.Statement{SQL: q})
					}
				}
			}
			run(ofPart...)
			run(
				"INSERT INTO posts VALUES (1, 'eu', 5) ON CONFLICT (id, region) DO UPDATE SET views = posts.views + excluded.views RETURNING views",
				"MERGE INTO posts USING (VALUES (1)) AS n (id) ON posts.id = n.id AND region = 'eu' WHEN MATCHED THEN UPDATE SET views = posts.views * 2",
				"UPDATE posts SET region = 'us' WHERE id = 1", // out of the counter table
				"UPDATE posts SET region = 'eu' WHERE id = 1", // and back
				"UPDATE posts SET id = 7 WHERE id = 1",
				"UPDATE posts SET id = 1 WHERE id = 7",
				"UPDATE users SET id = 6 WHERE id = 1",
				"BEGIN", "UPDATE posts SET region = 'us' WHERE id = 1", "SELECT * FROM posts ORDER BY id", "ROLLBACK",
				"DELETE FROM users WHERE id = 6", "INSERT INTO posts VALUES (1, 'eu', 3)",
				"ALTER TABLE posts ADD COLUMN more INT", "SELECT * FROM posts ORDER BY id",
				"TRUNCATE posts", "INSERT INTO posts VALUES (1, 'eu', 3)",
				"ALTER TABLE posts DETACH PARTITION posts_eu", "SELECT * FROM posts ORDER BY id",
				"ALTER TABLE posts ATTACH PARTITION posts_eu FOR VALUES IN ('eu')", "SELECT * FROM posts ORDER BY id",
				"DROP VIEW seen, seen_eu", "DROP TABLE posts",
			)
			final(t, p)
		})
	}
}

// A counter table that inherits from another one, and that one from a third.
func TestHeir(t *testing.T) {
	t.Parallel()
	const add = "UPDATE posts_eu SET views = views + 1" + inEU
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Params:  unprepared["postgres"],
		Config:  "version: 1\nauto_migrate: true\ntables: {posts_eu: {counters: {views: {}}, placement: random, slots: 8}}\n",
		Schema: []string{
			"CREATE TABLE posts (id INT, region TEXT DEFAULT 'us', views INT NOT NULL DEFAULT 0, author INT)",
			"CREATE TABLE middle () INHERITS (posts)",
			"CREATE TABLE posts_eu (PRIMARY KEY (id, region)) INHERITS (middle)",
			"INSERT INTO posts VALUES (2, 'us', 20, 2)",
			"INSERT INTO posts_eu VALUES (1, 'eu', 10, 1), (3, 'eu', 30, 3)",
			"CREATE VIEW seen AS SELECT id, views FROM posts",
			"CREATE VIEW seen_eu AS SELECT id, views FROM posts_eu",
		},
	})
	s := pinned(t, p)
	for _, query := range append(ofPart, "UPDATE middle SET views = 3", "SELECT * FROM ONLY posts", "TRUNCATE ONLY middle", "TRUNCATE middle",
		"INSERT INTO posts_eu VALUES (1, 'eu', 7)", "DROP TABLE middle", "DROP TABLE posts CASCADE") {
		for _, q := range []string{add, query, "SELECT * FROM posts_eu ORDER BY id"} {
			s.same(t, twin.Statement{SQL: q})
		}
	}
	final(t, p)
}

// Another client makes the counter table a partition, and its table one of a third.
func TestAttachedByAnother(t *testing.T) {
	t.Parallel()
	const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Params:  unprepared["postgres"],
		Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, placement: random, slots: 8}}\n",
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0)",
			"CREATE TABLE every (id INT, views INT NOT NULL DEFAULT 0) PARTITION BY RANGE (id)",
			"CREATE TABLE whole (id INT, views INT NOT NULL DEFAULT 0) PARTITION BY RANGE (id)",
			"INSERT INTO posts VALUES (1, 10)",
		},
	})
	same := func(queries ...string) {
		t.Helper()
		for _, query := range queries {
			p.Same(t, twin.Statement{SQL: query})
		}
	}
	same(add, "SELECT * FROM every", "SELECT * FROM whole")
	execBoth(t, p, []string{"ALTER TABLE every ATTACH PARTITION posts FOR VALUES FROM (0) TO (100)"})
	notice(t, p)
	same(add, "SELECT * FROM every", add, "UPDATE every SET views = views * 2", "SELECT * FROM posts", add)
	execBoth(t, p, []string{"ALTER TABLE whole ATTACH PARTITION every FOR VALUES FROM (0) TO (100)", "CREATE VIEW seen AS SELECT * FROM whole"})
	notice(t, p)
	same(add, "SELECT * FROM whole", add, "SELECT * FROM seen", add, "UPDATE whole SET views = views * 2", "SELECT * FROM posts", add)
	final(t, p)
}

// A table that is made to inherit from a counter table, or to be a partition of it, in one
// statement with the table itself: the slots are folded before it.
func TestCreatedBelow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ key, create string }{
		"heir":      {"PRIMARY KEY", "CREATE TABLE child () INHERITS (posts)"},
		"partition": {"PRIMARY KEY) PARTITION BY RANGE (id", "CREATE TABLE child PARTITION OF posts (CHECK (views < 500)) FOR VALUES FROM (500) TO (600)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{Dialect: "postgres", Config: always, Params: unprepared["postgres"], Schema: []string{
				"CREATE TABLE posts (views INT NOT NULL DEFAULT 0, likes INT NOT NULL DEFAULT 0, title TEXT, id INT " + c.key + ")",
			}})
			if name == "partition" {
				execBoth(t, p, []string{"CREATE TABLE first PARTITION OF posts FOR VALUES FROM (0) TO (100)"})
			}
			s := pinned(t, p)
			for _, query := range []string{
				"INSERT INTO posts (id) VALUES (1)", "UPDATE posts SET views = views + 1 WHERE id = 1", c.create,
				"UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT * FROM posts", "UPDATE posts SET views = 7 WHERE id = 1",
				"UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT * FROM child", "SELECT * FROM posts", "DELETE FROM posts",
			} {
				s.same(t, twin.Statement{SQL: query})
			}
			final(t, p)
		})
	}
}

package exactness

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A watched case is a table of which something in the database looks at what its rows store in
// a counter, or by which a key is computed.
type watchedCase struct {
	name, dialects string
	config         string // of the tables
	schema         []string
	script         []string // a line that begins with "outside: " is another client's
}

const levelsSchema = "CREATE TABLE levels (id INTEGER PRIMARY KEY)"

var watchedCases = []watchedCase{
	{
		"references", "mysql postgres sqlite", "posts: {counters: {lvl: {}, views: {}}}",
		[]string{
			levelsSchema, "CREATE TABLE posts (id INTEGER PRIMARY KEY, lvl INTEGER, views INTEGER NOT NULL, FOREIGN KEY (lvl) REFERENCES levels (id))",
			"INSERT INTO levels VALUES (1), (2)", "INSERT INTO posts VALUES (1, 1, 0), (2, NULL, 0)",
		},
		[]string{
			"UPDATE posts SET lvl = lvl + 1 WHERE id = 1", "UPDATE posts SET lvl = lvl + 1 WHERE id = 1", "UPDATE posts SET lvl = COALESCE(lvl, 0) + 1 WHERE id = 2",
			"UPDATE posts SET lvl = lvl - 2, views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 1", "DELETE FROM levels WHERE id = 2",
			"SELECT * FROM posts ORDER BY id",
		},
	},
	{
		"references later", "mysql postgres", "posts: {counters: {lvl: {}, views: {}}}",
		[]string{
			levelsSchema, "CREATE TABLE posts (id INTEGER PRIMARY KEY, lvl INTEGER, views INTEGER NOT NULL)",
			"INSERT INTO levels VALUES (1), (2), (3)", "INSERT INTO posts VALUES (1, 4, 0), (2, 2, 0)",
		},
		[]string{
			"UPDATE posts SET lvl = lvl - 1 WHERE id = 1", // of which the foreign key sees the total
			"ALTER TABLE posts ADD CONSTRAINT fk FOREIGN KEY (lvl) REFERENCES levels (id)",
			"UPDATE posts SET lvl = lvl + 1 WHERE id = 1", "UPDATE posts SET lvl = lvl - 1 WHERE id = 1", "SELECT * FROM posts ORDER BY id",
			"DELETE FROM levels WHERE id = 2", "ALTER TABLE posts DROP CONSTRAINT fk", "UPDATE posts SET lvl = lvl + 10, views = views + 1 WHERE id = 1",
			"ALTER TABLE posts ADD CONSTRAINT fk FOREIGN KEY (lvl) REFERENCES levels (id)", "SELECT * FROM posts ORDER BY id",
		},
	},
	{
		"references, of another client", "mysql postgres", "posts: {counters: {lvl: {}}}",
		[]string{
			levelsSchema, "CREATE TABLE posts (id INTEGER PRIMARY KEY, lvl INTEGER)",
			"INSERT INTO levels VALUES (1), (2), (3)", "INSERT INTO posts VALUES (1, 1)",
		},
		[]string{
			"UPDATE posts SET lvl = lvl + 1 WHERE id = 1",
			"outside: ALTER TABLE posts ADD CONSTRAINT fk FOREIGN KEY (lvl) REFERENCES levels (id)",
			"UPDATE posts SET lvl = lvl + 1 WHERE id = 1", "UPDATE posts SET lvl = lvl + 1 WHERE id = 1", "SELECT * FROM posts",
		},
	},
	{
		"referenced", "mysql", "grp: {counters: {n: {}}}",
		[]string{
			"CREATE TABLE grp (id INT PRIMARY KEY, n INT NOT NULL, KEY (n))",
			"CREATE TABLE kid (id INT PRIMARY KEY, gn INT, FOREIGN KEY (gn) REFERENCES grp (n) ON UPDATE CASCADE)",
			"INSERT INTO grp VALUES (1, 10), (2, 11)", "INSERT INTO kid VALUES (1, 10), (2, 11)",
		},
		[]string{
			"UPDATE grp SET n = n + 1 WHERE id = 1", "SELECT * FROM kid ORDER BY id", "UPDATE grp SET n = n + 1 WHERE id = 1",
			"SELECT * FROM kid ORDER BY id", "INSERT INTO kid VALUES (3, 10)", "INSERT INTO kid VALUES (3, 12)", "SELECT * FROM grp ORDER BY id",
		},
	},
	{
		"referenced later", "mysql", "grp: {counters: {n: {}}}",
		[]string{"CREATE TABLE grp (id INT PRIMARY KEY, n INT NOT NULL, KEY (n))", "INSERT INTO grp VALUES (1, 10), (2, 11)"},
		[]string{
			"UPDATE grp SET n = n + 5 WHERE id = 1", "CREATE TABLE kid (id INT PRIMARY KEY, gn INT, FOREIGN KEY (gn) REFERENCES `grp` (`n`) ON UPDATE CASCADE)",
			"INSERT INTO kid VALUES (1, 15)", "INSERT INTO kid VALUES (2, 10)", "UPDATE grp SET n = n + 1 WHERE id = 1", "SELECT * FROM kid ORDER BY id",
			"DROP TABLE kid", "UPDATE grp SET n = n + 1 WHERE id = 2", "CREATE TABLE other (id INT PRIMARY KEY, gn INT)", "INSERT INTO other VALUES (1, 12)",
			"ALTER TABLE other ADD FOREIGN KEY (gn) REFERENCES grp (n) ON UPDATE CASCADE", "UPDATE grp SET n = n + 1 WHERE id = 2", "SELECT * FROM other", "SELECT * FROM grp ORDER BY id",
		},
	},
	{
		"referenced without a key", "sqlite", "grp: {counters: {n: {}}}",
		[]string{
			"CREATE TABLE grp (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)", "CREATE TABLE kid (id INTEGER PRIMARY KEY, gn INTEGER REFERENCES grp (n))",
			"INSERT INTO grp VALUES (1, 10)",
		},
		[]string{"UPDATE grp SET n = n + 1 WHERE id = 1", "DROP TABLE kid", "UPDATE grp SET n = n + 1 WHERE id = 1", "SELECT * FROM grp"},
	},
	{
		"key computed", "mysql postgres sqlite", "posts: {key: [g], counters: {views: {}}}",
		[]string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, email VARCHAR(20) NOT NULL, g VARCHAR(20) GENERATED ALWAYS AS (lower(email)) STORED UNIQUE)",
			"INSERT INTO posts (id, views, email) VALUES (1, 100, 'A@x'), (2, 1, 'B@x')",
		},
		[]string{
			"UPDATE posts SET views = views + 1 WHERE g = 'a@x'", "UPDATE posts SET views = views + 1 WHERE id = 2", "UPDATE posts SET email = 'c@x' WHERE id = 1",
			"SELECT * FROM posts ORDER BY id", "UPDATE posts SET email = 'a@x' WHERE id = 2", "UPDATE posts SET views = views + 1 WHERE id = 2",
			"UPDATE posts SET views = views + 1, email = 'd@x' WHERE id = 2", "SELECT * FROM posts ORDER BY id", "UPDATE posts SET email = email WHERE id = 2",
			"SELECT id, views FROM posts ORDER BY id",
		},
	},
	{
		"key computed, upserts", "postgres sqlite", "posts: {key: [g], counters: {views: {}}}",
		[]string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, email VARCHAR(20) NOT NULL, g VARCHAR(20) GENERATED ALWAYS AS (lower(email)) STORED UNIQUE)",
			"INSERT INTO posts (id, views, email) VALUES (1, 100, 'A@x')",
		},
		[]string{
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"INSERT INTO posts (id, views, email) VALUES (1, 5, 'Z@x') ON CONFLICT (id) DO UPDATE SET email = excluded.email", "SELECT * FROM posts",
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"INSERT INTO posts (id, views, email) VALUES (1, 5, 'Y@x') ON CONFLICT (id) DO UPDATE SET views = posts.views + 1, email = excluded.email",
			"SELECT * FROM posts", "UPDATE posts SET views = views + 1 WHERE id = 1",
			"UPDATE posts SET email = v.e FROM (SELECT 1 AS i, 'x@x' AS e) AS v WHERE v.i = posts.id", "SELECT * FROM posts",
		},
	},
	{
		"key computed twice", "mysql sqlite", "posts: {key: [h], counters: {views: {}}}",
		[]string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, lvl INTEGER, g INTEGER GENERATED ALWAYS AS (lvl * 2) STORED, h INTEGER GENERATED ALWAYS AS (g + 1) STORED UNIQUE)",
			"CREATE TABLE news (id INTEGER PRIMARY KEY, l INTEGER)", "INSERT INTO posts (id, views, lvl) VALUES (1, 100, 1), (2, 1, 2)", "INSERT INTO news VALUES (1, 30)",
		},
		[]string{
			"UPDATE posts SET views = views + 1 WHERE h = 3", "UPDATE posts SET lvl = 9 WHERE id = 1", "SELECT * FROM posts ORDER BY id",
			"UPDATE posts SET views = views + 1 WHERE id = 2", "UPDATE posts SET lvl = lvl + 10", "SELECT * FROM posts ORDER BY id",
		},
	},
	{
		"key computed, MySQL's forms", "mysql", "posts: {key: [h], counters: {views: {}}}",
		[]string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, lvl INTEGER, g INTEGER AS (lvl * 2) STORED, h INTEGER AS (g + 1) STORED UNIQUE)",
			"CREATE TABLE news (id INTEGER PRIMARY KEY, l INTEGER)", "INSERT INTO posts (id, views, lvl) VALUES (1, 100, 1), (2, 1, 2)", "INSERT INTO news VALUES (1, 30)",
		},
		[]string{
			"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts p JOIN news n ON n.id = p.id SET p.lvl = n.l", "SELECT * FROM posts ORDER BY id",
			"UPDATE posts SET views = views + 1 WHERE id = 1", "INSERT INTO posts (id, views, lvl) VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE lvl = 40", "SELECT * FROM posts ORDER BY id",
			"UPDATE posts SET views = views + 1 WHERE id = 1", "INSERT INTO posts (id, views, lvl) VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE views = views + 1, lvl = 50",
			"SELECT * FROM posts ORDER BY id",
		},
	},
	{
		"exclusion where", "postgres", "posts: {counters: {views: {}}}",
		[]string{
			"CREATE TABLE posts (id int PRIMARY KEY, r int4range, views int NOT NULL, EXCLUDE USING gist (r WITH &&) WHERE (views > 10))",
			"INSERT INTO posts VALUES (1, '[1,5)', 10), (2, '[2,6)', 12)",
		},
		[]string{"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views - 5 WHERE id = 2", "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT * FROM posts ORDER BY id"},
	},
	{
		"exclusion of a partition", "postgres", "posts: {counters: {views: {}}}",
		[]string{
			"CREATE TABLE posts (id int PRIMARY KEY, r int4range, views int NOT NULL) PARTITION BY RANGE (id)", "CREATE TABLE few PARTITION OF posts FOR VALUES FROM (0) TO (100)",
			"ALTER TABLE few ADD EXCLUDE USING gist (r WITH &&) WHERE (views > 10)", "INSERT INTO posts VALUES (1, '[1,5)', 10), (2, '[2,6)', 12)",
		},
		[]string{"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 2", "SELECT * FROM posts ORDER BY id"},
	},
	{
		"unique by the whole row", "postgres", "posts: {counters: {views: {}}}",
		[]string{
			"CREATE TABLE posts (id int PRIMARY KEY, views int NOT NULL, t text)", "CREATE FUNCTION keyof(posts) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1.views % 10'",
			"CREATE UNIQUE INDEX ON posts (lower(t), keyof(posts))", "INSERT INTO posts VALUES (1, 100, 'a'), (2, 102, 'A')",
		},
		[]string{"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT * FROM posts ORDER BY id"},
	},
	{
		"excluded by the whole row", "postgres", "posts: {counters: {views: {}}}",
		[]string{
			"CREATE TABLE posts (id int PRIMARY KEY, views int NOT NULL, r int4range)", "CREATE FUNCTION many(posts) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.views > 101'",
			"ALTER TABLE posts ADD EXCLUDE USING gist (r WITH &&) WHERE (many(posts))", "INSERT INTO posts VALUES (1, 100, '[1,5)'), (2, 102, '[2,6)')",
		},
		[]string{"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT * FROM posts ORDER BY id"},
	},
	{
		"partitioned by the counter", "postgres", "hits: {key: [], counters: {n: {}}}",
		[]string{
			"CREATE TABLE hits (n int NOT NULL) PARTITION BY RANGE ((n + 1))", "CREATE TABLE hits_lo PARTITION OF hits FOR VALUES FROM (0) TO (13)",
			"CREATE TABLE hits_hi PARTITION OF hits FOR VALUES FROM (14) TO (20)", "INSERT INTO hits VALUES (10)",
		},
		[]string{"UPDATE hits SET n = n + 1", "UPDATE hits SET n = n + 1", "UPDATE hits SET n = n + 2", "SELECT * FROM hits_hi", "SELECT * FROM hits"},
	},
	{
		"a partition by the counter", "postgres", "low: {key: [id], counters: {n: {}}}",
		[]string{
			"CREATE TABLE hits (id int NOT NULL, n int NOT NULL) PARTITION BY RANGE (n)", "CREATE TABLE low PARTITION OF hits FOR VALUES FROM (0) TO (12)",
			"CREATE UNIQUE INDEX ON low (id)", "INSERT INTO hits VALUES (1, 10)",
		},
		[]string{
			"UPDATE low SET n = n + 1 WHERE id = 1", "UPDATE low SET n = n + 1 WHERE id = 1",
			"INSERT INTO low VALUES (1, 90) ON CONFLICT (id) DO UPDATE SET n = low.n + 1", "SELECT * FROM low",
		},
	},
	{
		"a partition's upserts", "postgres", "eu: {key: [id], counters: {n: {}}}",
		[]string{
			"CREATE TABLE hits (id int NOT NULL, region text NOT NULL, n int NOT NULL) PARTITION BY LIST (region)", "CREATE TABLE eu PARTITION OF hits FOR VALUES IN ('eu')",
			"CREATE UNIQUE INDEX ON eu (id)", "INSERT INTO hits VALUES (1, 'eu', 10)",
		},
		[]string{
			"INSERT INTO eu VALUES (1, 'eu', 1) ON CONFLICT (id) DO UPDATE SET n = eu.n + 1", "INSERT INTO eu VALUES (1, 'us', 1) ON CONFLICT (id) DO UPDATE SET n = eu.n + 1",
			"UPDATE eu SET n = n + 1 WHERE id = 1", "SELECT * FROM eu", "UPDATE eu SET n = 3 WHERE id = 1",
		},
	},
	{
		"partitioned by the counter", "mysql", "hits: {key: [], counters: {n: {}}}",
		[]string{
			"CREATE TABLE hits (n int NOT NULL) PARTITION BY RANGE (n) (PARTITION p0 VALUES LESS THAN (12), PARTITION p1 VALUES LESS THAN (14))",
			"INSERT INTO hits VALUES (10)",
		},
		[]string{
			"UPDATE hits SET n = n + 1", "UPDATE hits SET n = n + 1", "SELECT * FROM hits PARTITION (p0)", "SELECT * FROM hits PARTITION (p1)",
			"UPDATE hits SET n = n + 1", "UPDATE hits SET n = n + 1", "SELECT * FROM hits",
		},
	},
	{
		"partitioned by the counter, of another client", "mysql", "hits: {key: [], counters: {n: {}}}",
		[]string{"CREATE TABLE hits (id INT, n INT NOT NULL) PARTITION BY HASH (id) PARTITIONS 2", "INSERT INTO hits VALUES (1, 10)"},
		[]string{
			"UPDATE hits SET n = n + 1", "outside: ALTER TABLE hits PARTITION BY RANGE (n) (PARTITION p0 VALUES LESS THAN (12), PARTITION p1 VALUES LESS THAN (14))",
			"UPDATE hits SET n = n + 1", "UPDATE hits SET n = n + 1", "UPDATE hits SET n = n + 1", "SELECT * FROM hits",
		},
	},
}

// TestBaseValueWatched: what the database makes of an increment that something looks at, it
// makes of it through slotsql.
func TestBaseValueWatched(t *testing.T) {
	for _, c := range watchedCases {
		for _, dialect := range strings.Fields(c.dialects) {
			for _, defaults := range []string{"placement: random, slots: 4", "placement: random, slots: 4, foreign_keys: false", "slots: 0"} {
				t.Run(c.name+"/"+dialect+"/"+defaults, func(t *testing.T) {
					t.Parallel()
					o := twin.Options{Dialect: dialect, Schema: c.schema, Config: "version: 1\nauto_migrate: true\ndefaults: {" + defaults + "}\ntables: {" + c.config + "}\n"}
					if dialect == "sqlite" {
						o.Params = "_pragma=foreign_keys(1)"
					}
					p := twin.New(t, o)
					for _, line := range c.script {
						if sql, ok := strings.CutPrefix(line, "outside: "); ok {
							twin.ExecAll(t, p.Plain, sql)
							twin.ExecAll(t, p.Under, sql)
							if err := twin.Notice(t.Context(), p.Wrapped); err != nil {
								t.Fatal(err)
							}
							continue
						}
						p.Same(t, twin.Statement{SQL: line})
					}
					differences, err := p.FinalTables(t.Context())
					if err != nil || len(differences) > 0 {
						t.Errorf("at the end %v, %v", differences, err)
					}
				})
			}
		}
	}
}

package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Columns and tables of kinds that MySQL has beside the usual ones.
func TestMySQLKinds(t *testing.T) {
	for name, ddl := range map[string]string{
		"mediumint":   "CREATE TABLE posts (id MEDIUMINT PRIMARY KEY, views MEDIUMINT NOT NULL DEFAULT 0, likes MEDIUMINT UNSIGNED, title VARCHAR(100))",
		"zerofill":    "CREATE TABLE posts (id INT PRIMARY KEY, views INT(8) UNSIGNED ZEROFILL NOT NULL DEFAULT 0, likes BIGINT ZEROFILL, title VARCHAR(100))",
		"zerofillkey": "CREATE TABLE posts (id INT(5) ZEROFILL PRIMARY KEY, views INT NOT NULL DEFAULT 0, likes BIGINT, title VARCHAR(100))",
		"hash":        "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0, likes INT, title VARCHAR(100)) PARTITION BY HASH (id) PARTITIONS 4",
		"range":       "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0, likes INT, title VARCHAR(100)) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (3), PARTITION b VALUES LESS THAN MAXVALUE)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := twin.New(
				t,
				twin.Options{
					Dialect: "mysql",
					Config:  config,
					Schema: []string{
						ddl,
						"INSERT INTO posts (id, views, likes, title) VALUES (1, 10, 1, 'one'), (2, 20, NULL, 'two'), (3, 30, 3, 'three')",
					},
				},
			)
			one, other := pinned(t, p), pinned(t, p)
			one.script(t, &other, work...)
			for _, query := range []string{
				"SELECT views, likes, views + 1, CONCAT(views), SUM(likes), MAX(views) FROM posts GROUP BY id ORDER BY id", "SELECT id FROM posts WHERE views > 12 ORDER BY views DESC LIMIT 2", "SELECT * FROM posts WHERE id = 1",
				"UPDATE posts SET views = views - 1 WHERE id = 1", "UPDATE posts SET views = views + 8388600 WHERE id = 1", "SELECT views FROM posts WHERE id = 1", "TRUNCATE TABLE posts",
				"INSERT INTO posts (id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + 1", "INSERT INTO posts (id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + 1", "SELECT * FROM posts",
				"REPLACE INTO posts (id, views) VALUES (1, 7)", "UPDATE posts SET views = views + 1 WHERE id = 1", "DELETE FROM posts WHERE id = 1", "INSERT INTO posts (id, views) VALUES (1, 0)", "SELECT views FROM posts",
			} {
				one.same(t, twin.Statement{SQL: query})
			}
			ds, err := p.FinalTables(t.Context())
			if err != nil || len(ds) > 0 {
				t.Error(ds, err)
			}
		})
	}
}

// CREATE OR REPLACE TABLE drops the table that there is (MariaDB).
func TestCreateOrReplace(t *testing.T) {
	t.Parallel()
	p := newPair(t, "mysql", "")
	one, other := pinned(t, p), pinned(t, p)
	for range 2 {
		for _, query := range []string{
			"UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT SUM(views) FROM posts",
			"CREATE OR REPLACE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, likes INTEGER, title VARCHAR(50))",
			"INSERT INTO posts (id, views) VALUES (1, 5)", "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views * 2 WHERE id = 1", totals,
			"CREATE OR REPLACE TABLE posts AS SELECT 1 AS id, 3 AS views, 4 AS likes, 'x' AS title", totals, "UPDATE posts SET views = views + 1 WHERE id = 1", totals,
			"CREATE OR REPLACE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, likes INTEGER, title VARCHAR(50))", "INSERT INTO posts (id, views) VALUES (1, 5)",
		} {
			one.same(t, twin.Statement{SQL: query})
			other.same(t, twin.Statement{SQL: totals})
		}
	}
}

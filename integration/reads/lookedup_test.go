package reads

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Values that are looked up in a query over totals: MySQL loses conditions of such a query.
func TestLookedUpInTotals(t *testing.T) {
	const noSemijoin = "optimizer_switch=%27semijoin=off%27"
	for name, params := range map[string]string{"sqlite": "", "mysql": "", "mysql without semijoins": noSemijoin, "postgres": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialect, _, _ := strings.Cut(name, " ")
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Params:  params,
				Schema: []string{
					"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL)",
					"INSERT INTO posts VALUES (1, 4), (2, 3), (3, 1)",
				},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection}}\n",
			})
			const totals = "(SELECT id, views FROM posts) d"
			for _, query := range []string{
				"SELECT id FROM posts x WHERE x.id NOT IN (SELECT d.id FROM " + totals + " WHERE d.views > 5) ORDER BY id",
				"SELECT id FROM posts x WHERE x.id = 77 OR x.id IN (SELECT d.id FROM " + totals + " WHERE d.views > 5) ORDER BY id",
				"SELECT id FROM posts x WHERE x.id IN (SELECT d.id FROM " + totals + " WHERE d.views > 5) ORDER BY id",
				"SELECT /*+ NO_SEMIJOIN() */ id FROM posts x WHERE x.id IN (SELECT d.id FROM " + totals + " WHERE d.views > 5) ORDER BY id",
				"SELECT STRAIGHT_JOIN id FROM posts x WHERE x.id IN (SELECT d.id FROM " + totals + " WHERE d.views > 5) ORDER BY id",
				"SELECT id FROM posts x WHERE x.id IN (SELECT d.id FROM " + totals + ") ORDER BY id",
				"SELECT id, CASE WHEN x.id IN (SELECT d.id FROM " + totals + " WHERE d.views > 5) THEN 1 ELSE 0 END FROM posts x ORDER BY id",
				"SELECT SUM(CASE WHEN x.id IN (SELECT id FROM posts WHERE views <= x.views) THEN 1 ELSE 0 END) FROM posts x",
				"SELECT id FROM posts x WHERE x.id = 77 OR x.id = ANY (SELECT d.id FROM " + totals + " WHERE d.views > 5) ORDER BY id",
				"WITH d AS (SELECT id, views FROM posts) SELECT id FROM posts x WHERE x.id NOT IN (SELECT d.id FROM d WHERE d.views > 5) ORDER BY id",
				"SELECT id FROM posts x WHERE (x.id, 1) NOT IN (SELECT d.id, d.views FROM " + totals + ") ORDER BY id",
			} {
				if dialect == "sqlite" && strings.Contains(query, "ANY (") || dialect != "mysql" && strings.Contains(query, "STRAIGHT_JOIN") {
					continue
				}
				p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 2 WHERE id = 1"})
				p.Same(t, twin.Statement{SQL: query})
			}
		})
	}
}

// A name of ORDER BY that an item has and a column of a * over a query of totals: MySQL 8 refuses some of them as ambiguous
// where the column is an expression, and takes another column for some.
func TestOrderByNameOfSeveral(t *testing.T) {
	p := twin.New(t, twin.Options{
		Dialect: "mysql",
		Schema: []string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL)",
			"INSERT INTO posts VALUES (1, 1), (2, 0), (3, 1), (4, 0)",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection}}\n",
	})
	for _, query := range []string{
		"SELECT id AS likes, t.* FROM (SELECT 1 AS likes, views AS id FROM posts) t ORDER BY likes",
		"WITH t AS (SELECT 1 AS likes, views AS id FROM posts) SELECT id AS likes, t.* FROM t ORDER BY likes",
		"SELECT t.*, 1 AS likes FROM (SELECT views XOR 1 AS likes FROM posts) t ORDER BY likes",
	} {
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 2 WHERE id = 1"})
		p.Same(t, twin.Statement{SQL: query})
	}
}

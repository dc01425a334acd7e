package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// On MySQL a READ ONLY transaction of each level reads views, calls routines and locks
// rows as with the plain driver, however it has come to be READ ONLY.
func TestReadOnlyLevels(t *testing.T) {
	statements := []string{
		"SELECT id, views FROM ranked ORDER BY id",
		"SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE",
		"SELECT views_of(1), views_of(2)",
		"SELECT views FROM posts ORDER BY id",
		"SELECT MAX(views) INTO @x FROM ranked",
		"SET @y = views_of(2)",
		"SELECT @x, @y",
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET views = 7 WHERE id = 1",
		"CALL double_views(1)",
		"SELECT views FROM ranked WHERE id = 1",
		"SELECT views FROM posts WHERE id = 2 FOR UPDATE",
	}
	for _, level := range []string{"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		for how, begin := range map[string][]string{
			"begintx": nil, "text": {"START TRANSACTION READ ONLY"}, "snapshot": {"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"},
			"session": {"SET SESSION TRANSACTION READ ONLY", "BEGIN"}, "next": {"SET TRANSACTION READ ONLY", "BEGIN"},
			"autocommit": {"SET SESSION TRANSACTION READ ONLY"}, "off": {"SET SESSION TRANSACTION READ ONLY", "SET autocommit = 0"},
		} {
			if how == "snapshot" && level == "REPEATABLE READ" {
				continue // it has the slots in it: see docs/divergences.md
			}
			t.Run(how+"/"+level, func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{
					Dialect: "mysql",
					Schema:  dynamicSchema,
					Config:  "version: 1\nauto_migrate: true\ntables: {posts: {routines: [double_views, views_of], slots: 8, placement: random, counters: {views: {}}}}",
				})
				countIn(t, p)
				filled(t, p)
				one := pinned(t, p)
				one.same(t, twin.Statement{SQL: "SET SESSION TRANSACTION ISOLATION LEVEL " + level})
				if how == "begintx" {
					one = readOnlyTx(t, one)
				}
				for _, query := range begin {
					one.same(t, twin.Statement{SQL: query})
				}
				for _, query := range statements {
					if strings.HasSuffix(level, "COMMITTED") && how != "autocommit" &&
						(strings.Contains(query, "FOR UPDATE") || strings.Contains(query, "SHARE") || strings.Contains(query, "@")) {
						continue // slots cannot be kept away afterwards: see docs/divergences.md
					}
					if level == "READ UNCOMMITTED" && how != "autocommit" && strings.Contains(query, "FROM posts ORDER") {
						continue // it would drain: see docs/divergences.md
					}
					one.same(t, twin.Statement{SQL: query})
					if how == "autocommit" {
						countIn(t, p)
					}
				}
			})
		}
	}
}

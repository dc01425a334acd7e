package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// On MySQL a READ ONLY transaction of each level reads views of a table without slots, calls routines and locks
// rows as with the plain driver, however it has come to be READ ONLY.
func TestReadOnlyLevels(t *testing.T) {
	views := []string{
		"SELECT id, views FROM ranked ORDER BY id",
		"SELECT views FROM posts ORDER BY id",
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET views = 7 WHERE id = 1",
		"SELECT views FROM ranked WHERE id = 1",
		"SELECT views FROM posts WHERE id = 2 FOR UPDATE",
	}
	routines := []string{
		"SELECT views FROM posts WHERE id = 1 LOCK IN SHARE MODE",
		"SELECT views_of(1), views_of(2)",
		"SELECT MAX(views) INTO @x FROM ranked",
		"SET @y = views_of(2)",
		"SELECT @x, @y",
		"CALL double_views(1)",
	}
	for _, level := range []string{"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		for how, begin := range map[string][]string{
			"begintx": nil, "text": {"START TRANSACTION READ ONLY"}, "snapshot": {"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"},
			"session": {"SET SESSION TRANSACTION READ ONLY", "BEGIN"}, "next": {"SET TRANSACTION READ ONLY", "BEGIN"},
			"autocommit": {"SET SESSION TRANSACTION READ ONLY"}, "off": {"SET SESSION TRANSACTION READ ONLY", "SET autocommit = 0"},
		} {
			t.Run(how+"/"+level, func(t *testing.T) {
				t.Parallel()
				for calls, statements := range map[string][]string{"": views, "routines: [double_views, views_of], ": routines} {
					if calls != "" && strings.HasSuffix(level, "COMMITTED") && how != "autocommit" {
						continue // its queries see no common snapshot: see docs/divergences.md
					}
					p := twin.New(t, twin.Options{
						Dialect: "mysql",
						Schema:  dynamicSchema,
						Config:  "version: 1\nauto_migrate: true\ntables: {posts: {" + calls + "slots: 8, placement: adaptive, counters: {views: {}}}}",
					})
					p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
					one := pinned(t, p)
					one.same(t, twin.Statement{SQL: "SET SESSION TRANSACTION ISOLATION LEVEL " + level})
					if how == "begintx" {
						one = readOnlyTx(t, one)
					}
					for _, query := range append(begin, statements...) {
						if level == "READ UNCOMMITTED" && how != "autocommit" && strings.HasPrefix(query, "SELECT") {
							continue // it would drain: see docs/divergences.md
						}
						one.same(t, twin.Statement{SQL: query})
					}
				}
			})
		}
	}
}

// While there are slots, what reads the table through a view fails with the engine's error, and what reads the table itself does not.
func TestReadOnlyBesideSlots(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		params := ""
		if dialect == "sqlite" {
			params = "_pragma=busy_timeout(60000)"
		}
		p := twin.New(t, twin.Options{
			Dialect: dialect, Schema: readOnlySchema(dialect), Params: params,
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, placement: random, coalesce: false, counters: {views: {}}}}",
		})
		countIn(t, p)
		filled(t, p)
		one := pinned(t, p)
		begin := map[string][]string{
			"mysql": {"START TRANSACTION READ ONLY"}, "postgres": {"BEGIN READ ONLY"}, "sqlite": {"PRAGMA query_only = 1", "BEGIN"},
		}[dialect]
		for _, query := range append(begin, "SELECT id, views FROM posts ORDER BY id") {
			one.same(t, twin.Statement{SQL: query})
		}
		err := twin.Run(t.Context(), one.wrapped, twin.Statement{SQL: "SELECT id, views FROM ranked ORDER BY id"}).Err
		want := map[string]string{"mysql": "MySQL 1792 (25006)", "postgres": "PostgreSQL 25006", "sqlite": "SQLite 8"}[dialect]
		if twin.Class(err) != want || !strings.Contains(err.Error(), "select from the table itself") {
			t.Errorf("%v (%s)", err, twin.Class(err))
		}
		if dialect == "sqlite" {
			_, _ = one.plain.ExecContext(t.Context(), "PRAGMA query_only = 0")
			_, _ = one.wrapped.ExecContext(t.Context(), "PRAGMA query_only = 0")
		}
		one.same(t, twin.Statement{SQL: "ROLLBACK"})
		one.same(t, twin.Statement{SQL: "SELECT id, views FROM ranked ORDER BY id"}) // folds
	})
}

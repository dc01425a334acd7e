package upkeep

import (
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// earliest are slot tables as the first build with a command wrote them (20 November 2026, for 64 slots), but for the
// names of constraints on MySQL.
var earliest = map[string][]string{
	"mysql": {"CREATE TABLE posts_slots (\n  `id` int(11) NOT NULL,\n  `slot` SMALLINT UNSIGNED NOT NULL,\n" +
		"  `views` BIGINT NOT NULL DEFAULT 0,\n  `likes` BIGINT NOT NULL DEFAULT 0,\n  PRIMARY KEY (`id`, `slot`),\n" +
		"  CONSTRAINT `slotsql_0123456789abcdef_fk` FOREIGN KEY (`id`) REFERENCES `posts` (`id`) ON DELETE CASCADE ON UPDATE CASCADE,\n" +
		"  CONSTRAINT `slotsql_0123456789abcdef_slot` CHECK (`slot` <= 64 OR `slot` BETWEEN 32768 AND 32832),\n" +
		"  CONSTRAINT `slotsql_0123456789abcdef_c1` CHECK (`views` BETWEEN -8259552 AND 8259552),\n" +
		"  CONSTRAINT `slotsql_0123456789abcdef_c2` CHECK (`likes` BETWEEN -8259552 AND 8259552)\n) ENGINE=InnoDB"},
	"postgres": {`CREATE TABLE posts_slots ("id" integer NOT NULL, "slot" smallint NOT NULL, ` +
		`"views" bigint NOT NULL DEFAULT 0, "likes" bigint NOT NULL DEFAULT 0, PRIMARY KEY ("id", "slot"), ` +
		`FOREIGN KEY ("id") REFERENCES "posts" ("id") ON DELETE CASCADE ON UPDATE CASCADE) ` +
		`WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`},
	"sqlite": {`CREATE TABLE posts_slots ("id" INTEGER NOT NULL, "slot" INTEGER NOT NULL, "views" INTEGER NOT NULL DEFAULT 0, ` +
		`"likes" INTEGER NOT NULL DEFAULT 0, PRIMARY KEY ("id", "slot"), FOREIGN KEY ("id") REFERENCES "posts" ("id") ON DELETE CASCADE) WITHOUT ROWID`,
		`CREATE TRIGGER "main"."slotsql_posts_slots_insert" AFTER INSERT ON "posts" BEGIN DELETE FROM "posts_slots" WHERE "id" = NEW."id"; END`,
		`CREATE TRIGGER "main"."slotsql_posts_slots_delete" AFTER DELETE ON "posts" BEGIN DELETE FROM "posts_slots" WHERE "id" = OLD."id"; END`,
		`CREATE TRIGGER "main"."slotsql_posts_slots_update" AFTER UPDATE OF "id", "rowid", "_rowid_", "oid" ON "posts" ` +
			`WHEN OLD."id" IS NOT NEW."id" BEGIN DELETE FROM "posts_slots" WHERE "id" = NEW."id"; ` +
			`UPDATE "posts_slots" SET "id" = NEW."id" WHERE "id" = OLD."id"; END`},
}

// TestEarlierSlotTables: slot tables of the first builds, and what they hold, count on, and migrate brings them up to date.
func TestEarlierSlotTables(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Config: refitConfig, Params: refitParams[dialect], Schema: []string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INT NOT NULL DEFAULT 0, likes INT NOT NULL DEFAULT 0)",
			"CREATE TABLE other (id INTEGER PRIMARY KEY, n INT NOT NULL)",
			"INSERT INTO posts VALUES (1, 10, 1), (2, 20, 2)", "INSERT INTO other VALUES (1, 1)"}})
		if dialect == "sqlite" {
			for _, event := range []string{"insert", "delete", "update"} {
				execAll(t, p.Under, "DROP TRIGGER IF EXISTS slotsql_posts_slots_"+event)
			}
		}
		execAll(t, p.Under, "DROP TABLE IF EXISTS posts_slots")
		execAll(t, p.Under, earliest[dialect]...)
		execAll(t, p.Under, "INSERT INTO posts_slots VALUES (1, 0, 5, 1), (1, 63, 7, 0), (2, 3, -2, 4)")
		execAll(t, p.Plain, "UPDATE posts SET views = views + 12, likes = likes + 1 WHERE id = 1", "UPDATE posts SET views = views - 2, likes = likes + 4 WHERE id = 2")
		work := func() {
			t.Helper()
			for _, query := range []string{
				"SELECT * FROM posts ORDER BY id", "UPDATE posts SET views = views + 3 WHERE id = 1", "UPDATE posts SET likes = likes - 1 WHERE id = 2",
				"SELECT SUM(views), SUM(likes) FROM posts", "UPDATE posts SET views = views * 2 WHERE id = 2",
				"INSERT INTO posts (id, views) VALUES (9, 9)", "UPDATE posts SET views = views + 1 WHERE id = 9", "SELECT * FROM posts ORDER BY views DESC, id",
				"DELETE FROM posts WHERE id = 9", "SELECT * FROM posts ORDER BY id",
			} {
				p.Same(t, twin.Statement{SQL: query})
			}
		}
		again(t, p)
		work()
		if _, err := slotsql.Migrate(t.Context(), twin.Connector(t, p)); err != nil {
			t.Fatal(err)
		}
		if _, err := slotsql.Check(t.Context(), twin.Connector(t, p)); err != nil {
			t.Errorf("check after migrate: %v", err)
		}
		again(t, p)
		work()
		if ds, err := p.FinalTables(t.Context()); err != nil || len(ds) > 0 {
			t.Errorf("%v, %v", ds, err)
		}
	})
}

package session

import (
	"errors"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

const always = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}, slots: 8, placement: connection}}\n"

// When a counter cannot be slotted any more, slots still count, and are folded as
// statements come. Each change is made by a plain client while slots hold something;
// the process that goes on begins with the next statement.
func TestUnslottedByAnother(t *testing.T) {
	trigger := map[string][]string{
		"mysql": {
			"CREATE TRIGGER told AFTER UPDATE ON posts FOR EACH ROW INSERT INTO log (id, note) SELECT COALESCE(MAX(id), 0) + 1, 'x' FROM log",
		},
		"postgres": {
			"CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
			"CREATE TRIGGER told BEFORE UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION told()",
		},
		"sqlite": {"CREATE TRIGGER told AFTER UPDATE ON posts BEGIN SELECT 1; END"},
	}
	changes := map[string]map[string][]string{
		"check": {
			"mysql":    {"ALTER TABLE posts ADD CONSTRAINT few CHECK (views < 1000)"},
			"postgres": {"ALTER TABLE posts ADD CONSTRAINT few CHECK (views < 1000)"},
		},
		"trigger": trigger,
		"on_update": {
			"mysql": {"ALTER TABLE posts ADD COLUMN changed TIMESTAMP NOT NULL DEFAULT '2000-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP"},
		},
		"versioned": {"mysql": {"ALTER TABLE posts ADD SYSTEM VERSIONING"}},
		"unique": {
			"mysql":    {"CREATE UNIQUE INDEX one ON posts (views)"},
			"postgres": {"CREATE UNIQUE INDEX one ON posts (views)"},
			"sqlite":   {"CREATE UNIQUE INDEX one ON posts (views)"},
		},
		"generated": {
			"mysql":    {"ALTER TABLE posts ADD COLUMN twice INT AS (views * 2) STORED"},
			"postgres": {"ALTER TABLE posts ADD COLUMN twice INT GENERATED ALWAYS AS (views * 2) STORED"},
			"sqlite":   {"ALTER TABLE posts ADD COLUMN twice INT AS (views * 2)"},
		},
		"narrow": {
			"mysql":    {"ALTER TABLE posts MODIFY views SMALLINT NOT NULL"},
			"postgres": {"ALTER TABLE posts ALTER COLUMN views TYPE smallint"},
		},
		"wide": {
			"mysql":    {"ALTER TABLE posts MODIFY views BIGINT NOT NULL"},
			"postgres": {"ALTER TABLE posts ALTER COLUMN views TYPE bigint"},
		},
		"fraction": {
			"mysql":    {"ALTER TABLE posts MODIFY views DECIMAL(12,2) NOT NULL"},
			"postgres": {"ALTER TABLE posts ALTER COLUMN views TYPE numeric(12,2)"},
		},
		"float": {
			"mysql":    {"ALTER TABLE posts MODIFY views DOUBLE NOT NULL"},
			"postgres": {"ALTER TABLE posts ALTER COLUMN views TYPE double precision"},
		},
		"security": {"postgres": {"ALTER TABLE posts ENABLE ROW LEVEL SECURITY"}},
	}
	each(t, func(t *testing.T, dialect string) {
		for name, statements := range changes {
			if statements[dialect] == nil || lacks(t, dialect, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: always, Params: unprepared[dialect]})
				one := pinned(t, p)
				counts := func() {
					t.Helper()
					one.script(t, nil, work[0], "UPDATE posts SET views = views + 2 WHERE id = 2")
				}
				counts()
				execBoth(t, p, statements[dialect])
				p.Wrapped = wrapped(t, p, always)
				one = pinned(t, p)
				for range 2 {
					for _, q := range []string{"SELECT COUNT(*) FROM log", "SELECT SUM(views) FROM posts", work[0], "SELECT id, views FROM posts ORDER BY id",
						"UPDATE posts SET views = views + 40 WHERE id = 2", "UPDATE posts SET views = views - 1 WHERE id = 3", "SELECT id FROM posts WHERE views > 20 ORDER BY id",
						"UPDATE posts SET title = 'x' WHERE id = 1", "SELECT id, views FROM posts ORDER BY views DESC LIMIT 2", "UPDATE posts SET views = views + 1",
						"SELECT id, views FROM posts ORDER BY id", "UPDATE posts SET views = 1 WHERE id = 3", "INSERT INTO posts (id, views) VALUES (50, 500)", "DELETE FROM posts WHERE id = 50"} {
						if name == "trigger" && q == "SELECT COUNT(*) FROM log" {
							continue // it also fires for a fold
						}
						one.same(t, twin.Statement{SQL: q})
					}
				}
				var n int
				if err := p.Under.QueryRow("SELECT COUNT(*) FROM posts_slots WHERE id = 1 AND views <> 0").Scan(&n); err != nil ||
					n > 0 && name != "wide" {
					t.Errorf("%d slots are left of a row that has been changed, %v", n, err)
				}
			})
		}
	})
}

// lacks reports whether the server has no such change of a table: MySQL has no versioning.
func lacks(t *testing.T, dialect, change string) bool {
	t.Helper()
	return dialect == "mysql" && change == "versioned" && server.MySQLVersion(t).MySQL
}

func execBoth(t *testing.T, p *twin.Pair, statements []string) {
	t.Helper()
	execAll(t, p.Plain, statements...)
	execAll(t, p.Under, statements...)
}

// A total that a new constraint forbids: the row that has it is not changed, with an
// error that says why; all others are, connections come up, and DDL cures it.
func TestForbiddenTotal(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		if dialect == "sqlite" {
			return // SQLite adds no constraints to a table
		}
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: always, Params: unprepared[dialect]})
		execAll(t, p.Wrapped, "UPDATE posts SET views = views - 14 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 2")
		execAll(t, p.Under, "ALTER TABLE posts ADD CONSTRAINT positive CHECK (views >= 0)")
		for range 2 {
			db := wrapped(t, p, always)
			execAll(
				t,
				db,
				"UPDATE posts SET views = views + 1 WHERE id = 2",
				"UPDATE posts SET views = views * 1 WHERE id = 3",
				"INSERT INTO log VALUES (1, 'x')",
				"DELETE FROM log",
			)
			var total int
			if err := db.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&total); err != nil || total != -4 {
				t.Errorf("%d, %v", total, err)
			}
			var refused *slotsql.NotMovedError
			if _, err := db.Exec("UPDATE posts SET views = views + 1 WHERE id = 1"); !errors.As(err, &refused) {
				t.Errorf("row 1: %v", err)
			}
		}
		db := wrapped(t, p, always)
		cure := map[string]string{"mysql": "ALTER TABLE posts DROP CONSTRAINT positive", "postgres": "ALTER TABLE posts DROP CONSTRAINT positive"}[dialect]
		execAll(t, db, cure, "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views * 2 WHERE id = 1")
		var total int
		if err := db.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&total); err != nil || total != -6 {
			t.Errorf("%d, %v", total, err)
		}
		// So does a DROP, and in a transaction.
		execAll(t, db, "UPDATE posts SET views = 0 WHERE id = 1", "UPDATE posts SET views = views - 3 WHERE id = 1")
		execAll(t, p.Under, "ALTER TABLE posts ADD CONSTRAINT positive CHECK (views >= 0)")
		db = wrapped(t, p, always)
		if dialect == "postgres" {
			execAll(t, db, "BEGIN; "+cure+"; ROLLBACK")
		}
		rows, err := db.Query("DROP TABLE posts")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A partition named by itself is as its table.
func TestPartitionNamed(t *testing.T) {
	t.Parallel()
	var statements []string
	statements = append(
		statements,
		"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, likes INTEGER, title VARCHAR(100)) PARTITION BY RANGE (id)",
	)
	for i := range 2 {
		statements = append(statements, fmt.Sprintf("CREATE TABLE posts_p%d PARTITION OF posts FOR VALUES FROM (%d) TO (%d)", i, i*10, i*10+10))
	}
	statements = append(statements, "INSERT INTO posts (id, views) VALUES (1, 10), (11, 20)")
	p := twin.New(t, twin.Options{Dialect: "postgres", Schema: statements, Config: always, Params: unprepared["postgres"]})
	one, other := pinned(t, p), pinned(t, p)
	for range 2 {
		one.script(
			t,
			&other,
			"UPDATE posts SET views = views + 5 WHERE id = 1",
			"UPDATE posts SET views = views + 6 WHERE id = 11",
			"SELECT SUM(views) FROM posts_p0",
			"UPDATE posts SET views = views + 5 WHERE id = 1",
			"UPDATE posts_p0 SET views = 7",
			"UPDATE posts SET views = views + 5 WHERE id = 1",
			"UPDATE posts_p0 SET views = views + 1 WHERE id = 1",
			"SELECT * FROM posts_p1 WHERE views > 25",
			"UPDATE posts SET views = views + 6 WHERE id = 11",
			"DELETE FROM posts_p1 WHERE views > 1000",
			"SELECT views FROM posts_p1",
		)
	}
}

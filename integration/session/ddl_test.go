package session

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// What may be done to a counter's column through slotsql may be done, undone, and
// the rest of the table goes on meanwhile.
func TestCounterColumnChanges(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, unprepared[dialect])
		one, other := pinned(t, p), pinned(t, p)
		all := func(statements ...string) {
			t.Helper()
			for _, query := range statements {
				one.same(t, twin.Statement{SQL: query})
				for _, q := range []string{"SELECT * FROM posts ORDER BY id", "SELECT COUNT(*) FROM log"} {
					one.same(t, twin.Statement{SQL: q})
					other.same(t, twin.Statement{SQL: q})
				}
			}
		}
		const likes = "UPDATE posts SET likes = likes + 1 WHERE id = 1"
		all(work[0], likes)
		// A counter goes and comes back.
		all(
			"ALTER TABLE posts DROP COLUMN likes",
			likes,
			work[0],
			"INSERT INTO log VALUES (1, 'x')",
			"UPDATE posts SET views = 5 WHERE id = 2",
			"ALTER TABLE posts ADD COLUMN likes INTEGER NOT NULL DEFAULT 7",
			likes,
			work[0],
			likes,
		)
		// Its name goes to another column, and comes back.
		all(
			"ALTER TABLE posts RENAME COLUMN views TO hits",
			work[0],
			likes,
			"UPDATE posts SET hits = hits + 1 WHERE id = 1",
			"DELETE FROM posts WHERE id = 3",
			"ALTER TABLE posts RENAME COLUMN hits TO views",
			work[0],
			likes,
			work[0],
		)
		// Two change places.
		all("ALTER TABLE posts RENAME COLUMN views TO other", likes, "ALTER TABLE posts RENAME COLUMN likes TO views", work[0],
			"ALTER TABLE posts RENAME COLUMN other TO likes", work[0], likes, work[0])
		// All go.
		all("ALTER TABLE posts DROP COLUMN likes", "ALTER TABLE posts RENAME COLUMN views TO hits", work[0], likes,
			"INSERT INTO posts (id, hits) VALUES (9, 1)", "ALTER TABLE posts RENAME COLUMN hits TO views", work[0], work[0])
		final(t, p)
	})
}

// A table goes and comes back through slotsql; the first to use it is in a
// transaction.
func TestTableMadeAnew(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for name, config := range map[string]string{"created": config, "missing": "version: 1\ntables: {posts: {counters: {views: {}, likes: {}}, slots: 8}}\n"} {
			t.Run(name, func(t *testing.T) {
				p := newPair(t, dialect, unprepared[dialect])
				if err := p.Wrapped.PingContext(t.Context()); err != nil {
					t.Fatal(err)
				}
				p.Wrapped = wrapped(t, p, config)
				one, other := pinned(t, p), pinned(t, p)
				create := "CREATE TABLE posts (id INTEGER PRIMARY KEY, title VARCHAR(100), likes INTEGER, views INTEGER NOT NULL DEFAULT 0)"
				for _, end := range []string{"COMMIT", "ROLLBACK"} {
					one.script(t, &other, work[0])
					for _, query := range []string{"DROP TABLE posts", create, "INSERT INTO posts (id, views) VALUES (1, 100)",
						"BEGIN", work[0], work[2], "UPDATE posts SET views = views * 2 WHERE id = 1", work[0], end} {
						one.same(t, twin.Statement{SQL: query})
					}
					one.script(t, &other, work[0], work[2], work[0])
					if dialect == "mysql" {
						continue
					}
					for _, query := range []string{"BEGIN", "DROP TABLE posts", create, "INSERT INTO posts (id, views) VALUES (1, 7)", work[0], work[2], end} {
						one.same(t, twin.Statement{SQL: query})
					}
					one.script(t, &other, work[0], work[2], work[0])
				}
				final(t, p)
			})
		}
	})
}

// A configured table none of whose counters can be slotted may be emptied and
// dropped, though a slot table refers to it.
func TestNothingSlotted(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for name, column := range map[string]string{"narrow": "SMALLINT NOT NULL DEFAULT 0", "float": "DOUBLE PRECISION NOT NULL DEFAULT 0", "checked": "INTEGER NOT NULL DEFAULT 0 CHECK (n >= 0)"} {
			t.Run(name, func(t *testing.T) {
				create := fmt.Sprintf("CREATE TABLE tiny (id INTEGER PRIMARY KEY, n %s)", column)
				p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{create, "INSERT INTO tiny VALUES (1, 1), (2, 2)"},
					Config: "version: 1\nauto_migrate: true\ntables: {tiny: {counters: {n: {}}}}\n", Params: unprepared[dialect]})
				one := pinned(t, p)
				const add, read = "UPDATE tiny SET n = n + 1 WHERE id = 1", "SELECT * FROM tiny ORDER BY id"
				for range 2 {
					for _, query := range []string{add, read, "TRUNCATE TABLE tiny", read, "INSERT INTO tiny VALUES (1, 5)", add, read,
						"BEGIN", add, "COMMIT", "DROP TABLE tiny", read, create, "INSERT INTO tiny VALUES (1, 5)", add, read} {
						if dialect == "sqlite" && query == "TRUNCATE TABLE tiny" {
							query = "DELETE FROM tiny"
						}
						one.same(t, twin.Statement{SQL: query})
					}
				}
			})
		}
	})
}

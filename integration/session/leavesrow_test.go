package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// In a transaction an increment of a slot row that exists leaves the base row unlocked: the server pays for each of many shared locks on
// one row. It locks the row if transactions of its form go on to what may lock it, too.
func TestIncrementLeavesRow(t *testing.T) {
	const count = "UPDATE posts SET views = views + 1 WHERE id = 1"
	for _, c := range []struct {
		name, after string
		leaves      bool
	}{
		{"query", "SELECT name FROM users", true},
		{"another table's counter", "UPDATE users SET posts = posts + 1 WHERE id = 1", true},
		{"savepoint", "SAVEPOINT a", true},
		{"reference", "INSERT INTO comments VALUES (1)", false},
		{"locking query", "SELECT name FROM users FOR SHARE", false},
		{"same row", count, false},
		{"another row", "UPDATE posts SET views = views + 1 WHERE id = 2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: "postgres",
				Schema: []string{
					"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)",
					"CREATE TABLE users (id INT PRIMARY KEY, name TEXT, posts INT NOT NULL)",
					"CREATE TABLE comments (post_id INT NOT NULL REFERENCES posts)",
					"INSERT INTO posts VALUES (1, 0), (2, 0)",
					"INSERT INTO users VALUES (1, 'a', 0)",
				},
				Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 8, placement: connection}\n" +
					"tables: {posts: {counters: {views: {}}}, users: {counters: {posts: {}}}}\n",
			})
			p.Wrapped.SetMaxOpenConns(1)
			var free bool
			for range 3 { // the first makes the slot row, the next ones have it
				tx, err := p.Wrapped.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.ExecContext(t.Context(), count); err != nil {
					t.Fatal(err)
				}
				_, err = p.Under.ExecContext(t.Context(), "SELECT 1 FROM posts WHERE id = 1 FOR UPDATE NOWAIT")
				free = err == nil
				if _, err := tx.ExecContext(t.Context(), c.after); err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			if free != c.leaves {
				t.Errorf("the increment leaves the row unlocked: %v, want %v", free, c.leaves)
			}
		})
	}
}

// A transaction held to a snapshot that increments a row fails if another has changed the row since, be it another column: it may have
// read that.
func TestIncrementOfRowChangedSinceSnapshot(t *testing.T) {
	for _, layout := range []string{"dedicated", "journal"} {
		for begin, snapshot := range map[string]bool{
			"BEGIN ISOLATION LEVEL READ COMMITTED": false, "BEGIN ISOLATION LEVEL REPEATABLE READ": true, "BEGIN ISOLATION LEVEL SERIALIZABLE": true,
		} {
			t.Run(layout+" "+begin, func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{
					Dialect: "postgres",
					Schema:  []string{"CREATE TABLE posts (id INT PRIMARY KEY, closed BOOLEAN NOT NULL, views INT NOT NULL)", "INSERT INTO posts VALUES (1, false, 0)"},
					Config:  "version: 1\nauto_migrate: true\ndefaults: {slots: 8, layout: " + layout + ", placement: connection}\ntables: {posts: {counters: {views: {}}}}\n",
				})
				for side, dsn := range map[*sql.DB]string{p.Plain: p.PlainDSN, p.Wrapped: p.WrappedDSN} {
					c, err := side.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					other, err := sql.Open("pgx", dsn)
					if err != nil {
						t.Fatal(err)
					}
					defer other.Close()
					for round := range 4 { // in the last one another transaction closes the post
						for _, query := range []string{begin, "SELECT closed FROM posts WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 1"} {
							if round == 3 && query[0] == 'U' {
								if _, err := other.ExecContext(t.Context(), "UPDATE posts SET closed = true WHERE id = 1"); err != nil {
									t.Fatal(err)
								}
							}
							_, err = c.ExecContext(t.Context(), query)
						}
						if _, err := c.ExecContext(t.Context(), "COMMIT"); err != nil {
							t.Fatal(err)
						}
					}
					if twin.Conflict(err) != snapshot {
						t.Errorf("wrapped: %v; an increment of a row that has been changed: %v", side == p.Wrapped, err)
					}
				}
			})
		}
	}
}

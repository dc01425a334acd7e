package session

import (
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

package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A TRUNCATE that the server refuses changes nothing: no table stays locked, and
// the slots still go with their base rows.
func TestTruncateRefused(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		one := pinned(t, p)
		one.same(
			t,
			twin.Statement{
				SQL: "CREATE TABLE replies (id INTEGER PRIMARY KEY, post INTEGER, CONSTRAINT of_post FOREIGN KEY (post) REFERENCES posts (id))",
			},
		)
		for _, mode := range []twin.Mode{twin.Exec, twin.Query} {
			one.same(t, twin.Statement{SQL: work[0]})
			if plain, _ := one.same(t, twin.Statement{SQL: "TRUNCATE TABLE posts", Mode: mode}); plain.Err == nil {
				t.Fatal("the plain driver has truncated a table that another one references")
			}
			// With a lock on some tables others are refused (1100).
			one.same(t, twin.Statement{SQL: "SELECT * FROM log"})
		}
		one.script(t, nil, work...)
		slots := "SELECT COUNT(*) FROM posts_slots WHERE id NOT IN (SELECT id FROM posts)"
		var n int
		if err := p.Under.QueryRow(slots).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d slots without a base row, %v", n, err)
		}
		one.script(t, nil, work[0], "DELETE FROM replies", "DELETE FROM posts", "INSERT INTO posts (id, views) VALUES (1, 5)", work[0])
		final(t, p)
	})
}

package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A plain client sets a counter to NULL while the row has slots: the row has no total, and sums and averages leave it
// out, slots and all.
func TestSumsOfNull(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: slotted})
		for _, id := range []string{"1", "3", "3"} {
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET likes = likes + 5, views = views + 1 WHERE id = " + id})
		}
		if n := twin.Rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots"); n == "0" {
			t.Fatal("no increment is in a slot")
		}
		const clear = "UPDATE posts SET likes = NULL WHERE id = 3"
		for _, db := range []*sql.DB{p.Plain, p.Under} {
			if _, err := db.Exec(clear); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range []string{
			"SELECT SUM(likes), SUM(views), COUNT(*) FROM posts",
			"SELECT AVG(likes), AVG(views) FROM posts",
			"SELECT SUM(likes) FROM posts WHERE views > 0",
			"SELECT SUM(likes) FROM posts WHERE id > 2",
			"SELECT id, SUM(likes) FROM posts GROUP BY id ORDER BY id",
			"SELECT title, SUM(likes), SUM(views) FROM posts GROUP BY title ORDER BY title",
		} {
			p.Same(t, twin.Statement{SQL: q})
		}
	})
}

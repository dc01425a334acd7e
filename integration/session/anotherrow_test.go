package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that has counted a row and then reads another one leaves its count in the slot: there is nothing of its own to see. Most
// transactions that count do so among other statements, and a drain would keep others waiting until the commit.
func TestReadOfAnotherRowDrainsNothing(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)",
				"INSERT INTO posts VALUES (1, 10), (2, 20), (3, 30)",
			},
			Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n",
		})
		inSlots := func(want int64) {
			t.Helper()
			var n int64
			if err := p.Under.QueryRowContext(t.Context(), "SELECT COALESCE(SUM(views), 0) FROM posts_slots WHERE id = 1").Scan(&n); err != nil || n != want {
				t.Errorf("%d in slots, want %d; %v", n, want, err)
			}
		}
		visit := func(reads map[int]int64) {
			t.Helper()
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			for id, want := range reads {
				var views int64
				q := twin.Placeholders(dialect, "SELECT views FROM posts WHERE id = ?")
				if err := tx.QueryRowContext(t.Context(), q, id).Scan(&views); err != nil || views != want {
					t.Errorf("post %d has %d views, want %d; %v", id, views, want, err)
				}
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		visit(map[int]int64{2: 20})
		visit(map[int]int64{2: 20, 3: 30})
		inSlots(2)
		visit(map[int]int64{1: 13, 2: 20}) // its own row: drained
		inSlots(0)
	})
}

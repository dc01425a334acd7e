package session

import (
	"database/sql"
	"testing"
)

// A connection whose transactions are begun and ended by SQL gives back the slots that
// it has held with each of them: increments that follow one another, on as many such
// connections as there are, use one slot.
func TestTransactionBySQLGivesSlotsBack(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		const increment = "UPDATE posts SET views = views + 1 WHERE id = 1"
		var all []*sql.Conn
		run := func(c *sql.Conn, list ...string) {
			for _, q := range list {
				if _, err := c.ExecContext(t.Context(), q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}
		}
		for i := range 6 {
			c, err := p.Wrapped.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			all = append(all, c)
			end := "COMMIT"
			if i%2 == 1 {
				end = "ROLLBACK"
			}
			run(c, "BEGIN", increment, end)
		}
		for _, c := range all {
			run(c, increment)
		}
		var slots, views int
		if err := p.Under.QueryRow("SELECT COUNT(*) FROM posts_slots WHERE id = 1").Scan(&slots); err != nil || slots != 1 {
			t.Errorf("%d slots of the row are used, want 1: %v", slots, err)
		}
		if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&views); err != nil || views != 10+3+6 {
			t.Errorf("the row has %d views, want %d: %v", views, 10+3+6, err)
		}
	})
}

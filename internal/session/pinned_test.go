package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/fake"
)

// A transaction ends with the SQL that ends it: on a connection that goes on in
// autocommit, increments may share statements again, and hold no slot.
func TestPinnedConnectionAfterTransactionsBySQL(t *testing.T) {
	t.Parallel()
	for way, d := range fake.Ways {
		for _, c := range []struct {
			name string
			run  []string
			held bool // the slot of the row stays held
		}{
			{"committed", []string{"BEGIN", incrementSQL, "COMMIT", incrementSQL}, false},
			{"rolled back", []string{"BEGIN", incrementSQL, "ROLLBACK", incrementSQL}, false},
			{"again", []string{"BEGIN", "COMMIT", incrementSQL, "BEGIN", incrementSQL, "ROLLBACK", incrementSQL}, false},
			{"nothing to end", []string{"COMMIT", incrementSQL}, false},
			{"open", []string{"BEGIN", incrementSQL, "COMMIT", "BEGIN", incrementSQL}, true},
			{"chained", []string{"BEGIN", incrementSQL, "COMMIT AND CHAIN", incrementSQL}, true},
			{"DDL", []string{"ALTER TABLE other ADD x INT", incrementSQL}, false},
		} {
			if way == "watching" && c.name == "chained" {
				continue // the fake server does not chain
			}
			wrapped := wrap(t, fake.Connector{Server: &fake.Server{}}, d, "version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n")
			db := sql.OpenDB(wrapped)
			defer db.Close()
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for _, q := range c.run {
				if _, err := conn.ExecContext(t.Context(), q); err != nil {
					t.Fatalf("%s, %s: %s: %v", way, c.name, q, err)
				}
			}
			_ = conn.Raw(func(raw any) error {
				c1 := raw.(*Conn)
				if c1.AsConnected() == c.held {
					t.Errorf("%s, %s: increments may share statements: %v", way, c.name, c1.AsConnected())
				}
				return nil
			})
			want := c.held && way != "nesting" // one writer has one slot
			if n := wrapped.shared.placement.Held(); (n > 0) != want {
				t.Errorf("%s, %s: %d slots are held", way, c.name, n)
			}
		}
	}
}

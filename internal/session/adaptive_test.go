package session

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
)

// A lock timeout of an increment on the base row is the application's, as with the plain
// driver. In a cluster it may be a deadlock of nodes, and the increment goes to a slot.
func TestLockTimeoutOfColdRow(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]dialect.Dialect{"one server": fake.Probing, "cluster": galeran{fake.Probing}} {
		server := &fake.Server{}
		config := "version: 1\ndefaults: {slots: 64, placement: adaptive, coalesce: false}\ntables: {posts: {counters: {views: {}}}}\n"
		db := sql.OpenDB(wrap(t, fake.Connector{Server: server}, d, config))
		if err := db.Ping(); err != nil {
			t.Fatal(err)
		}
		tries := 0
		server.Arm(func(_ int, query string) *fake.Misfortune {
			if !strings.HasPrefix(query, "UPDATE posts") {
				return nil
			}
			tries++
			return &fake.Misfortune{Err: fake.ErrTimeout, Undone: true}
		})
		_, err := db.Exec(incrementSQL)
		slotted := server.CountPrefix(upserted)
		if name == "cluster" && (err != nil || tries != 1 || slotted != 1) ||
			name == "one server" && (!errors.Is(err, fake.ErrTimeout) || tries != 1 || slotted != 0) {
			t.Errorf("%s: %v, %d tries on the base row, %d in slots", name, err, tries, slotted)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

package session

import (
	"testing"

	"database/sql"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction with a snapshot drains a row twice: the slot rows that it has deleted
// the first time are its own doing, and no other one's change since the snapshot. The
// snapshot's oldest running transaction is before those slot rows, so that they may be
// newer than the snapshot as far as that tells.
func TestDrainTwiceInSnapshot(t *testing.T) {
	const increment, drain = "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views * 2 WHERE id = 1"
	for _, c := range []struct {
		name, first, beside, second string
		want                        string
	}{
		{name: "alone", first: drain, second: drain},
		{name: "all rows", first: "UPDATE posts SET views = views * 2", second: drain},
		{name: "then all rows", first: drain, second: "UPDATE posts SET views = views * 2"},
		// One that has counted since is still met.
		{name: "another row", first: drain, beside: "UPDATE posts SET views = views + 1 WHERE id = 2", second: "UPDATE posts SET views = views * 2", want: "PostgreSQL 40001"},
	} {
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
			t.Run(c.name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				p := newPair(t, "postgres", "")
				olderTransaction(t, p)
				execAll(t, p.Wrapped, increment)
				tx := twin.Snapshot(t, p.Wrapped, level, "posts")
				if _, err := tx.Exec(c.first); err != nil {
					t.Fatal(err)
				}
				if c.beside != "" {
					execAll(t, p.Wrapped, c.beside)
				}
				_, err := tx.Exec(c.second)
				if c.want != "" {
					if twin.Class(err) != c.want {
						t.Errorf("%v, want %s", err, c.want)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				const q = "SELECT id, views FROM posts ORDER BY id"
				for _, query := range []string{increment, c.first, c.second} {
					execAll(t, p.Plain, query)
				}
				if got, want := twin.Rows(t, p.Wrapped, q), twin.Rows(t, p.Plain, q); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		}
	}
}

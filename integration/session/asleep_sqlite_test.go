package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A statement by a counter's condition that finds no row of a sleeping table writes nothing, as with the plain driver: the fold of
// nothing would cost a journal and its fsyncs.
func TestSleepingWriteWritesNothing(t *testing.T) {
	p := twin.New(t, twin.Options{
		Dialect: "sqlite",
		Schema: []string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INT NOT NULL, hidden INT NOT NULL)",
			"INSERT INTO posts VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4}\ntables: {posts: {counters: {views: {}}}}\n",
	})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := func(db twin.Session, q string) {
		t.Helper()
		if err := twin.Run(t.Context(), db, twin.Statement{SQL: q}).Err; err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	other := twin.Conn(t, p.Under)
	version := func() (v int) { // changes whenever another connection has written a page
		t.Helper()
		if err := other.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, q := range []string{
		"DELETE FROM posts WHERE views > 3",
		"UPDATE posts SET hidden = 1 WHERE views > 3 RETURNING id",
		"INSERT INTO posts SELECT id + 10, views, 0 FROM posts WHERE views > 3",
	} {
		before := version()
		run(p.Wrapped, q)
		if version() != before {
			t.Errorf("%s: has written", q)
		}
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		before = version()
		run(tx, q)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if version() != before {
			t.Errorf("%s: has written in a transaction", q)
		}
	}
	// With slots there it drains, and then finds the row.
	for _, round := range []struct{ id, hidden string }{{"3", "0,0,2"}, {"2", "0,2,4"}} {
		run(p.Under, "INSERT INTO posts_slots (id, slot, views) VALUES ("+round.id+", 0, 9)")
		for range 2 {
			run(p.Wrapped, "UPDATE posts SET hidden = hidden + 1 WHERE views > 3")
		}
		if got := value(t, p.Under, "SELECT group_concat(hidden) FROM (SELECT hidden FROM posts ORDER BY id)"); got != round.hidden {
			t.Errorf("hidden is %s after slots of %s", got, round.id)
		}
	}
}

package slotsql

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql/dialect"
)

// A query that the engine has undone runs again where it stands alone, and never in
// a transaction: the statements before it are gone, and what follows would run
// without their locks.
func TestQueryRunsAgainAlone(t *testing.T) {
	t.Parallel()
	const query = "SELECT 1 FROM posts"
	config, err := Parse([]byte("version: 1\ntables: {posts: {counters: {views: {}}}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for way, d := range map[string]dialect.Dialect{"probing": probing, "watching": watching} {
		server := &fakeServer{}
		parent, err := fakeConnector{server: server}.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := wrapConn(newShared(d, config), parent)
		once := func() (ran int, err error) {
			before := server.countPrefix(query)
			conflicts(server, 1, prefix(query))
			_, err = c.session().Query(t.Context(), query)
			server.arm(nil)
			return server.countPrefix(query) - before, err
		}
		if _, err := once(); err != nil {
			t.Errorf("%s, alone: %v", way, err)
		}
		if err := c.session().execAll(t.Context(), []string{"START TRANSACTION"}); err != nil {
			t.Fatal(err)
		}
		if ran, err := once(); !errors.Is(err, errConflict) || ran > 0 {
			t.Errorf("%s, in a transaction by text: applied %d times, %v", way, ran, err)
		}
		if err := c.session().execAll(t.Context(), []string{"ROLLBACK"}); err != nil {
			t.Fatal(err)
		}
		if _, err := once(); err != nil {
			t.Errorf("%s, alone again: %v", way, err)
		}
		err = c.inTx(t.Context(), func() error {
			_, err := once()
			return err
		})
		if !errors.Is(err, errConflict) {
			t.Errorf("%s, in a drain's transaction: %v", way, err)
		}
	}
}

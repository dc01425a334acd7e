package session

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/config"
)

// A query that the engine has undone runs again where it stands alone, and never in
// a transaction: the statements before it are gone, and what follows would run
// without their locks.
func TestQueryRunsAgainAlone(t *testing.T) {
	t.Parallel()
	const query = "SELECT 1 FROM posts"
	cfg, err := config.Parse([]byte("version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for way, d := range map[string]dialect.Dialect{"probing": fake.Probing, "watching": fake.Watching} {
		server := &fake.Server{}
		parent, err := fake.Connector{Server: server}.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := WrapConn(New(d, cfg), parent)
		once := func() (ran int, err error) {
			before := server.CountPrefix(query)
			conflicts(server, 1, prefix(query))
			_, err = c.Session().Query(t.Context(), query)
			server.Arm(nil)
			return server.CountPrefix(query) - before, err
		}
		if _, err := once(); err != nil {
			t.Errorf("%s, alone: %v", way, err)
		}
		if err := c.Session().ExecAll(t.Context(), []string{"START TRANSACTION"}); err != nil {
			t.Fatal(err)
		}
		if ran, err := once(); !errors.Is(err, fake.ErrConflict) || ran > 0 {
			t.Errorf("%s, in a transaction begun by a statement: applied %d times, %v", way, ran, err)
		}
		if err := c.Session().ExecAll(t.Context(), []string{"ROLLBACK"}); err != nil {
			t.Fatal(err)
		}
		if _, err := once(); err != nil {
			t.Errorf("%s, alone again: %v", way, err)
		}
		err = c.InOwnTx(t.Context(), func() error {
			_, err := once()
			return err
		})
		if !errors.Is(err, fake.ErrConflict) {
			t.Errorf("%s, in a drain's transaction: %v", way, err)
		}
	}
}

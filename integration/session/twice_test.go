package session

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that counts a row twice, with a drain of the row between the two, is not
// chosen as deadlock victim, and neither is the drain: plain has the second one wait.
func TestCountTwiceBesideDrain(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)",
				"INSERT INTO posts VALUES (1, 0)",
			},
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, placement: connection}}\n",
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		const count = "UPDATE posts SET views = views + 1 WHERE id = 1"
		for range 2 { // the slot row is there and known
			if _, err := p.Wrapped.ExecContext(ctx, count); err != nil {
				t.Fatal(err)
			}
		}
		tx, err := p.Wrapped.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()        //nolint:errcheck // it is committed
		if dialect == "postgres" { // who looks first is the victim, and the drain would try again
			if _, err := tx.ExecContext(ctx, "SET LOCAL deadlock_timeout = '10ms'"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tx.ExecContext(ctx, count); err != nil {
			t.Fatal(err)
		}
		drained := make(chan error, 1)
		go func() {
			_, err := p.Wrapped.ExecContext(ctx, "UPDATE posts SET views = views * 10 WHERE id = 1")
			drained <- err
		}()
		untilBlocked(t, p, drained)
		if _, err := tx.ExecContext(ctx, count); err != nil {
			t.Fatalf("the second increment: %v", err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-drained; err != nil {
			t.Fatalf("the drain: %v", err)
		}
		if got := value(t, p.Wrapped, "SELECT views FROM posts"); got != fmt.Sprint(40) {
			t.Errorf("total %s, want 40", got)
		}
	})
}

package session

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Another session cancels the statement that a group shares (pg_cancel_backend, KILL QUERY): it was that of one session, and
// so no more than one caller gets the error, as plain.
func TestGroupedCancelled(t *testing.T) {
	waiting := map[string]string{
		"mysql":    "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'UPDATE posts%' LIMIT 1",
		"postgres": "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() LIMIT 1",
	}
	cancel := map[string]string{"mysql": "KILL QUERY ", "postgres": "SELECT pg_cancel_backend("}
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect),
			Config: "version: 1\ntables: {posts: {counters: {views: {}}, slots: 0}}\n"})
		holder := twin.Snapshot(t, p.Under, 0, "posts")
		twin.ExecAll(t, holder, "UPDATE posts SET title = 'held' WHERE id = 1")

		const members, cancels = 9, 3
		done := make(chan error, members)
		var callers sync.WaitGroup
		for range members {
			callers.Go(func() {
				_, err := p.Wrapped.ExecContext(context.Background(), "UPDATE posts SET views = views + 1 WHERE id = 1")
				done <- err
			})
		}
		for range cancels { // of the statement that waits for the row: one caller's alone, and then of those that queue behind it
			id := ""
			for id == "" { // what has waited may wait no longer
				if !p.UntilBlocked(t, make(chan error)) {
					t.Fatal("nothing waits")
				}
				id = twin.Rows(t, p.Under, waiting[dialect])
			}
			q := cancel[dialect] + id
			if dialect == "postgres" {
				q += ")"
			}
			twin.ExecAll(t, p.Under, q)
		}
		if err := holder.Rollback(); err != nil {
			t.Fatal(err)
		}
		callers.Wait()
		failed := 0
		for range members {
			if err := <-done; err != nil {
				failed++
			}
		}
		if failed > cancels {
			t.Errorf("%d statements have been cancelled, and %d callers got the error", cancels, failed)
		}
		if got, want := value(t, p.Under, "SELECT views FROM posts WHERE id = 1"), strconv.Itoa(10+members-failed); got != want {
			t.Errorf("the row has %s views, want %s", got, want)
		}
	})
}

package rollup

import (
	"context"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A roll-up that runs alone meets a table that is created later.
func TestTableCreatedLater(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect, Params: patience[dialect],
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, placement: connection}}\n",
		})
		c := twin.Connector(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		passed, done := make(chan struct{}, 1), make(chan error, 1)
		go func() {
			once := func(slotsql.RollUpReport, error) {
				select {
				case passed <- struct{}{}:
				default:
				}
			}
			done <- slotsql.RunRollUp(ctx, c, slotsql.RollUpOptions{Interval: 10 * time.Millisecond, Idle: time.Millisecond, Pass: once})
		}()
		<-passed
		for _, q := range []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 0)",
			"UPDATE posts SET views = views + 1 WHERE id = 1",
		} {
			if _, err := p.Wrapped.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		for rows(t, p.Under, "SELECT views FROM posts") != "1" {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

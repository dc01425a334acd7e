package rollup

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// The slots of a row that many count in all the time reach its base value while they
// do: each pass may lose to increments, but not one after the other. (With a journal on
// MySQL the row is locked by one increment or another all the time, and its slot rows
// are merged instead.)
func TestHotRowMoves(t *testing.T) {
	const clients, passes = 16, 50
	for _, dialect := range []string{"mysql", "postgres"} {
		for _, layout := range []string{"dedicated", "journal"} {
			if dialect == "mysql" && layout == "journal" {
				continue
			}
			t.Run(dialect+"/"+layout, func(t *testing.T) {
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema: []string{
						"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)",
						"INSERT INTO posts VALUES (1, 0), (2, 0)",
					},
					Config: fmt.Sprintf(
						"version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 16, placement: random, coalesce: false, layout: %s}}\n",
						layout,
					),
				})
				if err := p.Wrapped.Ping(); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var counted atomic.Int64
				var wg sync.WaitGroup
				for range clients {
					wg.Go(func() {
						for ctx.Err() == nil {
							if _, err := p.Wrapped.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
								t.Error(err)
								break
							}
							counted.Add(1)
						}
					})
				}
				worker := twin.Connector(t, p)
				var grown, base int
				for lost := 0; grown < 3; {
					before := counted.Load()
					if _, err := slotsql.RollUp(t.Context(), worker, slotsql.RollUpOptions{}); err != nil {
						t.Fatal(err)
					}
					was := base
					if err := p.Under.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&base); err != nil {
						t.Fatal(err)
					}
					if base > was {
						grown++
					} else if counted.Load() > before { // else nobody has counted meanwhile
						lost++
					}
					if lost == passes {
						t.Fatalf("the base value has grown %d times, and %d passes have lost to increments", grown, lost)
					}
				}
				stop()
				wg.Wait()
				if got, want := rows(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"), fmt.Sprint(counted.Load()); got != want {
					t.Errorf("total %s, want %s", got, want)
				}
			})
		}
	}
}

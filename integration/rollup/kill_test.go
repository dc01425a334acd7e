package rollup

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// The command is killed again and again while slots are counted in: each time
// the totals are what has been counted, and the next one goes on.
func TestCommandKilled(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "slotsql")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../cmd/slotsql", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eachLayout(t, func(t *testing.T, dialect, layout string) {
		const keys = 50
		ddl := []string{"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)"}
		for i := range keys {
			ddl = append(ddl, fmt.Sprintf("INSERT INTO posts VALUES (%d, 0)", i))
		}
		p := twin.New(
			t,
			twin.Options{
				Dialect: dialect,
				Schema:  ddl,
				Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, layout: " + layout + "}}\n",
			},
		)
		if err := p.Wrapped.PingContext(t.Context()); err != nil { // creates the tables
			t.Fatal(err)
		}
		var counted atomic.Int64
		var stop atomic.Bool
		var wg sync.WaitGroup
		add := twin.Placeholders(dialect, "UPDATE posts SET views = views + 1 WHERE id = ?")
		for range 3 {
			wg.Go(func() {
				for !stop.Load() {
					if _, err := p.Wrapped.ExecContext(t.Context(), add, rand.IntN(keys)); err != nil {
						t.Error(err)
						return
					}
					counted.Add(1)
				}
			})
		}
		const total = "SELECT SUM(views) FROM posts"
		for round := 0; round < 12 || round < 100 && rows(t, p.Under, total) == "0"; round++ { // however slow the machine
			cmd := exec.CommandContext(t.Context(), binary, "rollup", "--driver", dialect, "--dsn", p.WrappedDSN, "--config", p.ConfigPath,
				"--interval", "1ms", "--idle", "20ms", "--batch", "3")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			before := counted.Load()
			if round%3 > 0 { // else it may be killed while it starts
				begun, was := time.Now(), rows(t, p.Under, total)
				for time.Since(begun) < 30*time.Second && !atWork(t, p, total, was) {
					time.Sleep(time.Millisecond)
				}
			}
			time.Sleep(time.Duration(rand.IntN(60)*(1+round/4)) * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if dialect != "sqlite" { // the next one need not wait for the lease of the dead
				if _, err := p.Under.ExecContext(t.Context(), "DELETE FROM slotsql_leases"); err != nil {
					t.Error(err)
				}
			}
			var n int64
			if err := p.Wrapped.QueryRowContext(t.Context(), total).Scan(&n); err != nil || n < before {
				t.Errorf("%d of %d: %v", n, before, err)
			}
		}
		stop.Store(true)
		wg.Wait()
		want := fmt.Sprint(counted.Load())
		if got := rows(t, p.Wrapped, total); got != want {
			t.Errorf("a total of %s, want %s", got, want)
		}
		if got := rows(t, p.Under, total); got == "0" {
			t.Error("nothing has been rolled up")
		}
		for skipped := 1; skipped > 0; { // what the server still has locked for a command that was killed
			skipped = rollUp(t, p).Tables[0].Skipped
		}
		if got := rows(t, p.Under, total); got != want {
			t.Errorf("base values of %s, want %s", got, want)
		}
	})
}

// atWork reports whether a roll-up has begun: it has the lease, or on SQLite, where there is
// none, it has moved something since the total of the base values was read.
func atWork(t *testing.T, p *twin.Pair, total, was string) bool {
	t.Helper()
	if p.Dialect == "sqlite" {
		return rows(t, p.Under, total) != was
	}
	return rows(t, p.Under, "SELECT COUNT(*) FROM slotsql_leases") != "0"
}

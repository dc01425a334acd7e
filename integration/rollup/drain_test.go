package rollup

import (
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

const drainConfig = `version: 1
auto_migrate: true
tables:
  posts: {counters: {views: {}, likes: {}}, companions: {seen: latest}}
  pages: {counters: {hits: {}}}
`

func drainPair(t *testing.T, dialect string) (p *twin.Pair, plain *sql.DB) {
	t.Helper()
	p = twin.New(t, twin.Options{Dialect: dialect, Config: drainConfig, Params: patience[dialect], Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, likes INT, seen INT)",
		"CREATE TABLE pages (site INT NOT NULL, path VARCHAR(20) NOT NULL, hits BIGINT NOT NULL, PRIMARY KEY (site, path))",
		"INSERT INTO posts VALUES (1, 10, 1, 0), (2, 20, NULL, 0), (3, 30, 3, 0)",
		"INSERT INTO pages VALUES (1, '/', 0), (1, '/a', 5)",
	}})
	plain, err := sql.Open(map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}[dialect], p.WrappedDSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	return p, plain
}

// After a drain the plain driver reads the totals, of the tables that were
// named.
func TestDrain(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, plain := drainPair(t, dialect)
		together(t, p,
			"UPDATE posts SET views = views + 1, likes = likes + 2, seen = 7 WHERE id = 1",
			"UPDATE posts SET views = views + 5, seen = 8 WHERE id = 1",
			"UPDATE posts SET views = views - 3 WHERE id = 2",
			"UPDATE pages SET hits = hits + 4 WHERE site = 1 AND path = '/a'")
		reports, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{Tables: []string{"posts"}})
		if err != nil || len(reports) != 1 || reports[0].Moved+reports[0].Folded < 2 || reports[0].Refilled != 0 {
			t.Fatalf("%+v, %v", reports, err)
		}
		const posts, pages = "SELECT id, views, likes, seen FROM posts ORDER BY id", "SELECT path, hits FROM pages ORDER BY path"
		if got, want := rows(t, plain, posts), rows(t, p.Plain, posts); got != want {
			t.Errorf("base rows are\n%s\nwant\n%s", got, want)
		}
		if got := rows(t, plain, pages); !strings.Contains(got, "/a 5") {
			t.Errorf("a table that was not named is drained, too:\n%s", got)
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, want := rows(t, plain, pages), rows(t, p.Plain, pages); got != want {
			t.Errorf("base rows are\n%s\nwant\n%s", got, want)
		}
		for _, slots := range []string{"posts_slots", "pages_slots"} {
			if got := rows(t, plain, "SELECT COUNT(*) FROM "+slots); got != "0" {
				t.Errorf("%s: %s rows are left", slots, got)
			}
		}
	})
}

// Drains while applications count lose nothing, fail no increment, and say that
// another session counts.
func TestDrainUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, plain := drainPair(t, dialect)
		var counted atomic.Int64
		var stop atomic.Bool
		var wg sync.WaitGroup
		for client := range 6 {
			wg.Go(func() {
				for i := 0; !stop.Load(); i++ {
					err := func() error {
						if client%2 == 0 {
							_, err := p.Wrapped.ExecContext(t.Context(), "UPDATE posts SET views = views + 1, seen = 9 WHERE id = 3")
							return err
						}
						tx, err := p.Wrapped.BeginTx(t.Context(), nil)
						if err != nil {
							return err
						}
						defer tx.Rollback()
						if _, err := tx.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 3"); err != nil {
							return err
						}
						return tx.Commit()
					}()
					switch {
					case err == nil:
						counted.Add(1)
					case client%2 == 0 || !conflict(err):
						t.Error(err)
						return
					}
				}
			})
		}
		refilled := 0
		for range 8 {
			reports, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{})
			if err != nil {
				t.Error(err)
			}
			for _, r := range reports {
				refilled += r.Refilled
			}
		}
		stop.Store(true)
		wg.Wait()
		if refilled == 0 && dialect != "sqlite" {
			t.Error("no drain has noticed that applications still count")
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		var views int64
		if err := plain.QueryRow("SELECT views FROM posts WHERE id = 3").Scan(&views); err != nil || views != 30+counted.Load() {
			t.Errorf("%d, want %d: %v", views, 30+counted.Load(), err)
		}
	})
}

// A slot that a transaction holds is waited for as long as the patience lasts,
// and then nothing has changed.
func TestDrainPatience(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, _ := drainPair(t, dialect)
		p.WrappedDSN = strings.Replace(p.WrappedDSN, "busy_timeout(60000)", "busy_timeout(100)", 1)
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 3")
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 3"); err != nil {
			t.Fatal(err)
		}
		if _, err := slotsql.Drain(
			t.Context(),
			twin.Connector(t, p),
			slotsql.DrainOptions{Patience: time.Millisecond},
		); err == nil ||
			!conflict(err) {
			t.Errorf("it does not wait for the transaction: %v", err)
		}
		if got := rows(t, tx, "SELECT views FROM posts WHERE id = 3"); got != "32" {
			t.Errorf("total %s", got)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		reports, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{})
		if err != nil {
			t.Fatalf("%+v, %v", reports, err)
		}
		if got := rows(t, p.Wrapped, "SELECT views FROM posts WHERE id = 3"); got != "32" {
			t.Errorf("total %s", got)
		}
	})
}

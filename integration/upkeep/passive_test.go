package upkeep

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

const (
	oneCounter  = "version: 1\ntables:\n  posts: {counters: {views: {}}}\n"
	twoCounters = "version: 1\ntables:\n  posts: {counters: {views: {}, likes: {}}}\n"
)

// growing is a table with a slot table for one of its two counters.
func growing(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Config: oneCounter, Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, likes BIGINT NOT NULL, title VARCHAR(20), views BIGINT)",
		"INSERT INTO posts VALUES (1, 100, 'one', 0), (2, 200, 'two', 0), (3, 300, 'three', NULL), (4, 400, 'four', 0)"}})
	if _, err := slotsql.Migrate(t.Context(), open(t, p, oneCounter).connector); err != nil {
		t.Fatal(err)
	}
	return p
}

// process is a program with a configuration of its own.
type process struct {
	connector *slotsql.Connector
	*sql.DB
}

func open(t testing.TB, p *twin.Pair, config string) process {
	t.Helper()
	parsed, err := slotsql.Parse([]byte(golden.WithSlots(config)), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := twin.ConnectorWith(t, p, parsed)
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return process{c, db}
}

func grow(t testing.TB, p *twin.Pair) {
	t.Helper()
	created, err := slotsql.Migrate(t.Context(), open(t, p, twoCounters).connector)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(created, "; "); !strings.Contains(got, "posts_slots (column likes added)") {
		t.Fatalf("migrated: %s", got)
	}
	if created, err = slotsql.Migrate(t.Context(), open(t, p, twoCounters).connector); err != nil || len(created) > 0 {
		t.Fatalf("migrated again: %v, %v", created, err)
	}
}

// A counter joins a table in use. A process that knows the column but does not
// count in it reads exact totals, changes them exactly, and leaves what the others
// count where it is.
func TestPassiveCounter(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := growing(t, dialect)
		if _, err := slotsql.Check(t.Context(), open(t, p, twoCounters).connector); err == nil ||
			!strings.Contains(err.Error(), `has no column "likes": run `) {
			t.Errorf("before the migration: %v", err)
		}
		execAll(t, open(t, p, oneCounter), "UPDATE posts SET views = views + 1 WHERE id = 1")
		grow(t, p)
		before, after := open(t, p, oneCounter), open(t, p, twoCounters)
		execAll(
			t,
			after,
			"UPDATE posts SET likes = likes + 1 WHERE id = 1",
			"UPDATE posts SET likes = likes + 2, views = views + 3 WHERE id = 2",
			"UPDATE posts SET likes = likes + 4 WHERE id = 3",
			"UPDATE posts SET likes = likes + 5 WHERE id = 4",
		)
		if got := rows(t, p.Under, "SELECT likes FROM posts ORDER BY id"); got != "100\n200\n300\n400" {
			t.Errorf("base values %s: nothing is counted in slots", got)
		}
		for i, q := range []string{
			"UPDATE posts SET likes = likes + 10 WHERE id = 1", // on the base row
			"UPDATE posts SET views = views + 1, likes = likes + 10 WHERE id = 2",
			"UPDATE posts SET views = views + 1, title = 'drei' WHERE id = 3", // NULL stays NULL, though there is a slot row
			"UPDATE posts SET likes = likes * 2 WHERE id = 4",                 // drains
			"UPDATE posts SET title = 'x' WHERE likes = 111",                  // reads
			"UPDATE posts SET likes = likes - 1 WHERE id <= 2",                // of several rows
		} {
			if n := affected(t, before.DB, q); n < 1 {
				t.Errorf("%d: %s affected %d rows", i, q, n)
			}
		}
		const totals = "SELECT id, likes, views, title FROM posts ORDER BY id"
		want := "1 110 1 x\n2 211 4 two\n3 304 NULL drei\n4 810 0 four"
		for name, db := range map[string]*sql.DB{"before": before.DB, "after": after.DB} {
			if got := rows(t, db, totals); got != want {
				t.Errorf("%s: totals %s, want %s", name, got, want)
			}
		}
		x, err := slotsql.NewExplainer(t.Context(), before.connector)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if e, err := x.Explain("UPDATE posts SET likes = likes + 1 WHERE id = 1"); err != nil || e.Class != "additive-base" ||
			!strings.Contains(e.Reason, "likes is passive") {
			t.Errorf("%+v, %v", e, err)
		}
		status, err := slotsql.Check(t.Context(), before.connector)
		if err != nil || len(status) != 1 || len(status[0].Counters) != 2 || status[0].Counters[0].Slotted ||
			!strings.Contains(status[0].Counters[0].Reason, "does not name it") {
			t.Errorf("%+v, %v", status, err)
		}
		// The counter leaves again.
		if _, err := slotsql.Drain(t.Context(), before.connector, slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, p.Under, totals); got != want {
			t.Errorf("after the drain: base values %s, want %s", got, want)
		}
	})
}

// A process that has not looked at the slot table since it got the column deletes
// no counts: what would meets the engine's refusal, and the process looks again.
func TestColumnUnknown(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := growing(t, dialect)
		drains := map[string][]string{
			"autocommit":  {"UPDATE posts SET views = views * 2 WHERE id = 1"},
			"all":         {"UPDATE posts SET views = views * 2"},
			"transaction": {"BEGIN", "UPDATE posts SET views = views * 2 WHERE id = 1", "COMMIT"},
			"base, read": {
				"BEGIN",
				"UPDATE posts SET title = 'x', views = views + 1 WHERE id = 1",
				"SELECT views FROM posts WHERE id = 1",
				"COMMIT",
			},
			"slot, read": {"BEGIN", "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT views FROM posts WHERE id = 1", "COMMIT"},
		}
		old := map[string]process{"roll-up": {}, "sweep": {}, "drain": {}}
		for name := range drains {
			old[name] = process{}
		}
		for name := range old {
			old[name] = open(t, p, oneCounter)
			execAll(t, old[name], "UPDATE posts SET views = views * 2 WHERE id = 4") // its plan and its statements are kept
			if _, err := slotsql.RollUp(t.Context(), old[name].connector, slotsql.RollUpOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		grow(t, p)
		likes := 100
		count := func() {
			db := open(t, p, twoCounters)
			execAll(t, db, "UPDATE posts SET likes = likes + 1 WHERE id = 1")
			likes++
		}
		total := func(name string) {
			t.Helper()
			if got := rows(t, open(t, p, twoCounters).DB, "SELECT likes FROM posts WHERE id = 1"); got != fmt.Sprint(likes) {
				t.Fatalf("after %s: %s likes, want %d", name, got, likes)
			}
		}
		for name, statements := range drains {
			count()
			c, err := old[name].Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for try := 0; ; try++ {
				for _, q := range statements {
					if _, err = c.ExecContext(t.Context(), q); err != nil {
						break
					}
				}
				if err == nil {
					break
				}
				if try > 0 || len(statements) == 1 || !strings.Contains(err.Error(), "retry the transaction") {
					t.Fatalf("%s: %v", name, err)
				}
				twin.ExecAll(t, c, "ROLLBACK")
			}
			_ = c.Close()
			total(name)
		}
		for name, rollUp := range map[string]func(*slotsql.Connector) error{
			"roll-up": func(c *slotsql.Connector) error {
				_, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{})
				return err
			},
			"sweep": func(c *slotsql.Connector) error { // likes alone are there
				_, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{Idle: time.Nanosecond})
				return err
			},
			"drain": func(c *slotsql.Connector) error {
				_, err := slotsql.Drain(t.Context(), c, slotsql.DrainOptions{})
				return err
			},
		} {
			count()
			if name == "roll-up" {
				execAll(t, old[name], "UPDATE posts SET views = views + 1 WHERE id = 1")
			}
			if err := rollUp(old[name].connector); err != nil {
				if err := rollUp(old[name].connector); err != nil {
					t.Errorf("%s, again: %v", name, err)
				}
			}
			total(name)
		}
	})
}

// Processes with either configuration count, drain and roll up at the same time.
func TestPassiveBeside(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := growing(t, dialect)
		grow(t, p)
		var views, likes atomic.Int64
		stop := make(chan struct{})
		var rolling, clients sync.WaitGroup
		configs := []string{oneCounter, twoCounters}
		rolling.Go(func() {
			c := open(t, p, oneCounter).connector
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{Idle: time.Nanosecond}); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
		for i := range 4 {
			db := open(t, p, configs[i%2])
			clients.Go(func() {
				for range 60 {
					var v, l int64
					q := ""
					switch rand.IntN(8) {
					case 0:
						q, l = "UPDATE posts SET likes = GREATEST(likes + 2, 0) WHERE id = 1", 2
						if dialect == "sqlite" {
							q = "UPDATE posts SET likes = MAX(likes + 2, 0) WHERE id = 1"
						}
					case 1, 2:
						q, v = "UPDATE posts SET views = views + 1 WHERE id = 1", 1
					case 3:
						q, v, l = "UPDATE posts SET likes = likes + 1, views = views + 3 WHERE id = 1", 3, 1
					default:
						q, l = "UPDATE posts SET likes = likes + 1 WHERE id = 1", 1
					}
					if _, err := db.ExecContext(t.Context(), q); err != nil {
						t.Errorf("%s: %v", q, err)
						return
					}
					views.Add(v)
					likes.Add(l)
				}
			})
		}
		clients.Wait()
		close(stop)
		rolling.Wait()
		want := fmt.Sprintf("%d %d", 100+likes.Load(), views.Load())
		for _, config := range configs {
			if got := rows(t, open(t, p, config).DB, "SELECT likes, views FROM posts WHERE id = 1"); got != want {
				t.Errorf("%s: %s, want %s", config, got, want)
			}
		}
	})
}

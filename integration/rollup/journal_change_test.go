package rollup

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

// A transaction of MySQL's REPEATABLE READ whose snapshot is older than a merge, and
// that drains the row when what is left adds up to nothing, sees the total of its
// snapshot or the newest one, and nothing in between.
func TestSnapshotOlderThanMerge(t *testing.T) {
	p := twin.New(t, twin.Options{Dialect: "mysql", Params: patience["mysql"], Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 10)",
	}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, layout: journal}}\n"})
	const add, q = "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT views FROM posts WHERE id = 1"
	execAll(t, p.Wrapped, "UPDATE posts SET views = views + 5 WHERE id = 1", add, add)
	begin := func() *sql.Tx {
		tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback() })
		return tx
	}
	old := begin()
	if got := rows(t, old, q); got != "17" {
		t.Fatal(got)
	}
	under, err := p.Under.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer under.Rollback()
	for _, number := range strings.Fields(rows(t, p.Under, "SELECT slot FROM posts_slots WHERE views = 1")) {
		rows(t, under, "SELECT 1 FROM posts_slots WHERE id = 1 AND slot = "+number+" FOR UPDATE")
	}
	if tr := rollUp(t, p).Tables[0]; tr.Moved != 1 {
		t.Fatalf("%+v", tr)
	}
	if err := under.Rollback(); err != nil {
		t.Fatal(err)
	}
	holder := begin() // keeps the roll-up from moving
	execTx(t, holder, add)
	if tr := rollUp(t, p).Tables[0]; tr.Merged != 2 {
		t.Fatalf("%+v", tr)
	}
	if got := rows(t, old, q); got != "17" {
		t.Errorf("%s after the merge", got)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	execAll(t, p.Wrapped, "UPDATE posts SET views = views - 2 WHERE id = 1")
	var locked string
	if err := old.QueryRow(q + " FOR UPDATE").Scan(&locked); err != nil {
		if !newer(t, p, err) {
			t.Error(err)
		}
	} else {
		if locked != "15" {
			t.Errorf("%s, locked", locked)
		}
		if got := rows(t, old, q); got != "15" && got != "17" {
			t.Errorf("%s after the lock", got)
		}
		if err := old.Commit(); err != nil {
			t.Error(err)
		}
	}
	if got := rows(t, p.Wrapped, q); got != "15" {
		t.Errorf("%s at the end", got)
	}
}

// A journal's rows wake the application's roll-up: it does not wait for its
// interval, which never comes here.
func TestWokenByWrites(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := tallies(t, dialect, "rollup: {interval: 24h}\n")
		for i := range 3 {
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range move("new", "paid", i) {
				execTx(t, tx, q)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			execAll(t, p.Wrapped, "UPDATE tallies SET n = n + 1 WHERE day = 1 AND status = 'sent'")
			for rows(t, p.Under, "SELECT COUNT(*) FROM tallies_slots") != "0" {
				time.Sleep(time.Millisecond)
			}
			if got, want := rows(t, p.Under, "SELECT n FROM tallies ORDER BY status"), fmt.Sprintf(
				"%d\n%d\n%d",
				5000-i-1,
				i+1,
				i+1,
			); got != want {
				t.Errorf("base values\n%s\nwant\n%s", got, want)
			}
		}
	})
}

// A table changes between the layouts while programs of both count in it, drain it
// and roll it up: nothing is lost, no read sees a total go down, and no statement
// fails that would not have otherwise.
func TestChangeOfLayout(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		const config = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, layout: %s}}\n"
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 0), (2, 0), (3, 0)",
		}, Config: fmt.Sprintf(config, "dedicated")})
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		journal, err := slotsql.Parse([]byte(golden.WithSlots(fmt.Sprintf(config, "journal"))), "journal.yaml")
		if err != nil {
			t.Fatal(err)
		}
		open := func(config *slotsql.Config) *sql.DB {
			c, err := slotsql.WrapConnector(parent(t, p), engines[dialect], config)
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(c)
			t.Cleanup(func() { _ = db.Close() })
			return db
		}
		c, err := slotsql.WrapConnector(parent(t, p), engines[dialect], journal)
		if err != nil {
			t.Fatal(err)
		}
		if dialect != "sqlite" {
			if err := open(journal).PingContext(t.Context()); err == nil {
				t.Error("a narrow slot table is taken for a journal")
			} else {
				t.Log(err)
			}
		}
		if _, err := slotsql.Migrate(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		dbs := []*sql.DB{p.Wrapped, open(journal), open(load(t, p))}
		var counted [4]atomic.Int64
		counted[1].Store(1)
		var wg sync.WaitGroup
		end := time.Now().Add(2 * time.Second)
		each := func(f func(db *sql.DB)) {
			for _, db := range dbs {
				wg.Go(func() {
					for time.Now().Before(end) && !t.Failed() {
						f(db)
					}
				})
			}
		}
		add := twin.Placeholders(dialect, "UPDATE posts SET views = views + 1 WHERE id = ?")
		each(func(db *sql.DB) {
			k := 1 + rand.IntN(3)
			if _, err := db.ExecContext(t.Context(), add, k); err != nil {
				t.Errorf("an increment: %v", err)
				return
			}
			counted[k].Add(1)
		})
		each(func(db *sql.DB) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer tx.Rollback()
			k := 1 + rand.IntN(3)
			for range 2 {
				if _, err := tx.ExecContext(t.Context(), add, k); err != nil {
					if !conflict(err) {
						t.Errorf("in a transaction: %v", err)
					}
					return
				}
			}
			if rand.IntN(4) == 0 {
				return
			}
			if err := tx.Commit(); err == nil {
				counted[k].Add(2)
			} else if !conflict(err) {
				t.Error(err)
			}
		})
		each(func(db *sql.DB) {
			if _, err := db.ExecContext(
				t.Context(),
				twin.Placeholders(dialect, "UPDATE posts SET views = views * 1 WHERE id = ?"),
				1+rand.IntN(3),
			); err != nil &&
				!conflict(err) {
				t.Errorf("a drain: %v", err)
			}
			time.Sleep(5 * time.Millisecond)
		})
		var last atomic.Int64
		each(func(db *sql.DB) {
			from := last.Load()
			var n int64
			if err := db.QueryRowContext(t.Context(), "SELECT SUM(views) FROM posts").Scan(&n); err != nil || n < from {
				t.Errorf("a total of %d after %d: %v", n, from, err)
				return
			}
			for seen := last.Load(); seen < n && !last.CompareAndSwap(seen, n); seen = last.Load() {
			}
		})
		for _, config := range []*slotsql.Config{journal, load(t, p)} {
			c, err := slotsql.WrapConnector(parent(t, p), engines[dialect], config)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				for time.Now().Before(end) {
					if _, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{Idle: 1, Batch: 5}); err != nil && !conflict(err) {
						t.Errorf("a roll-up: %v", err)
					}
				}
			})
		}
		wg.Wait()
		want := fmt.Sprintf("1 %d\n2 %d\n3 %d", counted[1].Load(), counted[2].Load(), counted[3].Load())
		const q = "SELECT id, views FROM posts ORDER BY id"
		for i, db := range dbs {
			if got := rows(t, db, q); got != want {
				t.Errorf("%d: totals\n%s\nwant\n%s", i, got, want)
			}
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil { // of the old layout
			t.Fatal(err)
		}
		if got := rows(t, p.Under, q); got != want {
			t.Errorf("drained\n%s\nwant\n%s", got, want)
		}
		if _, err := slotsql.MigrateDown(t.Context(), c); err != nil {
			t.Error(err)
		}
	})
}

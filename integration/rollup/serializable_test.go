package rollup

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Two SERIALIZABLE transactions that each decide by what the other one changes do not
// both commit, with a roll-up between the read of the counter and its change: B reads
// the counter and adds a file, A counts the files and increments.
func TestWriteSkewBesideRollUp(t *testing.T) {
	for _, layout := range []string{"dedicated", "journal"} {
		for _, placement := range []string{"random", "connection"} {
			for _, slots := range []bool{true, false} {
				for _, order := range []string{"B reads first", "A has begun"} {
					t.Run(layout+"/"+placement+"/"+map[bool]string{true: "slots", false: "none"}[slots]+"/"+order, func(t *testing.T) {
						t.Parallel()
						p := twin.New(t, twin.Options{
							Dialect: "postgres",
							Schema: []string{
								"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)",
								"INSERT INTO posts SELECT n, 0 FROM generate_series(1, 3) n",
								"CREATE TABLE files (id INT PRIMARY KEY, post INT NOT NULL)",
								"INSERT INTO files SELECT n, 1 FROM generate_series(1, 3) n",
							},
							Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 1, placement: " + placement + ", layout: " + layout + "}}\n",
						})
						execAll(t, p.Wrapped, "SELECT views FROM posts")
						if slots {
							execAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views) VALUES (1, 0, 5)")
						}
						if !skew(t, p, p.Wrapped, order, func() {
							if _, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{Idle: 1}); err != nil {
								t.Fatal(err)
							}
						}) {
							t.Error("both have committed")
						}
					})
				}
			}
		}
	}
}

// skew reports whether one of the two has failed.
func skew(t *testing.T, p *twin.Pair, db *sql.DB, order string, between func()) bool {
	t.Helper()
	begin := func() *sql.Tx {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback() })
		return tx
	}
	a, b := begin(), begin()
	failed := false
	step := func(tx *sql.Tx, query string) {
		if failed {
			return
		}
		rows, err := tx.Query(query)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			_ = rows.Close()
		}
		if err != nil {
			if twin.Class(err) != "PostgreSQL 40001" {
				t.Fatalf("%s: %v", query, err)
			}
			failed = true
		}
	}
	const count = "SELECT COUNT(*) FROM files WHERE post = 1"
	if order == "A has begun" {
		step(a, count)
	}
	step(b, "SELECT views FROM posts WHERE id = 1")
	between()
	if order != "A has begun" {
		step(a, count)
	}
	step(a, "UPDATE posts SET views = views + 1 WHERE id = 1")
	step(b, "INSERT INTO files VALUES (10, 1)")
	for _, tx := range []*sql.Tx{a, b} {
		if failed {
			break
		}
		if err := tx.Commit(); err != nil {
			if twin.Class(err) != "PostgreSQL 40001" {
				t.Fatal(err)
			}
			failed = true
		}
	}
	return failed
}

// Transactions that increment one counter each as long as two together are below a
// limit never pass it, with a roll-up at work all the time.
func TestLimitOverTwoRowsBesideRollUp(t *testing.T) {
	t.Parallel()
	const limit = 60
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)",
			"INSERT INTO posts SELECT n, 0 FROM generate_series(1, 2) n",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 2, placement: random}}\n",
	})
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() {
		_ = slotsql.RunRollUp(ctx, twin.Connector(t, p), slotsql.RollUpOptions{Interval: time.Millisecond, Idle: 5 * time.Millisecond})
	})
	full := func(id int) (bool, error) {
		tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			return false, err
		}
		defer tx.Rollback()
		var other, own int
		if err := tx.QueryRow("SELECT views FROM posts WHERE id = $1", 3-id).Scan(&other); err != nil {
			return false, err
		}
		if err := tx.QueryRow("SELECT views FROM posts WHERE id = $1", id).Scan(&own); err != nil {
			return false, err
		}
		if other+own >= limit {
			return true, nil
		}
		if _, err := tx.Exec("UPDATE posts SET views = views + 1 WHERE id = $1", id); err != nil {
			return false, err
		}
		return false, tx.Commit()
	}
	var clients sync.WaitGroup
	for n := range 4 {
		clients.Go(func() {
			for {
				done, err := full(n%2 + 1)
				if err != nil && twin.Class(err) != "PostgreSQL 40001" {
					t.Error(err)
					return
				}
				if done {
					return
				}
			}
		})
	}
	clients.Wait()
	stop()
	workers.Wait()
	if got := twin.Rows(t, p.Wrapped, "SELECT SUM(views) FROM posts"); got != "60" {
		t.Errorf("the sum is %s, want 60", got)
	}
}

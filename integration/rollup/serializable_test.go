package rollup

import (
	"context"
	"database/sql"
	"testing"

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
						p := twin.New(t, twin.Options{Dialect: "postgres",
							Schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts SELECT n, 0 FROM generate_series(1, 3) n",
								"CREATE TABLE files (id INT PRIMARY KEY, post INT NOT NULL)", "INSERT INTO files SELECT n, 1 FROM generate_series(1, 3) n"},
							Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 1, placement: " + placement + ", layout: " + layout + "}}\n"})
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

// skew says whether one of the two has failed.
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
	step := func(tx *sql.Tx, text string) {
		if failed {
			return
		}
		rows, err := tx.Query(text)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			_ = rows.Close()
		}
		if err != nil {
			if twin.Class(err) != "PostgreSQL 40001" {
				t.Fatalf("%s: %v", text, err)
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

package upkeep

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// While `slotsql migrate` waits for a transaction that has read the slot table,
// others go on: it does not keep them waiting behind it.
func TestMigrateLetsOthersThrough(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		config := func(counters string) string {
			return fmt.Sprintf("version: 1\nauto_migrate: true\ntables: {posts: {counters: {%s}, slots: 8}}\n", counters)
		}
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, likes INTEGER NOT NULL DEFAULT 0)",
			"INSERT INTO posts (id) VALUES (1), (2), (3)",
		}, Config: config("views: {}")})
		twin.ExecAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		reader, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Rollback()
		var n int
		if err := reader.QueryRow("SELECT COUNT(*) FROM posts_slots").Scan(&n); err != nil {
			t.Fatal(err)
		}
		wider, err := slotsql.Parse([]byte(golden.WithSlots(config("views: {}, likes: {}"))), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		migrated := make(chan error, 1)
		go func() {
			_, err := slotsql.Migrate(t.Context(), twin.ConnectorWith(t, p, wider))
			migrated <- err
		}()
		// Who is kept waiting is so until the reader ends, which it does not.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		// Migrate waits for a minute, in which a slow machine runs so many; of a migration that
		// lets only those through that wait between two of its attempts there would be fewer.
		const enough = 200
		counted := count(ctx, t, p.Wrapped, enough)
		select {
		case err := <-migrated:
			t.Fatalf("migrate did not wait: %v", err)
		default:
		}
		if counted < enough {
			t.Errorf("%d statements got through while migrate waited, want %d", counted, enough)
		}
		if err := reader.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-migrated; err != nil {
			t.Fatal(err)
		}
	})
}

// `slotsql migrate --down` waits for a transaction that has locked rows, and does not keep it from changing them:
// neither is chosen as deadlock victim.
func TestMigrateDownLetsTransactionsFinish(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0)",
			"INSERT INTO posts (id) VALUES (1)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 8}}\n"})
		if err := p.Wrapped.PingContext(t.Context()); err != nil { // makes the slot table
			t.Fatal(err)
		}
		tx, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var n int
		if err := tx.QueryRow("SELECT views FROM posts WHERE id = 1 FOR UPDATE").Scan(&n); err != nil {
			t.Fatal(err)
		}
		migrated := make(chan error, 1)
		go func() {
			_, err := slotsql.MigrateDown(t.Context(), twin.Connector(t, p))
			migrated <- err
		}()
		p.UntilDefinitionWaits(t, migrated)
		if _, err := tx.Exec("UPDATE posts SET views = 7 WHERE id = 1"); err != nil {
			t.Errorf("the transaction: %v", err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-migrated; err != nil {
			t.Fatal(err)
		}
	})
}

// count increments with four clients until so many statements have got through.
func count(ctx context.Context, t *testing.T, db *sql.DB, want int64) int64 {
	var done atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for done.Load() < want && ctx.Err() == nil {
				if _, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", i%3+1)); err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return done.Load()
}

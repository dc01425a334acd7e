package session

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// Behind a transaction pooler each server session belongs to whoever asks next. Whatever slotsql
// has used it for, its settings are those of a new one.
func TestNothingLeftInPooledSessions(t *testing.T) {
	t.Parallel()
	const size = 4
	dsn := server.Postgres(t)
	direct, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	execAll(t, direct,
		"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL DEFAULT 0)",
		"CREATE TABLE events (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
		"CREATE TABLE seen (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
		"CREATE TABLE items (id INT PRIMARY KEY, stock INT NOT NULL)",
		"CREATE TABLE queues (id INT PRIMARY KEY, next BIGINT NOT NULL)",
		"INSERT INTO posts (id) VALUES (1), (2)", "INSERT INTO events (id) VALUES (1)", "INSERT INTO seen (id) VALUES (1)",
		"INSERT INTO items VALUES (1, 1000)", "INSERT INTO queues VALUES (1, 0)")
	config, err := slotsql.Parse([]byte(`version: 1
auto_migrate: true
defaults: {slots: 8, placement: connection}
tables:
  posts: {counters: {views: {}}}
  events: {counters: {n: {}}, layout: journal}
  seen: {counters: {n: {}}, mode: shadow}
  items: {counters: {stock: {min: 0}}}
  queues: {counters: {next: {tickets: {block: 2}}}, slots: 0}
rollup: {interval: 50ms}
`), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pooled := newPooler(t, dsn, size)
	connector, err := slotsql.OpenConnector(twin.Wrapped["postgres"], pooled, slotsql.WithConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	execAll(t, db, "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE events SET n = n + 1 WHERE id = 1",
		"UPDATE seen SET n = n + 1 WHERE id = 1", "UPDATE posts SET views = 2 * views", "ALTER TABLE posts ADD COLUMN title TEXT")
	if err := twin.Notice(ctx, db); err != nil {
		t.Fatal(err)
	}
	before := fromBlocks()
	for deadline := time.Now().Add(20 * time.Second); ; {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelRepeatableRead} {
			if err := useAll(ctx, db, level); err != nil {
				t.Fatal(err)
			}
		}
		slot := twin.Rows(t, direct, "SELECT COALESCE(MAX(stock), 0) > 0 FROM items_slots")
		if slot == "true" && fromBlocks() > before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a portion was moved: %s, numbers from blocks: %d", slot, fromBlocks()-before)
		}
	}
	for _, f := range []func() error{
		func() error { _, err := slotsql.Migrate(ctx, connector); return err },
		func() error { _, err := slotsql.Verify(ctx, connector, slotsql.VerifyOptions{}); return err },
		func() error { _, err := slotsql.Drain(ctx, connector, slotsql.DrainOptions{}); return err },
	} {
		if err := f(); err != nil {
			t.Error(err)
		}
	}

	plain, err := sql.Open("pgx", pooled)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	const settings = "SELECT name, setting FROM pg_settings WHERE source = 'session' AND name NOT LIKE 'transaction%' ORDER BY 1"
	for range size { // all at once, so that they are different sessions
		tx, err := plain.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if got := twin.Rows(t, tx, settings); got != "" {
			t.Errorf("a server session was left with\n%s", got)
		}
	}
}

// useAll sends statements, each in a transaction, that are served in each of the ways which need a
// session of slotsql's own.
func useAll(ctx context.Context, db *sql.DB, level sql.IsolationLevel) error {
	for _, q := range []string{
		"UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock >= 1",
		"UPDATE queues SET next = next + 1 WHERE id = 1 RETURNING next",
		"UPDATE posts SET views = views * 2 - 1 WHERE id = 1",
	} {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "SELECT 1")
		if err == nil && strings.Contains(q, "RETURNING") {
			err = tx.QueryRowContext(ctx, q).Scan(new(int))
		} else if err == nil {
			_, err = tx.ExecContext(ctx, q)
		}
		if err == nil {
			err = tx.Commit()
		}
		if _ = tx.Rollback(); err != nil && twin.Class(err) != "PostgreSQL 40001" {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// fromBlocks is how many numbers of this process came from blocks.
func fromBlocks() (n uint64) {
	for _, s := range slotsql.Stats() {
		n += s.Tickets
	}
	return n
}

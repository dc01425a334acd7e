package drains

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestLocksWithoutCounters: a query that locks rows and reads no counter waits, skips and fails as the plain one
// does, and counters of the rows stay what they are once the transaction has read them.
func TestLocksWithoutCounters(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema: []string{
			"CREATE TABLE jobs (id INT NOT NULL PRIMARY KEY, state TEXT NOT NULL, attempts INT NOT NULL)",
			"INSERT INTO jobs SELECT n, 'new', 10 FROM generate_series(1, 20) AS n",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {placement: connection}\ntables: {jobs: {counters: {attempts: {}}}}\n",
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	begin := func(t *testing.T) *sql.Tx {
		tx, err := p.Wrapped.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback() })
		return tx
	}
	value := func(t *testing.T, tx *sql.Tx, query string) (n int) {
		if err := tx.QueryRowContext(ctx, query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	for id := 1; id <= 20; id++ { // all have slots
		if _, err := p.Wrapped.ExecContext(ctx, "UPDATE jobs SET attempts = attempts + 1 WHERE id = $1", id); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("skip locked", func(t *testing.T) {
		next := "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
		one, two := begin(t), begin(t)
		if a, b := value(t, one, next), value(t, two, next); a != 1 || b != 2 {
			t.Errorf("two workers have taken %d and %d", a, b)
		}
	})
	t.Run("share", func(t *testing.T) {
		one, two := begin(t), begin(t)
		for _, tx := range []*sql.Tx{one, two} {
			value(t, tx, "SELECT id FROM jobs WHERE id = 3 FOR SHARE")
			value(t, tx, "SELECT id FROM jobs WHERE id = 4 FOR KEY SHARE")
		}
	})
	t.Run("nowait", func(t *testing.T) {
		one, two := begin(t), begin(t)
		value(t, one, "SELECT id FROM jobs WHERE id = 5 FOR UPDATE NOWAIT")
		var refused *pgconn.PgError
		if err := two.QueryRowContext(ctx, "SELECT id FROM jobs WHERE id = 5 FOR UPDATE NOWAIT").Scan(new(int)); !errors.As(err, &refused) || refused.Code != "55P03" {
			t.Errorf("a second lock: %v", err)
		}
	})
	t.Run("read after", func(t *testing.T) {
		tx := begin(t)
		value(t, tx, "SELECT id FROM jobs WHERE id = 6 FOR UPDATE")
		before := value(t, tx, "SELECT attempts FROM jobs WHERE id = 6")
		counted := make(chan error, 1)
		go func() {
			_, err := p.Wrapped.ExecContext(ctx, "UPDATE jobs SET attempts = attempts + 1 WHERE id = 6")
			counted <- err
		}()
		if !p.UntilBlocked(t, counted) {
			t.Error("another session counts in the locked row, and does not wait")
		}
		if after := value(t, tx, "SELECT attempts FROM jobs WHERE id = 6"); before != 11 || after != before {
			t.Errorf("a locked row has %d, then %d", before, after)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE jobs SET attempts = 100 WHERE id = 6"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-counted; err != nil {
			t.Fatal(err)
		}
		after := begin(t)
		if n := value(t, after, "SELECT attempts FROM jobs WHERE id = 6"); n != 101 {
			t.Errorf("set to 100, and one more: %d", n)
		}
	})
}

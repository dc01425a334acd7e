package adoption

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// Processes with different numbers of slots count side by side, in a slot table
// that was made for few: those with more use them all, and drains of those with
// fewer take them in, also where the transaction is held to its snapshot.
func TestSlotsDiffer(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			const config = "version: 1\nauto_migrate: true\ntables: {posts: {slots: %d, placement: random, counters: {views: }}}\n"
			p := twin.New(t, twin.Options{Dialect: dialect, Config: fmt.Sprintf(config, 2), Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 10), (2, 20)",
			}})
			few := p.Wrapped
			if err := few.PingContext(t.Context()); err != nil { // makes the slot table
				t.Fatal(err)
			}
			parsed, err := slotsql.Parse([]byte(golden.WithSlots(fmt.Sprintf(config, 4096))), "slotsql.yaml")
			if err != nil {
				t.Fatal(err)
			}
			c, err := slotsql.OpenConnector(
				map[string]string{"sqlite": "sqlite3-slotsql", "mysql": "mysql-slotsql", "postgres": "postgres-slotsql"}[dialect],
				p.WrappedDSN,
				slotsql.WithConfig(parsed),
			)
			if err != nil {
				t.Fatal(err)
			}
			many := sql.OpenDB(c)
			defer many.Close()
			number := func(db conn, q string) (n int) {
				t.Helper()
				if err := db.QueryRowContext(t.Context(), q).Scan(&n); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
				return n
			}
			is := func(what string, got, want int) {
				t.Helper()
				if got != want {
					t.Errorf("%s: %d, want %d", what, got, want)
				}
			}
			count := func(id int) {
				t.Helper()
				if _, err := many.ExecContext(
					t.Context(),
					fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", id),
				); err != nil {
					t.Fatal(err)
				}
			}
			const of1, of2, set = "SELECT views FROM posts WHERE id = 1", "SELECT views FROM posts WHERE id = 2", "UPDATE posts SET views = views * 2 WHERE id = 1"
			for range 20 {
				count(1)
			}
			is("the base value", number(p.Under, of1), 10)
			if n := number(p.Under, "SELECT COUNT(*) FROM posts_slots WHERE slot >= 2"); n < 2 &&
				dialect != "sqlite" { // one slot is enough where one writes
				t.Errorf("%d slots are used of those that the other process does not have", n)
			}
			is("the total, read with few slots", number(few, of1), 30)
			if _, err := few.ExecContext(t.Context(), set); err != nil {
				t.Fatal(err)
			}
			is("the base value, drained with few slots", number(p.Under, of1), 60)
			if dialect != "mysql" {
				return // SQLite has one writer; for PostgreSQL see docs/divergences.md
			}

			tx, err := few.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			is("another row, which makes the snapshot", number(tx, of2), 20)
			for range 5 {
				count(1)
			}
			held, err := twin.SnapshotIsolation(t.Context(), p.Under)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(t.Context(), set); held && twin.Class(err) == twin.Newer {
				return // as plain: the row has been counted since the snapshot
			} else if held || err != nil {
				t.Fatalf("set at REPEATABLE READ: %v, held to the snapshot: %t", err, held)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			is("set at REPEATABLE READ", number(p.Under, of1), 2*(60+5))
		})
	}
}

// conn is a *sql.DB or *sql.Tx.
type conn interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

package session

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

const heldConfig = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 8, placement: adaptive}}\n"

// A transaction that has counted on the base row reads the row with what the slots of another process
// hold: those that are committed, and those that it has to wait for. From then on no other counts in the row.
func TestHeldRowIsRead(t *testing.T) {
	const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
	twin.Servers(t, func(t *testing.T, dialect string) {
		for name, level := range map[string]sql.IsolationLevel{"default": sql.LevelDefault, "read committed": sql.LevelReadCommitted} {
			t.Run(name, func(t *testing.T) {
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema:  schema(dialect),
					Config:  heldConfig,
				})
				other := otherProcess(t, p)
				before := count(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1")
				for round := range 3 {
					if round > 0 {
						execAll(t, other, add) // a slot, and nobody else has it
						before++
					}
					counting, err := other.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					if round > 1 {
						if _, err := counting.ExecContext(t.Context(), add); err != nil {
							t.Fatal(err)
						}
						before++
					}
					tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
					if err != nil {
						t.Fatal(err)
					}
					changed := make(chan error, 1)
					var views int
					go func() {
						_, err := tx.ExecContext(t.Context(), add)
						if err == nil {
							err = tx.QueryRowContext(t.Context(), "SELECT views FROM posts WHERE id = 1").Scan(&views)
						}
						changed <- err
					}()
					if round > 1 {
						untilBlocked(t, p, changed)
					}
					if err := counting.Commit(); err != nil {
						t.Fatal(err)
					}
					if err := <-changed; err != nil {
						t.Fatal(err)
					}
					if before++; views != before {
						t.Errorf("round %d: %d views, want %d", round, views, before)
					}
					added := make(chan error, 1)
					go func() { _, err := other.ExecContext(t.Context(), add); added <- err }()
					untilBlocked(t, p, added) // the row is the transaction's
					if err := tx.QueryRowContext(t.Context(), "SELECT views FROM posts WHERE id = 1").Scan(&views); err != nil || views != before {
						t.Errorf("round %d: then %d views, %v", round, views, err)
					}
					if err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
					if err := <-added; err != nil {
						t.Fatal(err)
					}
					before++
				}
				if n := count(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); n != before {
					t.Errorf("at the end %d views, want %d", n, before)
				}
			})
		}
	})
}

// otherProcess counts in slots.
func otherProcess(t *testing.T, p *twin.Pair) *sql.DB {
	t.Helper()
	config, err := slotsql.Parse([]byte(strings.Replace(heldConfig, "adaptive", "connection", 1)), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(twin.ConnectorWith(t, p, config))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A transaction whose level was set by a statement is held to its snapshot: what others have
// counted since is no part of what it reads after it has counted itself.
func TestHeldRowAtSnapshot(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema:  schema("postgres"),
		Config:  heldConfig,
	})
	other := otherProcess(t, p)
	const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
	read := func(db *sql.DB, add2 *sql.DB) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		for _, q := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SELECT 1 FROM log"} {
			if _, err := tx.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		execAll(t, add2, add)
		if _, err = tx.ExecContext(t.Context(), add); err == nil {
			var views int
			err = tx.QueryRowContext(t.Context(), "SELECT views FROM posts WHERE id = 1").Scan(&views)
		}
		return err
	}
	if plain, wrapped := read(p.Plain, p.Plain), read(p.Wrapped, other); twin.Class(plain) != twin.Class(wrapped) || plain == nil {
		t.Errorf("plain %v, wrapped %v", plain, wrapped)
	}
}

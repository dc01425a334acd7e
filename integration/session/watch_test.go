package session

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

const slotted = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}, slots: 8, placement: random}}\n"

// watchedPair has a log that a trigger may write.
func watchedPair(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: slotted})
}

// logs are triggers that note each change of a row of posts.
var logs = map[string][]string{
	"sqlite": {"CREATE TRIGGER noted AFTER UPDATE ON posts BEGIN INSERT INTO log (note) VALUES ('x'); END"},
	"mysql": {
		"ALTER TABLE log MODIFY id INTEGER AUTO_INCREMENT",
		"CREATE TRIGGER noted AFTER UPDATE ON posts FOR EACH ROW INSERT INTO log (note) VALUES ('x')",
	},
	"postgres": {
		"CREATE SEQUENCE log_ids",
		"CREATE FUNCTION noting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (nextval('log_ids'), 'x'); RETURN NULL; END $$",
		"CREATE TRIGGER noted AFTER UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION noting()",
	},
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// untilNoticed repeats do until the process has noticed what another client has
// changed.
func untilNoticed(t *testing.T, do func() error, noticed func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if noticed() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("not noticed")
		}
	}
}

// notice has the wrapped side notice what another client has changed.
func notice(t *testing.T, p *twin.Pair) {
	t.Helper()
	if err := twin.Notice(t.Context(), p.Wrapped); err != nil {
		t.Fatal(err)
	}
}

const increment = "UPDATE posts SET views = views + 1 WHERE id = 1"

// A trigger that another client makes is noticed however the statement comes.
func TestOtherClientsTriggerIsNoticed(t *testing.T) {
	type execer interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}
	exec := func(t *testing.T, e execer) func() error {
		return func() error { _, err := e.ExecContext(t.Context(), increment); return err }
	}
	for name, way := range map[string]func(t *testing.T, db *sql.DB) func() error{
		"pool": func(t *testing.T, db *sql.DB) func() error { return exec(t, db) },
		"pinned": func(t *testing.T, db *sql.DB) func() error {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return exec(t, c)
		},
		"prepared": func(t *testing.T, db *sql.DB) func() error {
			st, err := db.PrepareContext(t.Context(), increment)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			return func() error { _, err := st.ExecContext(t.Context()); return err }
		},
		"transactions": func(t *testing.T, db *sql.DB) func() error {
			return func() error {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					return err
				}
				defer func() { _ = tx.Rollback() }()
				if _, err := tx.ExecContext(t.Context(), increment); err != nil {
					return err
				}
				return tx.Commit()
			}
		},
		"new connections": func(t *testing.T, db *sql.DB) func() error {
			db.SetMaxIdleConns(-1)
			return exec(t, db)
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, dialect string) {
				p := watchedPair(t, dialect)
				do := way(t, p.Wrapped)
				if err := do(); err != nil {
					t.Fatal(err)
				}
				execAll(t, p.Under, logs[dialect]...)
				untilNoticed(t, do, func() bool { return count(t, p.Under, "SELECT COUNT(*) FROM log") > 0 })
			})
		})
	}
}

// A view over a counter table that another client makes shows totals.
func TestOtherClientsViewIsNoticed(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := watchedPair(t, dialect)
		execAll(t, p.Wrapped, increment)
		execAll(t, p.Under, "CREATE VIEW tops AS SELECT id, views FROM posts")
		untilNoticed(
			t,
			func() error { return nil },
			func() bool { return count(t, p.Wrapped, "SELECT views FROM tops WHERE id = 1") == 11 },
		)
	})
}

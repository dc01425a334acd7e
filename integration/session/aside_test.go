package session

import (
	"context"
	"database/sql"
	"regexp"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// What slotsql reads of the database to plan a transaction's first statement
// does not begin the transaction's snapshot: SQLite would not let it write after
// another connection has.
func TestFactsBeginNoSnapshot(t *testing.T) {
	type session interface {
		PrepareContext(context.Context, string) (*sql.Stmt, error)
	}
	for name, begin := range map[string]func(c *sql.Conn) (session, func() error){
		"BeginTx": func(c *sql.Conn) (session, func() error) {
			tx, err := c.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return tx, tx.Commit
		},
		"BEGIN": func(c *sql.Conn) (session, func() error) {
			text := func(q string) error { _, err := c.ExecContext(t.Context(), q); return err }
			if err := text("BEGIN"); err != nil {
				t.Fatal(err)
			}
			return c, func() error { return text("COMMIT") }
		},
	} {
		for after, before := range map[string]string{
			"": "SELECT 1", " after DDL": "CREATE TABLE more (n INT)", " after DDL of the table": "ALTER TABLE posts ADD COLUMN title TEXT",
		} {
			t.Run(name+after, func(t *testing.T) {
				p := asidePair(t)
				c, err := p.Wrapped.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := c.ExecContext(t.Context(), before); err != nil {
					t.Fatal(err)
				}
				tx, commit := begin(c)
				// Planned with the facts of a table that has not been named before.
				st, err := tx.PrepareContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = (SELECT MIN(post) FROM tags)")
				if err != nil {
					t.Fatal(err)
				}
				defer st.Close()
				if _, err := p.Wrapped.Exec("INSERT INTO tags VALUES (2)"); err != nil {
					t.Fatal(err)
				}
				if _, err := st.ExecContext(t.Context()); err != nil {
					t.Errorf("%v (%s)", err, twin.Class(err))
				}
				if err := commit(); err != nil {
					t.Error(err)
				}
				var views int
				if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&views); err != nil || views != 11 {
					t.Errorf("%d, %v", views, err)
				}
			})
		}
	}
}

// A transaction that keeps others out reads for itself, when it says so at
// once, else after one try.
func TestFactsInExclusiveTransaction(t *testing.T) {
	for name, dsn := range map[string][2]string{"by statement": {"", "BEGIN EXCLUSIVE"}, "by the DSN": {"&_txlock=exclusive", ""}} {
		t.Run(name, func(t *testing.T) {
			p := asidePair(t)
			p.Wrapped.Close()
			p.Plain.Close()
			parts := regexp.MustCompile(`_pragma=(journal_mode|busy_timeout)\([^)]*\)`).ReplaceAllString(p.WrappedDSN, "")
			t.Setenv("SLOTSQL_CONFIG", p.ConfigPath)
			db, err := sql.Open(twin.Wrapped["sqlite"], parts+"&_pragma=busy_timeout(300)&_pragma=journal_mode(DELETE)"+dsn[0])
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 2 {
				var run interface {
					ExecContext(context.Context, string, ...any) (sql.Result, error)
				} = c
				commit := func() error { _, err := c.ExecContext(t.Context(), "COMMIT"); return err }
				if dsn[1] != "" {
					if _, err := c.ExecContext(t.Context(), dsn[1]); err != nil {
						t.Fatal(err)
					}
				} else {
					tx, err := c.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					run, commit = tx, tx.Commit
				}
				if _, err := run.ExecContext(
					t.Context(),
					"UPDATE posts SET views = views + 1 WHERE id = (SELECT MIN(post) FROM tags)",
				); err != nil {
					t.Fatal(err)
				}
				if err := commit(); err != nil {
					t.Fatal(err)
				}
			}
			var views int
			if err := c.QueryRowContext(t.Context(), "SELECT views FROM posts WHERE id = 1").Scan(&views); err != nil || views != 12 {
				t.Errorf("%d, %v", views, err)
			}
		})
	}
}

func asidePair(t *testing.T) *twin.Pair {
	return twin.New(
		t,
		twin.Options{
			Dialect: "sqlite",
			Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)",
				"CREATE TABLE tags (post INT NOT NULL)",
				"INSERT INTO posts VALUES (1, 10)",
				"INSERT INTO tags VALUES (1)",
			},
		},
	)
}

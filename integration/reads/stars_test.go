package reads

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestStars: a column that another program adds appears in SELECT *, though no
// statement fails for its want; and one that * leaves out stays out.
func TestStars(t *testing.T) {
	for _, d := range []struct{ dialect, schema string }{
		{"sqlite", "CREATE TABLE posts (id integer PRIMARY KEY, views integer NOT NULL DEFAULT 0)"},
		{"mysql", "CREATE TABLE posts (id int PRIMARY KEY, secret int INVISIBLE DEFAULT 7, views int NOT NULL DEFAULT 0)"},
		{"postgres", "CREATE TABLE posts (id int PRIMARY KEY, views int NOT NULL DEFAULT 0)"},
	} {
		t.Run(d.dialect, func(t *testing.T) {
			t.Parallel()
			// Plain pgx itself goes on with a prepared statement's columns.
			params := map[string]string{"postgres": "default_query_exec_mode=exec"}[d.dialect]
			p := twin.New(t, twin.Options{Dialect: d.dialect, Params: params,
				Schema: []string{d.schema, "INSERT INTO posts (id, views) VALUES (1, 1)"},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
			columns := func(db *sql.DB) []string {
				rows, err := db.QueryContext(t.Context(), "SELECT * FROM posts")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				cols, err := rows.Columns()
				if err != nil {
					t.Fatal(err)
				}
				return cols
			}
			if got, want := columns(p.Wrapped), columns(p.Plain); !slices.Equal(got, want) {
				t.Fatalf("columns %v, plain has %v", got, want)
			}
			if _, err := p.Under.ExecContext(t.Context(), "ALTER TABLE posts ADD COLUMN title varchar(20)"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			for !slices.Equal(columns(p.Wrapped), []string{"id", "views", "title"}) {
				select {
				case <-ctx.Done():
					t.Fatalf("columns are still %v", columns(p.Wrapped))
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
}

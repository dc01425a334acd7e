package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that begins in a call of several statements remembers what the others of the call have counted in slots.
func TestMultiBeginsAndCounts(t *testing.T) {
	for dialect, params := range map[string]string{"mysql": "multiStatements=true", "postgres": "", "sqlite": ""} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: dialect, Params: params,
				Schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 10)"},
				Config: "version: 1\nauto_migrate: true\ndefaults: {placement: random}\ntables: {posts: {counters: {views: {}}}}\n",
			})
			plain, err := p.Plain.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			wrapped, err := p.Wrapped.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer wrapped.Close()
			for _, query := range []string{
				"BEGIN; UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = 1 WHERE id = 1", "SELECT views FROM posts", "COMMIT",
				"SELECT views FROM posts",
			} {
				a, b := twin.Sides{Plain: plain, Wrapped: wrapped}.Run(t.Context(), twin.Statement{SQL: query})
				if ds := twin.Compare(a, b); len(ds) > 0 {
					t.Errorf("%s: %v", query, ds)
				}
			}
		})
	}
}

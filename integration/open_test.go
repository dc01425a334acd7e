package integration

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestOpenAsksNothing: once a process knows the tables, a new connection costs no more statements than a plain one, but
// for ten a second. A pool keeps two idle connections by default, and opens another for every statement
// beyond them.
func TestOpenAsksNothing(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "mysql",
		Schema:  []string{"CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, views INT NOT NULL)"},
		Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
	})
	asked := func(db *sql.DB) (median int) {
		db.SetMaxIdleConns(0)
		var all []int
		for range 21 {
			var name string
			var n int
			if err := db.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			all = append(all, n)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	if plain, wrapped := asked(p.Plain), asked(p.Wrapped); wrapped != plain {
		t.Errorf("a new connection asks %d questions, plain %d", wrapped, plain)
	}
}

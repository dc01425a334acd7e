package session

import (
	"context"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// What the parser rejects and the engine understands runs as it is on a table that sleeps, and locks nothing more: it does not
// wait for a transaction that has changed a row, and keeps no other from one.
func TestRejectedTextLocksNothing(t *testing.T) {
	t.Parallel()
	const query = "SELECT p.id, p.views, j.x FROM posts p, JSON_TABLE('[1, 2]', '$[*]' COLUMNS (x INT PATH '$')) j ORDER BY p.id, j.x"
	p := twin.New(t, twin.Options{
		Dialect: "mysql", Schema: schema("mysql"), Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
		Params: "innodb_lock_wait_timeout=3",
	})
	for _, prepared := range []bool{false, true} {
		p.Same(t, twin.Statement{SQL: query, Prepared: prepared}) // reads the catalog
		tx, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		twin.ExecAll(t, tx, "UPDATE posts SET title = 'held' WHERE id = 1")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		reader, err := p.Wrapped.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := reader.QueryContext(ctx, query)
		if err != nil {
			t.Fatalf("prepared %v: %v", prepared, err)
		}
		for rows.Next() {
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		twin.ExecAll(t, tx, "UPDATE posts SET title = 'two' WHERE id = 2")
		for _, end := range []func() error{reader.Rollback, tx.Rollback} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	}
}

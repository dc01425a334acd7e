// Package drains holds the tests of statements that drain beside sessions that increment, insert and
// lock the same rows.
package drains

import (
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestDrainsOfAllAndOfOne: drains of all rows beside drains of one row,
// increments, and upserts of new rows. Each waits for others, and none is chosen
// as deadlock victim: a statement that has one row, and asks for no other, is part
// of none with the plain driver.
func TestDrainsOfAllAndOfOne(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema:  []string{"CREATE TABLE hits (page INT NOT NULL PRIMARY KEY, n INT NOT NULL)", "INSERT INTO hits VALUES (1, 0)"},
		Config:  "version: 1\nauto_migrate: true\ntables: {hits: {counters: {n: {}}}}\n",
	})
	var wg sync.WaitGroup
	for w, query := range []string{
		"UPDATE hits SET n = n * 1 WHERE n >= 0",
		"UPDATE hits SET n = n * 2 - n WHERE page = 1", "UPDATE hits SET n = n * 2 - n WHERE page = 1",
		"UPDATE hits SET n = n + 1 WHERE page = 1", "UPDATE hits SET n = n + 1 WHERE page = 1",
		"INSERT INTO hits VALUES ($1, 1) ON CONFLICT (page) DO UPDATE SET n = 1 * hits.n + excluded.n", "INSERT INTO hits VALUES ($1, 1) ON CONFLICT (page) DO UPDATE SET n = 1 * hits.n + excluded.n",
	} {
		wg.Go(func() {
			for i := range 50 {
				var args []any
				if w > 4 {
					args = append(args, 1+i/4)
				}
				if _, err := p.Wrapped.ExecContext(t.Context(), query, args...); err != nil {
					t.Errorf("%s: %v", query, err)
					return
				}
			}
		})
	}
	wg.Wait()
	var got int
	if err := p.Wrapped.QueryRowContext(t.Context(), "SELECT SUM(n) FROM hits").Scan(&got); err != nil || got != 200 {
		t.Errorf("%d, want 200: %v", got, err)
	}
}

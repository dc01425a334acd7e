package session

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Upserts share a statement though each has values of its own for ordinary columns: what the conflict clause takes from the INSERT is the
// last one's, and the rest of a new row is the first one's.
func TestUpsertsWithOwnValuesShare(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		const table, clients, each = "upserted_stats", 16, 25
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  []string{"CREATE TABLE " + table + " (day INT PRIMARY KEY, n INT NOT NULL, first_by VARCHAR(20) NOT NULL, last_by VARCHAR(20) NOT NULL)"},
			Config:  "version: 1\ntables: {" + table + ": {counters: {n: {}}, slots: 0}}\n",
		})
		upsert := "INSERT INTO " + table + " (day, n, first_by, last_by) VALUES (?, ?, ?, ?) "
		if dialect == "mysql" {
			upsert += "ON DUPLICATE KEY UPDATE n = n + VALUES(n), last_by = VALUES(last_by)"
		} else {
			upsert += "ON CONFLICT (day) DO UPDATE SET n = " + table + ".n + EXCLUDED.n, last_by = EXCLUDED.last_by"
		}
		upsert = twin.Placeholders(dialect, upsert)
		shared := func() (n uint64) {
			for _, s := range slotsql.Stats() {
				if s.Dialect == dialect && (slices.Contains(s.Tables, table) || s.Tables == nil) { // nil: beyond a thousand kinds
					n += s.Coalesced
				}
			}
			return n
		}
		p.Wrapped.SetMaxOpenConns(clients)
		day := 0
		for before := shared(); shared() == before; { // until some have overlapped
			if day++; day > 20 {
				t.Fatal("none has shared a statement")
			}
			var wg sync.WaitGroup
			for c := range clients {
				wg.Go(func() {
					for i := range each {
						who := fmt.Sprintf("%d of %d", i, c)
						if _, err := p.Wrapped.ExecContext(t.Context(), upsert, day, 2, who, who); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			var n int
			var first, last string
			q := fmt.Sprintf("SELECT n, first_by, last_by FROM %s WHERE day = %d", table, day)
			if err := p.Wrapped.QueryRowContext(t.Context(), q).Scan(&n, &first, &last); err != nil || n != 2*clients*each {
				t.Errorf("%d of %d, %v", n, 2*clients*each, err)
			}
			if !strings.HasPrefix(first, "0 of ") || !strings.HasPrefix(last, fmt.Sprintf("%d of ", each-1)) {
				t.Errorf("first by %q, last by %q", first, last)
			}
		}
	})
}

package drains

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

func writtenPair(t *testing.T, dialect string) *twin.Pair {
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE hits (page BIGINT NOT NULL PRIMARY KEY, n INT)",
			"INSERT INTO hits VALUES (1, 0), (2, 0), (3, -500), (4, NULL)",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {hits: {counters: {n: {}}, placement: connection, slots: 8}}\n",
	})
}

// TestWrittenRowsConcurrently: batches that add to two rows, and batches that set rows whose
// total is negative, beside increments of the same rows in slots. No total is negative, though a base
// value is, so nothing is set. Nothing is lost or counted twice.
func TestWrittenRowsConcurrently(t *testing.T) {
	batches := map[string][2]string{
		"mysql": {
			"UPDATE hits h JOIN (SELECT 1 AS id, 2 AS d UNION ALL SELECT 2, 3) v ON v.id = h.page SET h.n = h.n + v.d",
			"UPDATE hits h JOIN (SELECT 1 AS id, 0 AS z UNION ALL SELECT 3, 0) v ON v.id = h.page SET h.n = CASE WHEN h.n < 0 THEN v.z ELSE h.n END",
		},
		"postgres": {
			"UPDATE hits SET n = hits.n + v.d FROM (VALUES (1, 2), (2, 3)) AS v (id, d) WHERE hits.page = v.id",
			"UPDATE hits SET n = CASE WHEN hits.n < 0 THEN v.z ELSE hits.n END FROM (VALUES (1, 0), (3, 0)) AS v (id, z) WHERE hits.page = v.id",
		},
		"sqlite": {
			"UPDATE hits SET n = n + v.column2 FROM (VALUES (1, 2), (2, 3)) AS v WHERE hits.page = v.column1",
			"UPDATE hits SET n = CASE WHEN n < 0 THEN v.column2 ELSE n END FROM (VALUES (1, 0), (3, 0)) AS v WHERE hits.page = v.column1",
		},
	}
	twin.Each(t, func(t *testing.T, dialect string) {
		p := writtenPair(t, dialect)
		adds, sets := batches[dialect][0], batches[dialect][1]
		twin.ExecAll(t, p.Wrapped, "UPDATE hits SET n = n + 500 WHERE page = 3")
		workers := 6
		if dialect == "sqlite" {
			workers = 1 // one writer: the others would get SQLITE_BUSY
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var want atomic.Int64
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range 40 {
					query, adding := fmt.Sprintf("UPDATE hits SET n = n + 1 WHERE page = %d", 1+(w+i)%3), int64(1)
					switch i % 4 {
					case 1:
						query, adding = adds, 5
					case 3:
						query, adding = sets, 0
					}
					if _, err := p.Wrapped.ExecContext(ctx, query); err != nil {
						t.Errorf("%s: %v", query, err)
						cancel()
						return
					}
					want.Add(adding)
				}
			})
		}
		wg.Wait()
		var got int64
		if err := p.Wrapped.QueryRowContext(t.Context(), "SELECT SUM(n) FROM hits").Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want.Load() {
			t.Errorf("the total is %d, want %d", got, want.Load())
		}
		for query, plan := range map[string]string{adds: "additive-base", sets: "drain rows of a unique key"} {
			if e, err := slotsql.Explain(t.Context(), p.Wrapped, query); err != nil {
				t.Error(err)
			} else if got := planOf(e); got != plan {
				t.Errorf("%s: %s, want %s", query, got, plan)
			}
		}
	})
}

func planOf(e *slotsql.Explanation) string {
	if len(e.Drains) == 0 || e.Class != "drain" {
		return e.Class
	}
	return e.Class + " " + e.Drains[0].Scope
}

// TestArraysOfDeltas: a batch in arrays, as Go programs bind them, drains.
func TestArraysOfDeltas(t *testing.T) {
	two := int32(2)
	for name, c := range map[string]struct{ keys, deltas any }{
		"int64":   {[]int64{1, 2}, []int64{5, -6}},
		"text":    {"{1,2}", "{5,6}"},
		"longer":  {[]int64{1}, []int64{5, 6}},
		"shorter": {[]int64{1, 2}, []int64{5}},
		"NULL":    {[]int64{1, 2}, []*int32{&two, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := writtenPair(t, "postgres")
			for page := 1; page < 4; page++ {
				p.Same(t, twin.Statement{SQL: "UPDATE hits SET n = n + 3 WHERE page = $1", Args: []any{page}})
			}
			p.Same(t, twin.Statement{
				SQL:  "UPDATE hits SET n = hits.n + v.d FROM unnest($1::bigint[], $2::int[]) AS v (id, d) WHERE hits.page = v.id",
				Args: []any{c.keys, c.deltas},
			})
			p.Same(t, twin.Statement{SQL: "SELECT page, n FROM hits ORDER BY page", Mode: twin.Query})
		})
	}
}

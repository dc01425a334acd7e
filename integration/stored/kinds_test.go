package stored

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A function keeps a counter in its bounds, with portions in slots as well: units are neither oversold nor refused
// while there are some.
func TestFunctionBounds(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Config:  "version: 1\nauto_migrate: true\ntables: {shows: {slots: 8, counters: {stock: {min: 0}, taken: {min: 0, max: capacity}, views: {}}}}\n",
			Schema: []string{
				"CREATE TABLE shows (id INT PRIMARY KEY, stock INT NOT NULL, taken INT NOT NULL, capacity INT NOT NULL, views INT NOT NULL)",
				"INSERT INTO shows VALUES (1, 100, 0, 60, 0)",
			},
		})
		install(t, p)
		twin.ExecAll(t, p.Under, "INSERT INTO shows_slots (id, slot, stock, taken, views) VALUES (1, 7, 25, -10, 3)",
			"UPDATE shows SET stock = 75, taken = 10 WHERE id = 1")
		var sold, seats atomic.Int64
		var wg sync.WaitGroup
		for client := range 6 {
			db := p.Under
			wg.Go(func() {
				for range 30 {
					if client < 4 {
						sold.Add(int64(call(t, db, "shows_count", "1, -1, 0, 1")))
						seats.Add(int64(call(t, db, "shows_count", "1, 0, 1, 0")))
						continue
					}
					for _, unit := range []struct {
						q     string
						count *atomic.Int64
					}{
						{"UPDATE shows SET stock = stock - 1 WHERE id = 1 AND stock >= 1", &sold},
						{"UPDATE shows SET taken = taken + 1 WHERE id = 1 AND taken < capacity", &seats},
					} {
						res, err := p.Wrapped.ExecContext(t.Context(), unit.q)
						if err != nil {
							t.Error(err)
							return
						}
						n, _ := res.RowsAffected()
						unit.count.Add(n)
					}
				}
			})
		}
		wg.Wait()
		if sold.Load() != 100 || seats.Load() != 60 {
			t.Errorf("%d of 100 units, %d of 60 seats", sold.Load(), seats.Load())
		}
		want(t, "what is left", twin.Rows(t, p.Under, "SELECT stock, taken FROM shows_totals"), "0 60")
		if n := call(t, p.Under, "shows_count", "1, 5, -60, 0"); n != 1 {
			t.Errorf("%d rows for what is given back", n)
		}
		if n := call(t, p.Under, "shows_count", "1, -6, 0, 0") + call(t, p.Under, "shows_count", "1, 0, -1, 0"); n != 0 {
			t.Errorf("%d rows below zero", n)
		}
		want(t, "given back", twin.Rows(t, p.Wrapped, "SELECT stock, taken FROM shows"), "5 0")
		twin.ExecAll(t, p.Under, "DELETE FROM shows_slots", "UPDATE shows SET stock = 0, taken = 10",
			"INSERT INTO shows_slots (id, slot, stock, taken, views) VALUES (1, 7, 5, -10, 0)")
		if n := call(t, p.Under, "shows_count", "1, 0, -1, 0"); n != 0 {
			t.Errorf("%d rows below zero: the base value is not the total", n)
		}
	})
}

// A companion that is given goes with the count, and what comes last wins wherever it is; one that is NULL stays.
func TestFunctionCompanions(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		stamp := map[string]string{"mysql": "DATETIME(6)", "postgres": "TIMESTAMP"}[dialect]
		p := twin.New(t, twin.Options{
			Dialect: dialect, Params: map[string]string{"mysql": "parseTime=true"}[dialect],
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, counters: {views: {}}, companions: {seen: latest, best: max}}}\n",
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, seen " + stamp + ", best INT NOT NULL)",
				"INSERT INTO posts VALUES (1, 0, NULL, 5)",
			},
		})
		install(t, p)
		session, other := twin.Conn(t, p.Under), twin.Conn(t, p.Under)
		const see = "SELECT views, seen, best FROM posts_totals"
		seen := func(what, is string) {
			t.Helper()
			want(t, what, twin.Rows(t, p.Under, see), is)
			want(t, what+", through slotsql", twin.Rows(t, p.Wrapped, "SELECT views, seen, best FROM posts"), is)
		}
		twin.ExecAll(t, session, "SELECT posts_count(1, 1, NULL, 3)")
		seen("less than the greatest", "1 NULL 5")
		twin.ExecAll(t, session, "SELECT posts_count(1, 1, '2020-01-01 00:00:00', 7)")
		twin.ExecAll(t, other, "SELECT posts_count(1, 1, '2021-01-01 00:00:00', NULL)")
		twin.ExecAll(t, session, "SELECT posts_count(1, 1, NULL, 6)")
		want(t, "the latest", twin.Rows(t, p.Under, see), "4 2021-01-01T00:00:00Z 7")
		twin.ExecAll(t, session, "SELECT posts_count(1, 1, '2019-01-01 00:00:00', NULL)")
		seen("the latest of all", "5 2019-01-01T00:00:00Z 7")
		now := map[string]string{"mysql": "UTC_TIMESTAMP(6)", "postgres": "clock_timestamp()"}[dialect]
		twin.ExecAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views, seen, slotsql_at_seen, best) VALUES (1, 9, 1, '2022-01-01 00:00:00', "+now+", 9)")
		twin.ExecAll(t, session, "SELECT posts_count(1, 1, '2018-01-01 00:00:00', NULL)")
		seen("later than what a slot has", "7 2018-01-01T00:00:00Z 9")
	})
}

// What leaves the range of a slot, or of an unsigned counter, is decided on the total.
func TestFunctionRange(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		unsigned := map[string]string{"mysql": "INT UNSIGNED"}[dialect]
		if unsigned == "" {
			unsigned = "INT"
		}
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Config:  "version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, counters: {views: {}, u: {}}}}\n",
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, u " + unsigned + " NOT NULL)",
				"INSERT INTO posts VALUES (1, 2147483640, 0), (2, 0, 0)",
			},
		})
		install(t, p)
		twin.ExecAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views, u) VALUES (1, 6, -5, 3), (1, 7, 0, 4), (2, 7, 0, 4)")
		for _, args := range []string{"1, 12, 0", "1, 0, -7", "2, 0, -4"} {
			if n := call(t, p.Under, "posts_count", args); n != 1 {
				t.Errorf("posts_count(%s): %d rows", args, n)
			}
		}
		want(t, "totals", twin.Rows(t, p.Under, "SELECT views, u FROM posts_totals ORDER BY id"), "2147483647 0\n0 0")
		beyond := []string{"1, 1, 0", "1, 3000000000, 0"}
		if dialect == "mysql" {
			beyond = append(beyond, "1, 0, -1")
		}
		for _, args := range beyond {
			if _, err := p.Under.ExecContext(t.Context(), "SELECT posts_count("+args+")"); err == nil {
				t.Errorf("posts_count(%s): no error", args)
			}
		}
		want(t, "totals", twin.Rows(t, p.Under, "SELECT views, u FROM posts_totals ORDER BY id"), "2147483647 0\n0 0")
	})
}

// A composite key, a string in it, and a definer's rights.
func TestFunctionKey(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Config:  "version: 1\nauto_migrate: true\ntables: {days: {slots: 8, counters: {hits: {}}}}\n",
			Schema: []string{
				"CREATE TABLE days (page VARCHAR(40), day DATE, hits DECIMAL(20,2) NOT NULL, PRIMARY KEY (page, day))",
				"INSERT INTO days VALUES ('a', '2026-01-01', 0), ('b', '2026-01-01', 0)",
			},
		})
		install(t, p)
		stored := slotsql.Stored{Functions: true, Definer: true}
		if created, err := slotsql.MigrateStored(t.Context(), twin.Connector(t, p), stored); err != nil || len(created) != 1 {
			t.Fatal(created, err)
		}
		call(t, p.Under, "days_count", "'a', '2026-01-01', 1.25")
		call(t, p.Under, "days_count", "'b', '2026-01-01', -2")
		if n := call(t, p.Under, "days_count", "'c', '2026-01-01', 1"); n != 0 {
			t.Errorf("%d rows of a missing row", n)
		}
		want(t, "totals", twin.Rows(t, p.Under, "SELECT page, hits FROM days_totals ORDER BY page"), "a 1.25\nb -2.00")
	})
}

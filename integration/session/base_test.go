package session

import "testing"

// Queries see base values where the table or the statement asks for that, and
// only there; writes never do.
func TestReadsBase(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		const exact = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"
		const base = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, reads: base}}\n"
		one, other := wrapped(t, p, exact), wrapped(t, p, base)
		for range 2 {
			execAll(t, one, "UPDATE posts SET views = views + 1 WHERE id = 1")
		}
		const q = "SELECT views FROM posts WHERE id = 1"
		for i, c := range []struct {
			query string
			want  int
		}{{q, 12}, {"/* slotsql: base */ " + q, 10}, {"/* slotsql: off */ " + q, 10}} {
			var n, m int
			if err := one.QueryRow(c.query).Scan(&n); err != nil || n != c.want {
				t.Errorf("%d: %s: %d, %v", i, c.query, n, err)
			}
			if err := other.QueryRow(c.query).Scan(&m); err != nil || m != 10 {
				t.Errorf("%d: reads: base: %s: %d, %v", i, c.query, m, err)
			}
		}
		execAll(t, other, "CREATE TABLE made AS "+q)
		var n int
		if err := other.QueryRow("SELECT views FROM made").Scan(&n); err != nil || n != 12 {
			t.Errorf("a write has read %d, %v", n, err)
		}
	})
}

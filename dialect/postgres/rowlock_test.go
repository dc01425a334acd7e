package postgres

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// TestCertain: an increment is certain of its lock beside the weak locks of others, and
// whatever its own transaction has done; not beside an update, or a lock that marks one.
func TestCertain(t *testing.T) {
	t.Parallel()
	const update = "UPDATE posts SET title = 'x' WHERE id = 1"
	for name, c := range map[string]struct {
		other, own []string
		rows       int64
	}{
		"alone":                         {nil, nil, 1},
		"beside an increment":           {[]string{""}, nil, 1},
		"beside FOR SHARE":              {[]string{"SELECT 1 FROM posts WHERE id = 1 FOR SHARE"}, nil, 1},
		"beside a marked row":           {[]string{"SELECT 1 FROM posts WHERE id = 1 FOR NO KEY UPDATE"}, nil, 0},
		"beside an update":              {[]string{update}, nil, 0},
		"beside an update that counted": {[]string{"", update}, nil, 0},
		"beside a subtransaction":       {[]string{"SAVEPOINT a", ""}, nil, 1},
		"beside one that updates":       {[]string{"SAVEPOINT a", update}, nil, 0},
		"beside one that is undone":     {[]string{"SAVEPOINT a", update, "ROLLBACK TO a"}, nil, 1},
		"again":                         {nil, []string{""}, 1},
		"again, beside an increment":    {[]string{""}, []string{""}, 1},
		"in a subtransaction":           {nil, []string{"SAVEPOINT a"}, 1},
		"in one, beside an increment":   {[]string{""}, []string{"SAVEPOINT a"}, 1},
		"after one of another row":      {[]string{""}, []string{"SAVEPOINT a", "UPDATE posts SET title = 'x' WHERE id = 2", "RELEASE a"}, 1},
		// Nothing tells then that the lock is its own.
		"after a subtransaction":          {nil, []string{"SAVEPOINT a", "", "RELEASE a"}, 0},
		"after one, beside an increment":  {[]string{""}, []string{"SAVEPOINT a", "", "RELEASE a"}, 0},
		"after one that is undone":        {[]string{""}, []string{"SAVEPOINT a", "", "ROLLBACK TO a"}, 1},
		"after FOR UPDATE":                {nil, []string{"SELECT 1 FROM posts WHERE id = 1 FOR UPDATE"}, 1},
		"after FOR UPDATE in one":         {nil, []string{"SAVEPOINT a", "SELECT 1 FROM posts WHERE id = 1 FOR UPDATE", "RELEASE a"}, 0},
		"after an update":                 {nil, []string{update}, 1},
		"after one beside increments":     {[]string{""}, []string{update}, 1},
		"after an update and increments":  {nil, []string{"", update, ""}, 1},
		"after updates in subtransaction": {[]string{""}, []string{update, "SAVEPOINT a", update}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, _, tb := pair(t)
			tb.Counter.Layout = schema.LayoutJournal
			do := func(s *session, slot int, statements []string) {
				for _, sql := range statements {
					if sql == "" {
						sql = incr(tb, "id = 1", slot, "views", "1")
					}
					s.exec(sql)
				}
			}
			a.exec("BEGIN")
			do(a, 1, c.other)
			b.exec("BEGIN")
			do(b, 2, c.own)
			if n := b.exec(incr(tb, "id = 1", 2, "views", "1")); n != c.rows {
				t.Errorf("%d rows, want %d", n, c.rows)
			}
		})
	}
}

// TestCertainAfterLock: the server asks whether the lock is certain of the row that it has
// locked, whatever way it finds the row.
func TestCertainAfterLock(t *testing.T) {
	t.Parallel()
	s := database(t, posts, "INSERT INTO posts SELECT i, 's' || i, 't', 0, 0, 0, 0 FROM generate_series(1, 2000) AS g(i)", "ANALYZE posts")()
	tb := s.counter("posts", []string{"id"}, 4, "views", "likes")
	s.migrate(tb)
	tb.Counter.Layout = schema.LayoutJournal
	for _, where := range []string{"p.id = 1", "p.slug = 's1'", "p.id = 1 AND p.title IN (SELECT title FROM posts)"} {
		for _, setting := range []string{"SET enable_seqscan = on", "SET enable_indexscan = off", "SET enable_nestloop = off", "SET enable_tidscan = off", "RESET ALL"} {
			s.exec(setting)
			rows, err := s.Query(t.Context(), "EXPLAIN "+incr(tb, where, 0, "views", "1"))
			if err != nil {
				t.Fatal(err)
			}
			var plan strings.Builder
			for _, r := range rows {
				plan.WriteString(r[0].(string) + "\n")
			}
			sql := plan.String()
			scan, filter, lock := strings.Index(sql, "Subquery Scan on "+lockedAlias), strings.Index(sql, "Filter: (SubPlan"), strings.Index(sql, "LockRows")
			if scan < 0 || filter < scan || lock < filter {
				t.Errorf("%s, %s: the row is not looked at where it has been locked:\n%s", where, setting, sql)
			}
		}
	}
}

package session

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A SQLite database that may only be read, by its DSN or the session's own setting,
// answers through views as with the plain driver and refuses writes as that. Slots
// that cannot be folded are an error that is SQLite's own and says what to do.
func TestReadOnlyDatabase(t *testing.T) {
	reads := []string{
		"SELECT id, views FROM ranked ORDER BY id",
		"SELECT views FROM best",
		"SELECT views FROM posts ORDER BY id",
		"SELECT SUM(views) FROM posts",
	}
	writes := []string{
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET views = 7 WHERE id = 1",
		"DELETE FROM posts",
		"INSERT INTO posts VALUES (3, 1)",
		"INSERT INTO posts SELECT id + 10, views FROM ranked",
	}
	for name, c := range map[string]struct {
		params string
		setup  []string
	}{
		"mode=ro":     {params: "mode=ro"},
		"immutable":   {params: "immutable=1"},
		"query_only":  {params: "_pragma=query_only(1)"},
		"pragma":      {params: "_pragma=busy_timeout(60000)", setup: []string{"PRAGMA query_only = 1"}},
		"deferred":    {params: "mode=ro", setup: []string{"BEGIN", "SELECT COUNT(*) FROM posts"}},
		"wal":         {params: "mode=ro&_pragma=query_only(1)", setup: []string{"BEGIN"}},
		"transaction": {params: "_pragma=query_only(1)", setup: []string{"BEGIN"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, slots := range []bool{false, true} {
				p := readOnlyPair(t, "sqlite", "_pragma=busy_timeout(60000)")
				countIn(t, p)
				filled(t, p)
				if !slots {
					p.Same(t, twin.Statement{SQL: "SELECT * FROM ranked"})
				}
				p.Same(t, twin.Statement{SQL: "PRAGMA wal_checkpoint(TRUNCATE)"})
				q := reopened(t, p, c.params)
				one := pinned(t, q)
				for _, query := range c.setup {
					one.same(t, twin.Statement{SQL: query})
				}
				for i, query := range reads {
					if slots && i < 2 {
						out := twin.Run(t.Context(), one.wrapped, twin.Statement{SQL: query})
						if out.Err == nil || !strings.Contains(out.Err.Error(), "select from the table itself") ||
							!strings.HasPrefix(twin.Class(out.Err), "SQLite 8") {
							t.Errorf("%s: %v (%s)", query, out.Err, twin.Class(out.Err))
						}
						continue
					}
					one.same(t, twin.Statement{SQL: query})
				}
				for _, query := range writes {
					one.same(t, twin.Statement{SQL: query})
				}
				one.same(t, twin.Statement{SQL: "PRAGMA query_only"})
			}
		})
	}
}

// reopened is a pair on the same databases, opened with more parameters.
func reopened(t *testing.T, p *twin.Pair, params string) *twin.Pair {
	t.Helper()
	q := &twin.Pair{
		Dialect:    p.Dialect,
		PlainDSN:   p.PlainDSN + "&" + params,
		WrappedDSN: p.WrappedDSN + "&" + params,
		ConfigPath: p.ConfigPath,
	}
	var err error
	if q.Plain, err = sql.Open(twin.Plain[p.Dialect], q.PlainDSN); err != nil {
		t.Fatal(err)
	}
	if q.Wrapped, err = twin.OpenWrapped(twin.Plain[p.Dialect], q.WrappedDSN, q.ConfigPath); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = q.Plain.Close(), q.Wrapped.Close() })
	return q
}

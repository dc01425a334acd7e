package session

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// syncBuffer is a buffer that loggers of several goroutines may write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// statsOf returns the counts of a class of statements on a table, summed over
// their reasons.
func statsOf(table, class string) (n slotsql.StatementStats) {
	for _, s := range slotsql.Stats() {
		if len(s.Tables) == 1 && s.Tables[0] == table && s.Class == class {
			n.Statements, n.Drains, n.Fallbacks, n.Reason = n.Statements+s.Statements, n.Drains+s.Drains, n.Fallbacks+s.Fallbacks, s.Reason
			n.Scope = s.Scope
		}
	}
	return n
}

// on_drain: warn runs a drain and logs it with class and reason; error refuses
// the statement, which then has done nothing. Each is counted.
func TestOnDrain(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		table := "drained_" + dialect // Stats counts for the whole process
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Open:    twin.OpenPlain,
			Schema: []string{
				"CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, views BIGINT)",
				"INSERT INTO " + table + " VALUES (1, 10), (2, NULL)",
			},
		})
		open := func(on string, log *syncBuffer) *sql.DB {
			t.Helper()
			c, err := slotsql.Parse(
				[]byte(golden.WithSlots("version: 1\nauto_migrate: true\ntables: {"+table+": {on_drain: "+on+", counters: {views: {}}}}")),
				"slotsql.yaml",
			)
			if err != nil {
				t.Fatal(err)
			}
			db, err := slotsql.Open(
				twin.Wrapped[dialect],
				p.WrappedDSN,
				slotsql.WithConfig(c),
				slotsql.WithLogger(slog.New(slog.NewTextHandler(log, nil))),
			)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			return db
		}

		var log syncBuffer
		db := open("warn", &log)
		execAll(t, db, "UPDATE "+table+" SET views = views + 1 WHERE id = 1")
		if log.String() != "" {
			t.Errorf("an increment is logged: %s", log.String())
		}
		execAll(t, db, "UPDATE "+table+" SET views = 7 WHERE id = 1")
		if s := log.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "table="+table) || !strings.Contains(s, "class=drain") ||
			!strings.Contains(s, `reason="the statement sets counter views"`) || !strings.Contains(s, `scope="rows of a unique key"`) {
			t.Errorf("logged %s", s)
		}
		execAll(t, db, "UPDATE "+table+" SET views = views + 1 WHERE id = 2", "SELECT views FROM "+table)
		if s := log.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "class=additive") || !strings.Contains(s, "fell back") {
			t.Errorf("logged %s", s)
		}
		if s := statsOf(table, "additive"); s.Statements != 2 || s.Fallbacks != 1 || s.Drains != 1 {
			t.Errorf("increments: %+v", s)
		}
		if s := statsOf(table, "drain"); s.Statements != 1 || s.Drains != 1 || s.Fallbacks != 0 ||
			s.Reason != "the statement sets counter views" || s.Scope != "rows of a unique key" {
			t.Errorf("drains: %+v", s)
		}
		execAll(t, db, "UPDATE "+table+" SET views = 7 WHERE id < 2", "UPDATE "+table+" SET views = 7 WHERE id + 0 < 2", "DELETE FROM "+table+" WHERE views < -1")
		scopes := map[string]int{}
		for _, s := range slotsql.Stats() {
			if s.Class == "drain" && len(s.Tables) == 1 && s.Tables[0] == table {
				scopes[s.Scope] += int(s.Statements)
			}
		}
		if wide := map[string]int{"rows of a unique key": 1, "all rows": 3}; !maps.Equal(scopes, wide) {
			t.Errorf("drains by scope: %v, want %v", scopes, wide)
		}
		if s := statsOf(table, "read"); s.Statements != 1 || s.Drains != 0 {
			t.Errorf("reads: %+v", s)
		}

		var quiet syncBuffer
		strict := open("error", &quiet)
		execAll(t, strict, "UPDATE "+table+" SET views = views + 1 WHERE id = 1")
		var refused *slotsql.DrainError
		for _, q := range []string{"UPDATE " + table + " SET views = 0", "UPDATE " + table + " SET views = 0 WHERE id = 1"} {
			if _, err := strict.ExecContext(t.Context(), q); !errors.As(err, &refused) || refused.Table != table || refused.Reason == "" {
				t.Errorf("%s: %v", q, err)
			}
		}
		var n int
		if err := strict.QueryRowContext(t.Context(), "SELECT views FROM "+table+" WHERE id = 1").Scan(&n); err != nil || n != 8 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// A table with UPDATE triggers is slotted when its configuration allows that they
// may fire later: they then fire for the sum that a drain folds.
func TestDeferTriggers(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		schema := []string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views BIGINT NOT NULL)",
			"INSERT INTO posts VALUES (1, 10)",
			"CREATE TABLE audit (was BIGINT, now BIGINT)",
		}
		schema = append(schema, map[string][]string{
			"mysql":  {"CREATE TRIGGER posts_audit AFTER UPDATE ON posts FOR EACH ROW INSERT INTO audit VALUES (OLD.views, NEW.views)"},
			"sqlite": {"CREATE TRIGGER posts_audit AFTER UPDATE ON posts BEGIN INSERT INTO audit VALUES (OLD.views, NEW.views); END"},
			"postgres": {"CREATE FUNCTION audited() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit VALUES (OLD.views, NEW.views); RETURN NULL; END'",
				"CREATE TRIGGER posts_audit AFTER UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION audited()"},
		}[dialect]...)
		for key, want := range map[string][2]int{"": {3, 3}, "defer_triggers: true, ": {0, 1}} {
			p := twin.New(
				t,
				twin.Options{
					Dialect: dialect,
					Schema:  schema,
					Config:  "version: 1\nauto_migrate: true\ntables: {posts: {" + key + "counters: {views: {}}}}",
				},
			)
			number := func(q string) (n int) {
				t.Helper()
				if err := p.Wrapped.QueryRowContext(t.Context(), q).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			for range 3 {
				p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
			}
			p.Same(t, twin.Statement{SQL: "SELECT id, views FROM posts"})
			if n := number("SELECT COUNT(*) FROM audit"); n != want[0] {
				t.Errorf("%q: the trigger has fired %d times, not %d", key, n, want[0])
			}
			p.Same(t, twin.Statement{SQL: "DELETE FROM posts WHERE id = 1 AND views = 1"}) // drains
			if n := number("SELECT COUNT(*) FROM audit"); n != want[1] {
				t.Errorf("%q: after a drain the trigger has fired %d times, not %d", key, n, want[1])
			}
			if n := number("SELECT MAX(now) FROM audit"); n != 13 {
				t.Errorf("%q: it has seen %d", key, n)
			}
		}
	})
}

// A statement that calls a routine which the configuration names meets totals,
// and what the routine sets holds. (SQLite has no routines.)
func TestRoutines(t *testing.T) {
	routines := map[string][]string{
		"mysql": {
			"CREATE PROCEDURE double_views(k INT) UPDATE posts SET views = views * 2 WHERE id = k",
			"CREATE FUNCTION views_of(k INT) RETURNS BIGINT READS SQL DATA RETURN (SELECT views FROM posts WHERE id = k)",
		},
		"postgres": {
			"CREATE PROCEDURE double_views(k int) LANGUAGE sql AS 'UPDATE posts SET views = views * 2 WHERE id = k'",
			"CREATE FUNCTION views_of(k int) RETURNS bigint LANGUAGE sql AS 'SELECT views FROM posts WHERE id = k'",
		},
	}
	for dialect, statements := range routines {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: append(
					[]string{
						"CREATE TABLE posts (id INTEGER PRIMARY KEY, views BIGINT NOT NULL)",
						"INSERT INTO posts VALUES (1, 10), (2, 20)",
					},
					statements...),
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {routines: [double_views, views_of], counters: {views: {}}}}",
			})
			for _, call := range []string{
				"CALL double_views(1)", "call Double_Views (1)", "SELECT views_of(1), views_of(2)", "SELECT 1 WHERE views_of(2) > 20",
				"/* views */ CALL double_views(2)", "SELECT views FROM posts WHERE views = views_of(1)",
			} {
				for _, q := range []string{"UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 3 WHERE id = 2", call, "SELECT id, views FROM posts ORDER BY id"} {
					p.Same(t, twin.Statement{SQL: q})
				}
			}
			ds, err := p.FinalTables(t.Context())
			if err != nil || len(ds) > 0 {
				t.Error(ds, err)
			}
		})
	}
}

package rollup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A base value that a roll-up brings to the end of the range in which it takes
// slots keeps none: the next increment is judged by the base row, to the very
// end of the column's range.
func TestEndOfRange(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		column, start := "INT", "1073741820" // half of it is 1073741824
		if dialect == "sqlite" {
			column, start = "INTEGER", "4611686018427387900"
		}
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views " + column + " NOT NULL)", "INSERT INTO posts VALUES (1, " + start + ")",
		}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4}}\n"})
		const q = "SELECT views FROM posts"
		count := func(n string) {
			t.Helper()
			query := "UPDATE posts SET views = views + " + n + " WHERE id = 1"
			st := twin.Statement{SQL: query}
			for i, d := range twin.Compare(twin.Run(t.Context(), p.Plain, st), twin.Run(t.Context(), p.Wrapped, st)) {
				t.Errorf("%d: %s", i, d)
			}
			if got, want := rows(t, p.Wrapped, q), rows(t, p.Plain, q); got != want {
				t.Errorf("after %s: %s, want %s", n, got, want)
			}
		}
		count("3")
		if n := rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots"); n != "1" {
			t.Fatalf("%s slots", n)
		}
		rollUp(t, p)
		if n := rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots"); n != fmt.Sprint(idle(dialect, 1)) {
			t.Errorf("%s slots while the base value takes them", n)
		}
		count("1000")
		rollUp(t, p)
		if n := rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots"); n != "0" {
			t.Errorf("%s slots when the base value takes none", n)
		}
		count("5")
		if dialect != "sqlite" { // where the sum becomes REAL
			count("1073740000")
			count("2000000000") // an error, like plain's
		}
		if n := rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots"); n != "0" {
			t.Errorf("%s slots", n)
		}
	})
}

// A base value that another session has set to NULL swallows what slots hold, as a
// drain's does: the total is NULL.
func TestNullBase(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT)", "INSERT INTO posts VALUES (1, 5), (2, 5)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 2")
		execAll(t, p.Under, "UPDATE posts SET views = NULL WHERE id = 1")
		for range 2 {
			rollUp(t, p)
			if got := rows(t, p.Wrapped, "SELECT views FROM posts ORDER BY id"); got != "NULL\n6" {
				t.Errorf("%s", got)
			}
			if n := rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots WHERE id = 1"); n != "0" {
				t.Errorf("%s slots of a NULL", n)
			}
		}
		execAll(
			t,
			p.Wrapped,
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"UPDATE posts SET views = COALESCE(views, 0) + 1 WHERE id = 2",
		)
		if got := rows(t, p.Wrapped, "SELECT views FROM posts ORDER BY id"); got != "NULL\n7" {
			t.Errorf("%s", got)
		}
	})
}

// Slot rows that have lost their base row, which a foreign key prevents, are
// deleted; a row that comes back has none of them. Those of other rows stay.
func TestOrphans(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE posts (a INT NOT NULL, b VARCHAR(10) NOT NULL, views BIGINT NOT NULL, PRIMARY KEY (a, b))",
			"INSERT INTO posts VALUES (1, 'x', 5), (1, 'y', 5), (2, 'x', 5)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
		for _, where := range []string{"a = 1 AND b = 'x'", "a = 1 AND b = 'y'", "a = 2 AND b = 'x'"} {
			together(t, p, "UPDATE posts SET views = views + 1 WHERE "+where, "UPDATE posts SET views = views + 1 WHERE "+where)
		}
		c, err := p.Under.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		statements := []string{"DELETE FROM posts WHERE b = 'x'"}
		switch dialect {
		case "mysql":
			statements = append([]string{"SET foreign_key_checks = 0"}, statements...)
		case "postgres":
			statements = append([]string{"SET session_replication_role = replica"}, statements...) // no triggers, which foreign keys are
		case "sqlite":
			statements = append(
				strings.Split(
					strings.ReplaceAll(
						rows(t, c, "SELECT 'DROP TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger'"),
						"DROP TRIGGER ",
						`DROP TRIGGER `,
					),
					"\n",
				),
				statements...)
		}
		for _, q := range statements {
			if _, err := c.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		var want, deleted int
		for _, tr := range rollUp(t, p).Tables {
			deleted += tr.Orphans
			want = 4
			if dialect == "sqlite" {
				want = 2
			}
		}
		if deleted != want {
			t.Errorf("%d orphans deleted, want %d", deleted, want)
		}
		if got := rows(t, p.Under, "SELECT DISTINCT a, b FROM posts_slots"); got != map[bool]string{true: "1 y"}[dialect != "mysql"] {
			t.Errorf("slots left of %s", got)
		}
		if got := rows(t, p.Under, "SELECT * FROM posts"); got != "1 y 7" {
			t.Errorf("%s", got)
		}
	})
}

// What others have locked is left out, and moved by the next pass.
func TestLocked(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, lock := range []string{"SELECT * FROM posts WHERE id = 2 FOR UPDATE", "SELECT * FROM posts_slots WHERE id = 2 FOR UPDATE"} {
			t.Run(lock, func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
					"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT)", "INSERT INTO posts VALUES (1, 0), (2, 0), (3, 0)",
				}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
				for _, id := range []string{"1", "2", "3"} {
					execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = "+id)
				}
				tx, err := p.Under.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				rows(t, tx, lock)
				const q = "SELECT views FROM posts ORDER BY id"
				if tr := rollUp(t, p).Tables[0]; tr.Moved != 2 || tr.Skipped != 1 || tr.Errors+tr.Conflicts > 0 {
					t.Errorf("%+v", tr)
				}
				if got := rows(t, p.Under, q); got != "1\n0\n1" {
					t.Errorf("%s", got)
				}
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
				if tr := rollUp(t, p).Tables[0]; tr.Moved != 1 || tr.Skipped > 0 || tr.Deleted != idle(dialect, 2) {
					t.Errorf("%+v", tr)
				}
				if got := rows(t, p.Under, q); got != "1\n1\n1" {
					t.Errorf("%s", got)
				}
			})
		}
	})
}

// With `rollup:` in the configuration the application rolls up by itself, until
// its database is closed.
func TestInsideTheApplication(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		stats := func() (out slotsql.RollUpStats) {
			for _, s := range slotsql.RollUps() {
				if s.Dialect == dialect && s.Table == "inside_"+dialect {
					out = s
				}
			}
			return out
		}
		before := stats()
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE inside_" + dialect + " (id INT PRIMARY KEY, views BIGINT NOT NULL)",
			"INSERT INTO inside_" + dialect + " VALUES (1, 0)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {inside_" + dialect + ": {counters: {views: {}}}}\nrollup: {interval: 5ms, idle: 10ms, batch: 10}\n"})
		for range 3 {
			execAll(t, p.Wrapped, "UPDATE inside_"+dialect+" SET views = views + 1 WHERE id = 1")
			for rows(t, p.Under, "SELECT COUNT(*) FROM inside_"+dialect+"_slots") != "0" {
				time.Sleep(time.Millisecond)
			}
		}
		if got := rows(t, p.Under, "SELECT views FROM inside_"+dialect); got != "3" {
			t.Errorf("a base value of %s", got)
		}
		for stats().Lag == 0 { // a pass that deletes slots may not have ended
			time.Sleep(time.Millisecond)
		}
		if err := p.Wrapped.Close(); err != nil {
			t.Error(err)
		}
		s := stats()
		if moved, deleted := s.Moved-before.Moved, s.Deleted-before.Deleted; moved != 3 || deleted != uint64(idle(dialect, 3)) {
			t.Errorf("%d moved, %d deleted", moved, deleted)
		}
		if s.Passes-before.Passes < 3 || s.Lag != 0 {
			t.Errorf("%+v, before it %+v", s, before)
		}
		if dialect != "sqlite" { // the lease has been given back
			if got := rows(t, p.Under, "SELECT holder FROM slotsql_leases WHERE name = 'roll-up'"); got != "" {
				t.Errorf("%q has the lease", got)
			}
		}
	})
}

// A worker that is stopped while it compares the tables with what it knows loses its
// connection, and gives the lease back all the same. Most of these short passes
// consist of that comparison.
func TestStoppedInAPass(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)",
		}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
		c := twin.Connector(t, p)
		for i := range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			passes := 0
			o := slotsql.RollUpOptions{Interval: time.Millisecond, Pass: func(slotsql.RollUpReport, error) {
				if passes++; passes == 3 {
					time.AfterFunc(time.Millisecond+time.Duration(i)*100*time.Microsecond, cancel)
				}
			}}
			if err := slotsql.RunRollUp(ctx, c, o); err != nil {
				t.Error(err)
			}
			if got := rows(t, p.Under, "SELECT holder FROM slotsql_leases WHERE name = 'roll-up'"); got != "" {
				t.Fatalf("%q has the lease", got)
			}
		}
	})
}

// A worker that is stopped before it has begun has nothing to report.
func TestStoppedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)"},
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := slotsql.RunRollUp(ctx, twin.Connector(t, p), slotsql.RollUpOptions{}); err != nil {
			t.Error(err)
		}
	})
}

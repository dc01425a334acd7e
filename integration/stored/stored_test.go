// Package stored holds the tests of what slotsql stores in a database: functions that count, and views of
// totals, for triggers and for programs without slotsql.
package stored

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// install creates the slot tables, functions and views.
func install(t testing.TB, p *twin.Pair) {
	t.Helper()
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	what := slotsql.Stored{Functions: p.Dialect != "sqlite", Views: true}
	if _, err := slotsql.MigrateStored(t.Context(), twin.Connector(t, p), what); err != nil {
		t.Fatal(err)
	}
}

// call calls a function in a session or transaction, and returns how many rows it says it has affected.
func call(t testing.TB, on interface {
	QueryRow(query string, args ...any) *sql.Row
}, function, args string) (n int) {
	t.Helper()
	if err := on.QueryRow(fmt.Sprintf("SELECT %s(%s)", function, args)).Scan(&n); err != nil {
		t.Fatalf("%s(%s): %v", function, args, err)
	}
	return n
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

const posts = "CREATE TABLE posts (id BIGINT PRIMARY KEY, title VARCHAR(40), views INT NOT NULL DEFAULT 0, likes INT)"

var layouts = map[string]string{
	"dedicated": "{slots: 8, counters: {views: {}, likes: {}}}",
	"shared":    "{slots: 8, layout: shared, counters: {views: {record_type: 1}, likes: {record_type: 2}}}",
	"journal":   "{layout: journal, counters: {views: {}, likes: {}}}",
}

const totals = "SELECT id, views, likes FROM posts_totals ORDER BY id"

func pair(t testing.TB, dialect, layout, params string) *twin.Pair {
	t.Helper()
	p := twin.New(t, twin.Options{
		Dialect: dialect, Params: params,
		Config: "version: 1\nauto_migrate: true\ntables: {posts: " + layouts[layout] + "}\n",
		Schema: []string{posts, "INSERT INTO posts VALUES (1, 'a', 10, 1), (2, 'b', 20, NULL)"},
	})
	install(t, p)
	return p
}

// each runs a test for each layout on each server.
func each(t *testing.T, f func(t *testing.T, dialect, layout string)) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for layout := range layouts {
			t.Run(layout, func(t *testing.T) { f(t, dialect, layout) })
		}
	})
}

// A function counts a row that no other transaction holds, returns 0 where there is none, and leaves NULL as it is. What it
// has done a rollback undoes.
func TestFunction(t *testing.T) {
	each(t, func(t *testing.T, dialect, layout string) {
		p := pair(t, dialect, layout, "")
		count := func(args string, rows int) {
			t.Helper()
			if n := call(t, p.Under, "posts_count", args); n != rows {
				t.Errorf("posts_count(%s): %d rows, want %d", args, n, rows)
			}
		}
		count("1, 5, -1", 1)
		count("1, 0, 0", map[string]int{"mysql": 0, "postgres": 1}[dialect]) // rows changed, and rows found
		count("3, 1, 1", 0)
		count("NULL, 1, 1", 0)
		count("2, 1, 1", 1)
		tx, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		call(t, tx, "posts_count", "1, 100, 100")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		want(t, "totals", twin.Rows(t, p.Under, totals), "1 15 0\n2 21 NULL")
		want(t, "through slotsql", twin.Rows(t, p.Wrapped, totals), "1 15 0\n2 21 NULL")
		if _, err := p.Under.ExecContext(t.Context(), "SELECT posts_count(1, NULL, 0)"); err == nil {
			t.Error("NULL was added")
		}
	})
}

// Beside a transaction that holds the base row another one counts in its slot, without waiting. What it
// counts is in the totals, for everybody, and a drain finds it.
func TestFunctionBesideHolder(t *testing.T) {
	each(t, func(t *testing.T, dialect, layout string) {
		p := pair(t, dialect, layout, map[string]string{"mysql": "innodb_lock_wait_timeout=1", "postgres": "lock_timeout=1s"}[dialect])
		session, holder := twin.Conn(t, p.Under), twin.Conn(t, p.Under)
		hold := "SELECT 1 FROM posts WHERE id = 1 LOCK IN SHARE MODE" // as a row that refers to it does
		if dialect == "postgres" {
			hold = "SELECT 1 FROM posts WHERE id = 1 FOR SHARE"
			if layout != "journal" { // whose increments wait for an UPDATE of the row, not for each other
				hold = "UPDATE posts SET title = 'held' WHERE id = 1"
				twin.ExecAll(t, holder, "BEGIN", hold)
				done := make(chan error, 1)
				go func() { // the first call waits, and makes the slot
					_, err := session.ExecContext(t.Context(), "SET lock_timeout = 0; SELECT posts_count(1, 1, 1)")
					done <- err
				}()
				p.UntilBlocked(t, done)
				twin.ExecAll(t, holder, "COMMIT", "SELECT posts_count(1, -1, -1)")
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				twin.ExecAll(t, session, "SET lock_timeout = '1s'")
			}
		}
		twin.ExecAll(t, holder, "BEGIN", hold)
		twin.ExecAll(t, session, "SELECT posts_count(1, 5, 7)")
		twin.ExecAll(t, holder, "COMMIT")
		want(t, "the base row", twin.Rows(t, p.Under, "SELECT views, likes FROM posts WHERE id = 1"), "10 1")
		want(t, "totals", twin.Rows(t, p.Under, totals), "1 15 8\n2 20 NULL")
		want(t, "through slotsql", twin.Rows(t, p.Wrapped, "SELECT views, likes FROM posts WHERE id = 1"), "15 8")
		want(t, "the view through slotsql", twin.Rows(t, p.Wrapped, totals), "1 15 8\n2 20 NULL")
		twin.ExecAll(t, p.Wrapped, "UPDATE posts SET views = 0 WHERE id = 1")
		want(t, "after a drain", twin.Rows(t, p.Under, totals), "1 0 8\n2 20 NULL")
	})
}

// The UPDATE of a trigger becomes a call, which counts as the UPDATE does. What is no increment by the key stays as it is, with
// the reason.
func TestTriggerDDL(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := pair(t, dialect, "dedicated", "")
		twin.ExecAll(t, p.Under, "CREATE TABLE comments (id INT PRIMARY KEY, post_id BIGINT NOT NULL, note VARCHAR(20))")
		twin.ExecAll(t, p.Under, triggers[dialect]...)
		comments := []string{
			"UPDATE posts SET likes = 5 WHERE id = 1", "INSERT INTO comments VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 3, 'c')", "DELETE FROM comments WHERE id = 2",
		}
		twin.ExecAll(t, p.Under, comments...)
		plain := twin.Rows(t, p.Under, totals)
		ddl, err := slotsql.TriggerDDL(t.Context(), twin.Connector(t, p))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, p, "triggers", ddl)
		for _, statement := range ddl {
			if code := regexp.MustCompile(`(?m)^-- .*$`).ReplaceAllString(statement, ""); strings.TrimSpace(code) != "" {
				twin.ExecAll(t, p.Under, statement)
			}
		}
		twin.ExecAll(t, p.Under, "DELETE FROM comments", "UPDATE posts SET title = CASE WHEN id = 1 THEN 'a' ELSE 'b' END, views = 10 * id, likes = NULL")
		twin.ExecAll(t, p.Under, comments...)
		want(t, "counted by calls", twin.Rows(t, p.Under, totals), plain)
	})
}

var update = flag.Bool("update", false, "rewrite the files of testdata")

// mark is a hash of a definition, the name of its database included.
var mark = regexp.MustCompile(`slotsql_made_[0-9a-f]{8}`)

// golden compares statements with a file, but for the name of the database.
func golden(t testing.TB, p *twin.Pair, name string, ddl []string) {
	t.Helper()
	database := map[string]string{"mysql": "SELECT DATABASE()", "postgres": "SELECT current_database()", "sqlite": "SELECT 'no database'"}[p.Dialect]
	text := strings.ReplaceAll(strings.Join(ddl, ";\n")+";\n", twin.Rows(t, p.Under, database), "app")
	text = mark.ReplaceAllString(text, "slotsql_made_00000000")
	path := filepath.Join("testdata", p.Dialect+"-"+name+".sql")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != text {
		t.Errorf("%s is not what is written now: run go test ./integration/stored -update, and look at the difference\n%s", path, text)
	}
}

var triggers = map[string][]string{
	"postgres": {
		`CREATE FUNCTION commented() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  n integer := 2;
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE posts SET views = views + n, title = title WHERE id = NEW.post_id;
    UPDATE posts SET views = posts.views + n, likes = likes - 1 WHERE id = NEW.post_id;
    UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id = NEW.post_id;
    RETURN NEW;
  END IF;
  UPDATE posts SET views = views - 1 WHERE posts.id = OLD.post_id;
  UPDATE posts SET title = 'x' WHERE id = OLD.post_id;
  RETURN OLD;
END $$`,
		"CREATE TRIGGER commented AFTER INSERT OR DELETE ON comments FOR EACH ROW EXECUTE FUNCTION commented()",
		"CREATE FUNCTION counted(p bigint) RETURNS void LANGUAGE sql AS $$ UPDATE posts SET views = views + 1 WHERE id = p $$",
		"CREATE RULE commenting AS ON UPDATE TO comments DO ALSO UPDATE posts SET views = views + 1 WHERE id = NEW.post_id",
	},
	"mysql": {
		"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW UPDATE posts SET views = views + 1 WHERE id = NEW.post_id",
		`CREATE TRIGGER uncommented AFTER DELETE ON comments FOR EACH ROW
BEGIN
  DECLARE n, m INT DEFAULT 2;
  UPDATE posts SET views = views - n, likes = posts.likes + 1 WHERE posts.id = OLD.post_id;
  UPDATE posts SET views = GREATEST(views - 1, 0) WHERE id = OLD.post_id;
END`,
		`CREATE PROCEDURE counted(p BIGINT) BEGIN UPDATE posts SET likes = likes + 1 WHERE id = p; END`,
	},
}

// A transaction sees what it has counted itself, through slotsql as well, in the table and in the view.
func TestOwnCounts(t *testing.T) {
	each(t, func(t *testing.T, dialect, layout string) {
		p := pair(t, dialect, layout, "")
		twin.ExecAll(t, p.Under, "SELECT posts_count(1, 1, 1)")
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		twin.ExecAll(t, tx, "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT posts_count(1, 10, 10)", "UPDATE posts SET likes = likes + 1 WHERE id = 1")
		want(t, "the view", twin.Rows(t, tx, totals), "1 22 13\n2 20 NULL")
		want(t, "the table", twin.Rows(t, tx, "SELECT views, likes FROM posts WHERE id = 1"), "22 13")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		want(t, "the view afterwards", twin.Rows(t, p.Under, totals), "1 22 13\n2 20 NULL")
	})
}

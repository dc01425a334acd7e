package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// named replaces %DB% by the name of a further database on each side.
func named(t *testing.T, p *twin.Pair) func(b both, query string) {
	t.Helper()
	var names [2]string
	for i, db := range []*sql.DB{p.Plain, p.Under} {
		if err := db.QueryRow("SELECT DATABASE()").Scan(&names[i]); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, x := range []string{"_b", "_c", "_d"} {
				_, _ = db.ExecContext(context.Background(), "DROP DATABASE IF EXISTS "+names[i]+x)
			}
		})
	}
	return func(b both, query string) {
		t.Helper()
		var o [2]twin.Outcome
		for i, s := range []twin.Session{b.plain, b.wrapped} {
			o[i] = twin.Run(t.Context(), s, twin.Statement{SQL: strings.ReplaceAll(query, "%DB%", names[i])})
		}
		for _, d := range twin.Compare(o[0], o[1]) {
			t.Errorf("%s\n%s", d, query)
		}
	}
}

const copied = "(id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, likes INTEGER, title VARCHAR(100))"

func TestUseOtherDatabase(t *testing.T) {
	t.Parallel()
	p := newPair(t, "mysql", "")
	one, other := pinned(t, p), pinned(t, p)
	run := named(t, p)
	all := func(statements ...string) {
		t.Helper()
		for _, query := range statements {
			run(one, query)
			run(one, "SELECT id, views FROM posts ORDER BY id")
			other.same(t, twin.Statement{SQL: totals})
		}
	}
	all(work[:4]...)
	all(
		"CREATE DATABASE %DB%_b",
		"CREATE TABLE %DB%_b.posts "+copied,
		"INSERT INTO %DB%_b.posts (id, views) VALUES (1, 100), (2, 200)",
		"USE %DB%_b",
	)
	all(work[:4]...)
	all(
		"SELECT p.views, q.views FROM posts p JOIN %DB%.posts q ON p.id = q.id ORDER BY p.id",
		"UPDATE %DB%.posts SET views = views + 1 WHERE id = 1",
		"UPDATE %DB%.posts SET views = views * 2 WHERE id = 1",
		"UPDATE %DB%_b.posts SET views = views + 1 WHERE id = 1",
		"/* x */ use %DB%",
		"UPDATE %DB%_b.posts SET views = views + 1 WHERE id = 1",
		"SELECT views FROM %DB%_b.posts ORDER BY id",
		"SELECT * FROM %DB%_b.posts ORDER BY id",
	)
	// A table of the same name that is something else altogether.
	all("CREATE DATABASE %DB%_c", "CREATE TABLE %DB%_c.posts (id INT, a INT)", "INSERT INTO %DB%_c.posts VALUES (1, 2)")
	run(one, "USE %DB%_c")
	for _, query := range []string{"SELECT * FROM posts", "UPDATE posts SET a = a + 1 WHERE id = 1", "UPDATE posts SET a = 0", "SELECT a FROM posts",
		"SELECT views FROM %DB%.posts ORDER BY id", "UPDATE %DB%.posts SET views = views + 1 WHERE id = 1", "UPDATE %DB%.posts SET views = 9 WHERE id = 1"} {
		run(one, query)
		other.same(t, twin.Statement{SQL: totals})
	}
	run(one, "CREATE DATABASE %DB%_d")
	run(one, "USE %DB%_d")
	run(one, "SELECT * FROM posts")
	run(one, "USE %DB%")
	all(work[:4]...)
}

func TestSearchPath(t *testing.T) {
	t.Parallel()
	p := newPair(t, "postgres", "")
	one, other := pinned(t, p), pinned(t, p)
	one.script(t, &other, work[:5]...)
	one.script(t, &other, "CREATE SCHEMA b", "CREATE TABLE b.posts "+copied, "INSERT INTO b.posts (id, views) VALUES (1, 100), (2, 200)")
	for _, set := range []string{"SET search_path = b", "set search_path to b, public", "SELECT set_config('search_path', 'b', false)", "SET SESSION search_path = 'b'"} {
		one.script(t, &other, set)
		one.script(t, &other, work[:5]...)
		one.script(
			t,
			&other,
			"SELECT p.views, q.views FROM posts p JOIN public.posts q ON p.id = q.id ORDER BY p.id",
			"UPDATE public.posts SET views = views + 1 WHERE id = 1",
			"UPDATE public.posts SET views = views * 2 WHERE id = 1",
			"RESET search_path",
		)
		one.script(t, &other, work[:5]...)
	}
	one.script(t, &other, "BEGIN", "SET LOCAL search_path = b", work[0], work[2], "COMMIT", work[0], work[2],
		"BEGIN", "SAVEPOINT a", "SET search_path = b", work[0], "ROLLBACK TO a", work[0], work[2], "COMMIT", work[0])
	one.same(t, twin.Statement{SQL: "CREATE SCHEMA c"})
	one.same(t, twin.Statement{SQL: "CREATE TABLE c.posts (id int, a int)"})
	one.same(t, twin.Statement{SQL: "SET search_path = c"})
	for _, query := range []string{"INSERT INTO posts VALUES (1, 2)", "SELECT * FROM posts", "UPDATE posts SET a = a + 1 WHERE id = 1", "SELECT a FROM posts",
		"SELECT views FROM public.posts ORDER BY id", "UPDATE public.posts SET views = 9 WHERE id = 1"} {
		one.same(t, twin.Statement{SQL: query})
		other.same(t, twin.Statement{SQL: totals})
	}
	// A transaction begun by database/sql ends what SET LOCAL has set.
	for _, commit := range []bool{true, false} {
		var txs []*sql.Tx
		for _, s := range []twin.Session{other.plain, other.wrapped} {
			tx, err := s.(*sql.Conn).BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			txs = append(txs, tx)
		}
		in := both{txs[0], txs[1]}
		in.script(t, nil, "SET LOCAL search_path = b", work[0], work[2])
		for _, tx := range txs {
			if commit {
				_ = tx.Commit()
			} else {
				_ = tx.Rollback()
			}
		}
		other.script(t, nil, work[0], work[2])
	}
}

func TestTemporaryTable(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		params := ""
		if dialect == "postgres" {
			params = "default_query_exec_mode=exec" // a prepared statement goes on reading the table that it read
		}
		p := newPair(t, dialect, params)
		one, other := pinned(t, p), pinned(t, p)
		create := map[string]string{"mysql": "CREATE TEMPORARY TABLE posts ", "postgres": "CREATE TEMP TABLE posts ", "sqlite": "CREATE TEMP TABLE posts "}[dialect] + copied
		drop := map[string]string{"mysql": "DROP TEMPORARY TABLE posts", "postgres": "DROP TABLE posts", "sqlite": "DROP TABLE posts"}[dialect]
		for range 2 {
			one.script(t, &other, work[0], work[4])
			one.script(t, &other, create, "INSERT INTO posts (id, views) VALUES (1, 1000)")
			third := pinned(t, p)
			third.script(t, &other, work[0], work[2])
			one.script(t, &other, work[:8]...)
			third.script(t, &other, work[:3]...)
			one.script(t, &other, drop)
			one.script(t, &other, work[:3]...)
		}
		if dialect == "mysql" {
			return
		}
		// The engine itself takes the temporary table away.
		for _, end := range []string{"ROLLBACK", "COMMIT"} {
			one.script(t, &other, work[0], "BEGIN", create, work[0], work[2], end, work[0], work[2])
			if end == "COMMIT" {
				one.script(t, &other, drop, work[0])
			}
		}
		var txs []*sql.Tx
		for _, s := range []twin.Session{one.plain, one.wrapped} {
			tx, err := s.(*sql.Conn).BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			txs = append(txs, tx)
		}
		in := both{txs[0], txs[1]}
		in.script(t, &other, create, work[0], "INSERT INTO posts (id, views) VALUES (1, 1)", work[0], work[2])
		for _, tx := range txs {
			_ = tx.Rollback()
		}
		one.script(t, &other, work[0], work[2])
		if dialect == "postgres" {
			one.script(t, &other, "BEGIN", create+" ON COMMIT DROP", work[0], "COMMIT", work[0], create, "DISCARD TEMP", work[0], work[2])
		}
	})
}

// A session that gets the server's place of one with temporary tables.
func TestTemporaryTableOfAnother(t *testing.T) {
	t.Parallel()
	p := newPair(t, "postgres", "default_query_exec_mode=exec")
	for range 3 {
		one := pinned(t, p)
		one.script(t, nil, work[0], "CREATE TEMP TABLE posts "+copied, work[0], "SELECT * FROM posts")
		for _, s := range []twin.Session{one.plain, one.wrapped} {
			c := s.(*sql.Conn)
			_ = c.Raw(func(any) error { return driver.ErrBadConn })
			_ = c.Close()
		}
		for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
			db.SetMaxIdleConns(0) // the place is free again
			db.SetMaxIdleConns(2)
		}
		two := pinned(t, p)
		two.same(t, twin.Statement{SQL: "CREATE TEMP TABLE unrelated (a int)"})
		two.same(t, twin.Statement{SQL: totals})
		two.script(t, nil, work[0], work[2])
	}
}

func TestAttached(t *testing.T) {
	t.Parallel()
	p := newPair(t, "sqlite", "")
	one, other := pinned(t, p), pinned(t, p)
	one.script(t, &other, work[:3]...)
	one.script(t, &other, "ATTACH ':memory:' AS b", "CREATE TABLE b.posts "+copied, "INSERT INTO b.posts (id, views) VALUES (1, 100)",
		"UPDATE b.posts SET views = views + 1 WHERE id = 1", "SELECT * FROM b.posts", "UPDATE b.posts SET views = views * 2",
		"SELECT p.views, q.views FROM posts p JOIN b.posts q ON p.id = q.id", "UPDATE main.posts SET views = views + 1 WHERE id = 1",
		"UPDATE main.posts SET views = views * 2 WHERE id = 1", "SELECT * FROM b.posts", "DETACH b", work[0], work[2])
}

// Of two configured tables of one name a session that moves to the other one's schema means
// that one.
func TestSearchPathToConfigured(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema:  append(schema("postgres"), "CREATE SCHEMA b", "CREATE TABLE b.posts "+copied, "INSERT INTO b.posts (id, views) VALUES (1, 100), (2, 200)"),
		Config:  "version: 1\nauto_migrate: true\ndefaults: {placement: random, slots: 8}\ntables: {posts: {counters: {views: {}, likes: {}}}, b.posts: {counters: {views: {}}}}\n",
	})
	one, other := pinned(t, p), pinned(t, p)
	one.script(t, &other, work[:3]...)
	one.script(t, &other, "SET search_path = b")
	one.script(t, &other, work[:9]...)
	one.script(t, &other, "UPDATE public.posts SET views = views + 1 WHERE id = 1", "SELECT * FROM public.posts ORDER BY id", "RESET search_path", work[0])
	final(t, p)
}

// LOCK TABLE and DECLARE are refused outside of a transaction.
func TestInsideTransactions(t *testing.T) {
	t.Parallel()
	s := pinned(t, newPair(t, "postgres", ""))
	for _, query := range []string{
		"LOCK TABLE posts", "DECLARE c CURSOR FOR SELECT views FROM posts FOR UPDATE",
		"BEGIN", "LOCK TABLE posts", "DECLARE c CURSOR FOR SELECT views FROM posts ORDER BY id FOR UPDATE", "FETCH c", "COMMIT",
	} {
		s.same(t, twin.Statement{SQL: work[0]})
		s.same(t, twin.Statement{SQL: query})
		s.same(t, twin.Statement{SQL: totals})
	}
}

// A function that sets the search path, by itself or through another one, moves the session as
// SET does, no matter who created it.
func TestFunctionSetsSearchPath(t *testing.T) {
	t.Parallel()
	for _, create := range []string{
		"CREATE FUNCTION public.go_to(s text) RETURNS text LANGUAGE sql AS $$ SELECT set_config('search_path', s || ', public', false) $$",
		"CREATE FUNCTION public.go_to(s text) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT set_config('search_path', s || ', public', false); END",
		"CREATE FUNCTION public.go_to(s text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SET search_path = ' || s || ', public'; RETURN s; END $$",
	} {
		const outer = "CREATE FUNCTION public.Set_Tenant(s text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN public.GO_TO(s); END'"
		p := twin.New(t, twin.Options{
			Dialect: "postgres",
			Schema:  append(schema("postgres"), "CREATE SCHEMA b", "CREATE TABLE b.posts "+copied, "INSERT INTO b.posts (id, views) VALUES (1, 100), (2, 200)", create),
			Config:  "version: 1\nauto_migrate: true\ndefaults: {placement: random, slots: 8}\ntables: {posts: {counters: {views: {}, likes: {}}}}\n",
		})
		one, other := pinned(t, p), pinned(t, p)
		one.script(t, &other, work[:3]...)
		one.script(t, &other, "SELECT go_to('b')")
		one.script(t, &other, work[:3]...)
		one.script(t, &other, "SELECT go_to('public')", work[0], outer, "SELECT set_tenant('b') AS s", work[0], work[2])
		one.script(t, &other, "SELECT public.set_tenant('public') FROM posts WHERE views > 0 AND id = 1", work[0], work[2])
		final(t, p)
	}
}

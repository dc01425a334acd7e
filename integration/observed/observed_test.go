package observed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/internal/session"
)

// reads are queries of counters in all shapes.
func reads(dialect string) (list []twin.Statement) {
	arg := func(n int) string {
		if dialect == "postgres" {
			return fmt.Sprintf("$%d", n)
		}
		return "?"
	}
	for _, q := range []string{
		"SELECT views, (SELECT p.views FROM posts p WHERE p.id = 1) FROM posts WHERE id = 2",
		"SELECT views, (SELECT MAX(p.views + 100 * p.id) FROM posts p) FROM posts WHERE id = 2",
		"SELECT karma, (SELECT views FROM posts WHERE id = 1) FROM users WHERE name = 'ann'",
		"SELECT * FROM posts ORDER BY id",
		"SELECT id, views AS seen, views * 2, -views FROM posts ORDER BY views DESC, id LIMIT 3",
		"SELECT id, views /* seen */ , views + 1 -- more\n FROM posts WHERE views > 15 ORDER BY id",
		"SELECT id, views FROM posts ORDER BY 2 DESC, 1 LIMIT 2 OFFSET 1",
		"SELECT id, views FROM posts ORDER BY 3",
		"SELECT views, COUNT(*) FROM posts GROUP BY 1 ORDER BY 1",
		"SELECT * FROM posts ORDER BY 1, 2",
		"SELECT DISTINCT views FROM posts ORDER BY views",
		"SELECT author, SUM(views), MAX(views) FROM posts GROUP BY author HAVING SUM(views) > 25 ORDER BY author",
		"SELECT COUNT(*) FROM posts WHERE views > 15",
		"SELECT MAX(views), MIN(views) FROM posts",
		"SELECT id FROM posts WHERE views > 1000 ORDER BY id",
		"SELECT views FROM posts WHERE id = 1000",
		"SELECT id, views FROM posts WHERE views = 0 ORDER BY id LIMIT 0",
		"SELECT 100 / views FROM posts WHERE id = 4",
		"SELECT 100 / views FROM posts WHERE views < 1000 AND id < 5 ORDER BY id",
		"SELECT id, RANK() OVER (ORDER BY views DESC) AS place FROM posts ORDER BY id",
		"WITH h AS (SELECT id, views FROM posts WHERE views >= 20) SELECT COUNT(*), MAX(views) FROM h",
		"SELECT id, views FROM posts WHERE id = 1 UNION ALL SELECT id, n FROM notes UNION ALL SELECT 0, MAX(views) FROM posts ORDER BY 2, 1",
		"(SELECT views FROM posts ORDER BY views DESC LIMIT 1) UNION (SELECT n FROM notes ORDER BY n LIMIT 1) ORDER BY 1",
		"SELECT views FROM posts EXCEPT SELECT 20 ORDER BY 1",
		"SELECT n, (SELECT views FROM posts WHERE posts.id = notes.post_id) AS v FROM notes ORDER BY notes.id",
		"SELECT p.views, n.n FROM posts p LEFT JOIN notes n ON n.post_id = p.id AND n.n < p.views ORDER BY p.id, n.id",
		"SELECT a.views, u.karma FROM posts a JOIN users u ON u.name = a.author WHERE u.karma > 3 ORDER BY a.id",
		"SELECT EXISTS (SELECT 1 FROM posts WHERE views = 30)",
		"SELECT id FROM posts WHERE id IN (SELECT post_id FROM notes) AND views BETWEEN 10 AND 30 ORDER BY id",
		"SELECT views FROM posts WHERE nosuch = 1",
		"SELECT views FROM nosuch, posts",
	} {
		if dialect == "sqlite" && strings.HasPrefix(q, "(") {
			continue
		}
		list = append(list, twin.Statement{SQL: q})
	}
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{"SELECT id, views, title FROM posts WHERE id = " + arg(1), []any{1}},
		{"SELECT * FROM posts WHERE id = " + arg(1), []any{2}},
		{"SELECT views FROM posts WHERE views > " + arg(1) + " ORDER BY views, id LIMIT 2", []any{15}},
		{"SELECT COUNT(*) FROM posts WHERE views BETWEEN " + arg(1) + " AND " + arg(2), []any{10, 20}},
		{"SELECT id, views FROM posts WHERE author = " + arg(1) + " ORDER BY id LIMIT " + arg(2), []any{"ann", 2}},
		{"SELECT id FROM posts WHERE views > " + arg(1) + " ORDER BY id", []any{5000}},
	} {
		list = append(list, twin.Statement{SQL: q.sql, Args: q.args}, twin.Statement{SQL: q.sql, Args: q.args})
	}
	// Beside slots those of a view fold all that the others read.
	return append(list, twin.Statement{SQL: "SELECT title, views FROM popular ORDER BY id"}, twin.Statement{SQL: "SELECT COUNT(*), SUM(views) FROM popular"})
}

func twoTables(t *testing.T, dialect, params string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Params:  params,
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), author VARCHAR(10) NOT NULL, views INT NOT NULL, likes BIGINT)",
			"CREATE TABLE users (name VARCHAR(10) PRIMARY KEY, karma INT NOT NULL)",
			"CREATE TABLE notes (id INT PRIMARY KEY, post_id INT NOT NULL, n INT)",
			"INSERT INTO posts VALUES (1, 'one', 'ann', 10, 0), (2, 'two', 'bob', 20, NULL), (3, NULL, 'ann', 30, 1), (4, 'four', 'bob', 0, 2)",
			"INSERT INTO users VALUES ('ann', 3), ('bob', 4)",
			"INSERT INTO notes VALUES (1, 1, 7), (2, 3, NULL), (3, 3, 40)",
			"CREATE VIEW popular AS SELECT id, title, views FROM posts WHERE views >= 20",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: adaptive}\n" +
			"tables: {posts: {counters: {views: {}, likes: {}}}, users: {counters: {karma: {}}}}\nrollup: {interval: 1h}\n", // nothing folds them
	})
}

// Reads give what plain gives while the table sleeps, while it is awake, and when it sleeps again: rows, names and types of columns,
// and errors, outside of transactions and in them, prepared and not.
func TestObserved(t *testing.T) {
	for name, params := range map[string]string{"mysql": "", "mysql interpolated": "interpolateParams=true&parseTime=true", "postgres": "", "postgres simple": "default_query_exec_mode=simple_protocol", "sqlite": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialect, _, _ := strings.Cut(name, " ")
			p := twoTables(t, dialect, params)
			if err := p.Wrapped.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			plain, err := twin.OpenPlain(twin.Plain[dialect], p.WrappedDSN, "")
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			all := func(when string) {
				t.Helper()
				outside, _ := p.Outside()
				inside, end := p.Inside(t)
				for _, s := range reads(dialect) {
					check(t, when, outside, s)
					s.Prepared, s.Times = true, 2
					check(t, when+", prepared", outside, s)
				}
				for _, s := range reads(dialect) {
					if s.Args == nil && fails(s.SQL) { // the error would end the transaction
						continue
					}
					check(t, when+", in a transaction", inside, s)
				}
				if d := end(false); len(d) > 0 {
					t.Error(d)
				}
			}
			all("asleep")
			twin.ExecAll(t, p.Plain, "UPDATE posts SET views = views + 5 WHERE id IN (1, 4)")
			twin.ExecAll(t, plain, "INSERT INTO posts_slots (id, slot, views, likes) VALUES (1, 0, 3, 0), (1, 1, 2, 0), (4, 0, 5, 0)")
			all("awake")
			twin.ExecAll(t, plain, "UPDATE posts SET views = views + COALESCE((SELECT SUM(s.views) FROM posts_slots s WHERE s.id = posts.id), 0)",
				"DELETE FROM posts_slots") // reads of the view have folded some
			all("asleep again")
		})
	}
}

func fails(query string) bool {
	return strings.Contains(query, "/ views") || strings.Contains(query, "nosuch") || strings.HasSuffix(query, "ORDER BY 3")
}

func check(t *testing.T, when string, on twin.Sides, s twin.Statement) {
	t.Helper()
	plain, wrapped := on.Run(t.Context(), s)
	if d := twin.Compare(plain, wrapped); len(d) > 0 {
		t.Errorf("%s: %s, %v: %v", when, s.SQL, s.Args, d)
	}
}

// Queries of a sleeping table are observed, whatever their shape, prepared and not; none is of a table that is awake.
func TestObservedCounted(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		table := "papers_" + dialect // no other test reads it
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  []string{"CREATE TABLE " + table + " (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO " + table + " VALUES (1, 10), (2, 20)"},
			Config:  "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: adaptive}\nrollup: {interval: 1h}\ntables: {" + table + ": {counters: {views: {}}}}\n", // nothing is folded
		})
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		counted := func() (observed, exact uint64) {
			for _, s := range session.Stats() {
				if slices.Contains(s.Tables, table) {
					observed, exact = observed+s.Observed, exact+s.Exact
				}
			}
			return observed, exact
		}
		queries := []string{
			"SELECT * FROM %s", "SELECT id FROM %s WHERE views > 5", "SELECT COUNT(*) FROM %s WHERE views > 5", "SELECT MAX(views) FROM %s",
			"SELECT id FROM %s ORDER BY views DESC LIMIT 1", "WITH h AS (SELECT views FROM %s) SELECT SUM(views) FROM h",
			"SELECT SUM(views) OVER (ORDER BY id) FROM %s", "SELECT views FROM %s UNION SELECT 1", "SELECT a.views FROM %s a NATURAL JOIN (SELECT 1 AS id) b",
		}
		run := func(want string) {
			t.Helper()
			o, e := counted()
			for _, q := range queries {
				s := twin.Statement{SQL: fmt.Sprintf(q, table)}
				p.Same(t, s)
				s.Prepared = true
				p.Same(t, s)
			}
			now, then := counted()
			if got := fmt.Sprint(now-o, " ", then-e); got != want {
				t.Errorf("observed, exact: %s, want %s", got, want)
			}
		}
		sleep := func(want string) {
			t.Helper()
			s := sleepOf(t, dialect, table)
			if got := fmt.Sprintf("awake: %t, %s", s.Awake, s.WokenBy); got != want || s.Since.IsZero() != (s.WokenBy == "") {
				t.Errorf("%s since %v, want %s", got, s.Since, want)
			}
		}
		run("18 0")
		sleep("awake: false, ")
		twin.ExecAll(t, p.Plain, "UPDATE "+table+" SET views = 11 WHERE id = 1")
		plain, err := twin.OpenPlain(twin.Plain[dialect], p.WrappedDSN, "")
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		twin.ExecAll(t, plain, "INSERT INTO "+table+"_slots (id, slot, views) VALUES (1, 0, 1)")
		run("0 18")
		sleep("awake: true, another process")
		twin.ExecAll(t, plain, "UPDATE "+table+" SET views = 11 WHERE id = 1", "DELETE FROM "+table+"_slots")
		run("18 0")
		sleep("awake: false, another process")
	})
}

// A query of a row with slots finds its table awake. One of two tables, of which one is known to be awake, does not wake the other.
func TestFoundAwake(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		awake, asleep := "drums_"+dialect, "harps_"+dialect // no other test has them
		const columns = " (id INT PRIMARY KEY, views INT NOT NULL)"
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  []string{"CREATE TABLE " + awake + columns, "CREATE TABLE " + asleep + columns, "INSERT INTO " + awake + " VALUES (1, 1)"},
			Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: adaptive}\nrollup: {interval: 1h}\n" + // nothing is folded
				"tables: {" + awake + ": {counters: {views: {}}}, " + asleep + ": {counters: {views: {}}}}\n",
		})
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		plain, err := twin.OpenPlain(twin.Plain[dialect], p.WrappedDSN, "")
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		twin.ExecAll(t, plain, "INSERT INTO "+awake+"_slots (id, slot, views) VALUES (1, 0, 1)")
		for _, query := range []string{
			"SELECT views FROM " + awake + " WHERE id = 1",
			"SELECT MAX(a.views) + COUNT(b.views) FROM " + awake + " a LEFT JOIN " + asleep + " b ON b.id = a.id",
		} {
			var most int
			if err := p.Wrapped.QueryRowContext(t.Context(), query).Scan(&most); err != nil || most != 2 {
				t.Fatal(most, err)
			}
		}
		if a, b := sleepOf(t, dialect, awake), sleepOf(t, dialect, asleep); !a.Awake || b.Awake || b.WokenBy != "" {
			t.Errorf("%+v, %+v", a, b)
		}
	})
}

// sleepOf returns what the process tells of a table.
func sleepOf(t *testing.T, dialect, table string) session.SleepStats {
	t.Helper()
	all := session.Sleeps()
	i := slices.IndexFunc(all, func(s session.SleepStats) bool { return s.Dialect == dialect && s.Table == table })
	if i < 0 {
		t.Fatalf("%s is not in %+v", table, all)
	}
	return all[i]
}

// A roll-up that leaves no slots tells that the table sleeps, though nothing reads it.
func TestRollUpTellsAsleep(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		table := "scrolls_" + dialect // no other test has it
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  []string{"CREATE TABLE " + table + " (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO " + table + " VALUES (1, 10)"},
			Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: adaptive}\nrollup: {interval: 2s, idle: 2s}\n" +
				"tables: {" + table + ": {counters: {views: {}}}}\n",
		})
		plain, err := twin.OpenPlain(twin.Plain[dialect], p.WrappedDSN, "")
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		for slot := 0; sleepOf(t, dialect, table).WokenBy == ""; slot++ { // each is perhaps rolled up before the query
			twin.ExecAll(t, plain, fmt.Sprintf("INSERT INTO %s_slots (id, slot, views) VALUES (1, %d, 1)", table, slot))
			var most int
			if err := p.Wrapped.QueryRowContext(t.Context(), "SELECT MAX(views) FROM "+table).Scan(&most); err != nil || most != 11+slot {
				t.Fatal(most, err)
			}
		}
		for end := time.Now().Add(time.Minute); sleepOf(t, dialect, table).Awake; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the table is not known to sleep")
			}
		}
	})
}

// Rows are not buffered: a query whose context ends in between returns the context's error, as plain.
func TestObservedCancelled(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		p := twoTables(t, dialect, "")
		for side, db := range map[string]*sql.DB{"plain": p.Plain, "wrapped": p.Wrapped} {
			ctx, cancel := context.WithCancel(t.Context())
			rows, err := db.QueryContext(ctx, "SELECT a.views FROM posts a, posts b, posts c, posts d, posts e, posts f, posts g, posts h WHERE a.views >= 0")
			if err != nil {
				t.Fatal(err)
			}
			if !rows.Next() {
				t.Fatalf("%s: no row: %v", side, rows.Err())
			}
			cancel()
			for rows.Next() {
			}
			if err := rows.Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", side, err)
			}
			if err := rows.Close(); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", side, err)
			}
		}
	})
}

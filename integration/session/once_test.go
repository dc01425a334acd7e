package session

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// onceSchema is a counter table, a journal of calls, and functions: one that writes
// to the journal and is true, one that does so and is false, and on PostgreSQL one
// that is written as a column, one behind a cast and one behind an operator.
func onceSchema(dialect string) []string {
	out := []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, status VARCHAR(20) NOT NULL, slug VARCHAR(20) NOT NULL UNIQUE)",
		"INSERT INTO posts VALUES (1, 0, 'open', 'a'), (2, 0, 'open', 'b')",
		"CREATE TABLE calls (what VARCHAR(20))",
	}
	switch dialect {
	case "mysql":
		for name, value := range map[string]string{"yes": "1", "no": "0", "lower2": "1"} {
			out = append(
				out,
				"CREATE FUNCTION "+name+"() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO calls VALUES ('"+name+"'); RETURN "+value+"; END",
			)
		}
		out = append(
			out,
			"CREATE FUNCTION now2() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO calls VALUES ('now2'); RETURN 0; END",
		)
	case "postgres":
		call := func(name, args, result, value string) string {
			return "CREATE FUNCTION " + name + "(" + args + ") RETURNS " + result + " LANGUAGE plpgsql AS $$BEGIN INSERT INTO calls VALUES ('" + name + "'); RETURN " + value + "; END$$"
		}
		out = append(
			out,
			"CREATE SCHEMA own",
			call("yes", "", "boolean", "true"),
			call("no", "", "boolean", "false"),
			call("own.lower", "", "boolean", "false"),
			call("asked", "p posts", "boolean", "false"),
			"CREATE TYPE pair AS (a INT, b INT)",
			call("topair", "i INT", "pair", "ROW(i, 1)::pair"),
			"CREATE CAST (INT AS pair) WITH FUNCTION topair(INT)",
			call("differ", "a INT, b INT", "boolean", "false"),
			"CREATE OPERATOR === (LEFTARG = INT, RIGHTARG = INT, FUNCTION = differ)",
			"CREATE VIEW looked AS SELECT no() AS answer",
			"CREATE OPERATOR own.= (LEFTARG = INT, RIGHTARG = INT, FUNCTION = differ)",
		)
	}
	return out
}

// A predicate that does something does it once, whatever it says and whether the
// row is there.
func TestPredicateRunsOnce(t *testing.T) {
	predicates := map[string][]string{
		"mysql": {
			"yes()",
			"no()",
			"no() = 1 AND status = 'open'",
			"(no() OR no())",
			"EXISTS (SELECT 1 FROM calls WHERE no())",
			"(SELECT no()) = 1",
			"CASE WHEN no() THEN 1 ELSE 0 END",
			"status = CASE no() WHEN 1 THEN 'open' END",
			"now2()",
			"DATABASE_.no()",
			"(@n := no()) = 1",
			"LAST_INSERT_ID(id + 6) = 0",
			"status LIKE no()",
			"COALESCE(no(), 1)",
			"no() IN (1)",
			"1 BETWEEN no() AND 0",
		},
		"postgres": {
			"yes()",
			"no()",
			"public.no()",
			"own.lower()",
			"no() AND status = 'open'",
			"(no() OR no())",
			"EXISTS (SELECT 1 FROM calls WHERE no())",
			"(SELECT no())",
			"posts.asked",
			"asked(posts)",
			"(id::pair).a = 5",
			"CAST(id AS pair) IS NULL",
			"id === 1",
			"id OPERATOR(public.===) 1",
			"id OPERATOR(own.=) 1",
			"EXISTS (SELECT 1 FROM looked WHERE answer)",
			"CASE WHEN no() THEN true ELSE false END",
			"nextval('numbers') < 0",
			"COALESCE(no(), true)",
			"ARRAY[no()] = ARRAY[true]",
			"no() IN (true)",
			"(no() IS TRUE)",
			"status LIKE no()::text",
			"set_config('a.b', current_setting('a.b') || 'x', true) = ''",
			"pg_advisory_xact_lock(7)::text = 'x'",
			"EXISTS (WITH x AS (SELECT no() AS a) SELECT 1 FROM x WHERE a)",
			"id === ANY (ARRAY[1, 2])",
		},
	}
	each(t, func(t *testing.T, dialect string) {
		if dialect == "sqlite" {
			return // it has no functions that do something, see TestPredicateOfChance
		}
		schema := onceSchema(dialect)
		if dialect == "postgres" {
			schema = append(schema, "CREATE SEQUENCE numbers")
		}
		p := twin.New(
			t,
			twin.Options{
				Dialect: dialect,
				Schema:  schema,
				Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
			},
		)
		s := pinned(t, p)
		for _, q := range map[string][]string{"postgres": {"SET a.b = ''"}}[dialect] {
			s.same(t, twin.Statement{SQL: q})
		}
		for _, predicate := range predicates[dialect] {
			for _, key := range []string{"id = 1", "id = 99", "slug = 'b'"} {
				query := "UPDATE posts SET views = views + 1 WHERE " + key + " AND " + predicate
				if dialect == "mysql" {
					query = strings.ReplaceAll(query, "DATABASE_.", "")
				}
				for range 2 {
					s.same(t, twin.Statement{SQL: query})
					for _, q := range []string{"SELECT views FROM posts ORDER BY id", "SELECT what, COUNT(*) FROM calls GROUP BY what ORDER BY what"} {
						s.same(t, twin.Statement{SQL: q})
					}
					switch dialect {
					case "postgres":
						s.same(t, twin.Statement{SQL: "SELECT last_value FROM numbers"})
						s.same(t, twin.Statement{SQL: "SELECT current_setting('a.b')"})
					case "mysql":
						s.same(t, twin.Statement{SQL: "SELECT LAST_INSERT_ID()"})
					}
				}
			}
		}
		// Queries of the counter.
		for _, q := range map[string][]string{
			"mysql": {"SELECT views FROM posts WHERE views > -1 AND yes() ORDER BY views DESC LIMIT 5", "SELECT SUM(views) FROM posts WHERE yes()",
				"SELECT views FROM posts WHERE yes() AND id = 1", "SELECT yes(), views FROM posts WHERE id = 1"},
			"postgres": {"SELECT views FROM posts WHERE views > -1 AND yes() ORDER BY views DESC LIMIT 5", "SELECT SUM(views) FROM posts WHERE yes()",
				"SELECT views FROM posts WHERE views > -1 AND NOT (id === 5) ORDER BY views DESC LIMIT 5", "SELECT SUM(views) FROM posts WHERE NOT posts.asked",
				"SELECT SUM(views) FROM posts WHERE (id::pair).a > 0", "SELECT yes(), views FROM posts WHERE id = 1"},
		}[dialect] {
			s.same(t, twin.Statement{SQL: q})
			s.same(t, twin.Statement{SQL: "SELECT what, COUNT(*) FROM calls GROUP BY what ORDER BY what"})
		}
	})
}

// A predicate of chance is drawn once for each statement.
func TestPredicateOfChance(t *testing.T) {
	const runs, chance = 1500, 0.2
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(
			t,
			twin.Options{
				Dialect: dialect,
				Schema:  onceSchema(dialect),
				Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
			},
		)
		random := map[string]string{"sqlite": "abs(random()) % 1000 < 200", "mysql": "RAND() < 0.2", "postgres": "random() < 0.2"}[dialect]
		affected := 0
		for range runs {
			res, err := p.Wrapped.Exec("UPDATE posts SET views = views + 1 WHERE id = 1 AND " + random)
			if err != nil {
				t.Fatal(err)
			}
			n, err := res.RowsAffected()
			if err != nil {
				t.Fatal(err)
			}
			affected += int(n)
		}
		// Six standard deviations; drawn twice it would be 540 of 1500.
		if d := 6 * math.Sqrt(runs*chance*(1-chance)); math.Abs(float64(affected)-runs*chance) > d {
			t.Errorf("%d of %d, want about %.0f", affected, runs, runs*chance)
		}
		if got := twin.Rows(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); got != fmt.Sprint(affected) {
			t.Errorf("%s counted, %d affected", got, affected)
		}
	})
}

// What a predicate says of the statement before it says of the application's.
func TestPredicateOfStatementBefore(t *testing.T) {
	predicates := map[string][]string{
		"sqlite":   {"changes() = 1", "last_insert_rowid() = 7", "total_changes() > 0"},
		"mysql":    {"ROW_COUNT() = 1", "LAST_INSERT_ID() = 7", "@@identity = 7", "@x = 1", "FOUND_ROWS() = 1"},
		"postgres": {"lastval() = 7", "currval('numbers') = 7"},
	}
	each(t, func(t *testing.T, dialect string) {
		schema := append(onceSchema(dialect), map[string][]string{
			"sqlite": {"CREATE TABLE log (id INTEGER PRIMARY KEY, n INT)"}, "mysql": {"CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, n INT)"},
			"postgres": {"CREATE SEQUENCE numbers START 7", "CREATE TABLE log (id INT DEFAULT nextval('numbers'), n INT)"},
		}[dialect]...)
		p := twin.New(
			t,
			twin.Options{
				Dialect: dialect,
				Schema:  schema,
				Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
			},
		)
		s := pinned(t, p)
		s.same(t, twin.Statement{SQL: "SELECT views FROM posts"}) // the tables are known from here on
		for i, predicate := range slices.Concat(predicates[dialect], predicates[dialect]) {
			insert := "INSERT INTO log (id, n) VALUES (7, 1)"
			if dialect == "postgres" {
				insert = "INSERT INTO log (n) VALUES (1)"
			}
			if i%2 == 0 {
				s.same(t, twin.Statement{SQL: "DELETE FROM log"})
			}
			s.same(t, twin.Statement{SQL: insert})
			s.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1 AND " + predicate})
			s.same(t, twin.Statement{SQL: "SELECT views FROM posts ORDER BY id"})
		}
	})
}

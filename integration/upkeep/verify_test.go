package upkeep

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

const verifyConfig = `version: 1
auto_migrate: true
tables:
  posts:
    foreign_keys: false
    reads: base
    on_drain: error
    counters:
      comments:
        recount: |
          SELECT post AS id, COUNT(*) AS comments FROM comments
          GROUP BY post -- one per row
      stock: {min: 0}
  hits:
    key: []
    counters: {cnt: {recount: SELECT COUNT(*) AS cnt FROM comments}}
`

func verifyPair(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	p := twin.New(t, twin.Options{Dialect: dialect, Config: verifyConfig, Params: patience[dialect], Schema: []string{
		"CREATE TABLE posts (id BIGINT PRIMARY KEY, title VARCHAR(20), comments INT, stock BIGINT NOT NULL)",
		"CREATE TABLE comments (id INT PRIMARY KEY, post BIGINT NOT NULL)",
		"CREATE TABLE hits (cnt INT NOT NULL)",
		"INSERT INTO posts VALUES (1, 'one', 0, 5), (2, 'two', 0, 5), (3, 'three', 0, 5), (4, 'four', NULL, 0)",
		"INSERT INTO hits VALUES (0)",
	}})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func verify(t testing.TB, p *twin.Pair, o slotsql.VerifyOptions) string {
	t.Helper()
	reports, err := slotsql.Verify(t.Context(), twin.Connector(t, p), o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range reports {
		for _, f := range r.Findings {
			out = append(
				out,
				fmt.Sprintf("%s.%s %s %s %s %d %v", r.Table, f.Counter, f.Kind, f.Key["id"], f.Is+"/"+f.Should, f.Slots, f.Fixed),
			)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// Each kind of finding is found, and only that; looking changes nothing, and
// fixing puts right what has a right value.
func TestVerify(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := verifyPair(t, dialect)
		next := 0
		comment := func(post int) {
			t.Helper()
			next++
			execAll(t, p.Wrapped, fmt.Sprintf("INSERT INTO comments VALUES (%d, %d)", next, post),
				fmt.Sprintf("UPDATE posts SET comments = comments + 1 WHERE id = %d", post), "UPDATE hits SET cnt = cnt + 1")
		}
		comment(1)
		comment(1)
		comment(2)
		execAll(t, p.Wrapped, "UPDATE posts SET stock = stock - 2 WHERE id = 2")
		want(t, "a database in which nothing is wrong", verify(t, p, slotsql.VerifyOptions{}), "")

		execAll(t, p.Under, "INSERT INTO comments VALUES (100, 1)", "INSERT INTO comments VALUES (101, 3)", // not counted
			"UPDATE posts SET stock = -6 WHERE id = 2", // slots of a counter with min hold nothing negative
			"INSERT INTO posts_slots (id, slot, comments, stock) VALUES (77, 0, 1, 0)",
			"INSERT INTO posts_slots (id, slot, comments, stock) VALUES (77, 1, 1, 0)")
		if dialect == "mysql" {
			execAll(
				t,
				p.Under,
				unchecked(t, p, "posts_slots", "INSERT INTO posts_slots (id, slot, comments, stock) VALUES (3, 64, 0, 3)")...,
			)
		} else {
			execAll(t, p.Under, "INSERT INTO posts_slots (id, slot, comments, stock) VALUES (3, 64, 0, 3)")
		}
		everything := "hits.cnt drift  3/5 0 %v\nposts. orphan 77 / 2 %[1]v\nposts. slot 3 / 1 %[1]v\nposts.comments drift 1 2/3 0 %[1]v\nposts.comments drift 3 0/1 0 %[1]v\nposts.stock min 2 -6/0 0 false"
		const raw = "SELECT id, slot, comments, stock FROM posts_slots ORDER BY id, slot"
		before := rows(t, p.Under, raw) + rows(t, p.Under, "SELECT * FROM posts ORDER BY id") + rows(t, p.Under, "SELECT * FROM hits")
		for range 2 {
			want(t, "what is wrong", verify(t, p, slotsql.VerifyOptions{}), fmt.Sprintf(everything, false))
		}
		after := rows(t, p.Under, raw) + rows(t, p.Under, "SELECT * FROM posts ORDER BY id") + rows(t, p.Under, "SELECT * FROM hits")
		want(t, "looking changed something", after, before)
		want(t, "one table", verify(t, p, slotsql.VerifyOptions{Tables: []string{"hits"}}), "hits.cnt drift  3/5 0 false")

		want(t, "fixing", verify(t, p, slotsql.VerifyOptions{Fix: true}), fmt.Sprintf(everything, true))
		want(t, "what is left", verify(t, p, slotsql.VerifyOptions{}), "posts.stock min 2 -6/0 0 false")
		want(t, "orphans", rows(t, p.Under, orphans), "0")
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		want(t, "totals", rows(t, p.Under, "SELECT id, comments, stock FROM posts ORDER BY id"), "1 3 5\n2 1 -6\n3 1 8\n4 NULL 0")
		want(t, "the single row", rows(t, p.Under, "SELECT cnt FROM hits"), "5")
	})
}

// While all clients count, inserting and counting in one transaction, an audit
// finds nothing; and a fix of what is wrong loses no increment that comes while
// it is made.
func TestVerifyUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := verifyPair(t, dialect)
		var next atomic.Int64
		var stop atomic.Bool
		var wg sync.WaitGroup
		comment := func(post int64) error {
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			for _, q := range []string{
				fmt.Sprintf("INSERT INTO comments VALUES (%d, %d)", next.Add(1), post),
				fmt.Sprintf("UPDATE posts SET comments = comments + 1 WHERE id = %d", post),
			} {
				if _, err := tx.ExecContext(t.Context(), q); err != nil {
					return err
				}
			}
			return tx.Commit()
		}
		for range 4 {
			wg.Go(func() {
				for !stop.Load() {
					if err := comment(1 + next.Load()%3); err != nil &&
						dialect != "sqlite" { // of two that begin to write at once one fails
						t.Error(err)
						return
					}
				}
			})
		}
		for round := range 6 {
			want(t, "under load", verify(t, p, slotsql.VerifyOptions{Tables: []string{"posts"}}), "")
			wrong := fmt.Sprintf("UPDATE posts SET comments = comments + 100 WHERE id = %d", 1+round%3)
			if dialect == "sqlite" {
				for _, err := p.Under.ExecContext(t.Context(), wrong); err != nil; _, err = p.Under.ExecContext(t.Context(), wrong) {
				}
			} else {
				execAll(t, p.Under, wrong)
			}
			got := verify(t, p, slotsql.VerifyOptions{Tables: []string{"posts"}, Fix: true})
			if strings.Count(got, "\n") != 0 || !strings.Contains(got, fmt.Sprintf("posts.comments drift %d ", 1+round%3)) ||
				!strings.HasSuffix(got, "true") {
				t.Errorf("fixing under load: %s", got)
			}
		}
		stop.Store(true)
		wg.Wait()
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{Tables: []string{"posts"}}); err != nil {
			t.Fatal(err)
		}
		want(
			t,
			"counters and comments",
			rows(t, p.Under, "SELECT id, comments FROM posts WHERE id < 4 ORDER BY id"),
			rows(
				t,
				p.Under,
				"SELECT p.id, COUNT(c.id) FROM posts p LEFT JOIN comments c ON c.post = p.id WHERE p.id < 4 GROUP BY p.id ORDER BY p.id",
			),
		)
	})
}

// A recount that the database does not take, or that could only be read with a
// drain, is a problem of the configuration, with its line; one that gives a row
// twice is an error.
func TestVerifyRecountProblems(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for _, c := range []struct{ recount, problem string }{
			{"SELECT nothing AS id, 1 AS views FROM posts", "nothing"},
			{"SELECT id FROM posts", "views"},
			{"SELECT id, title AS views FROM posts WHERE id = ?", ""},
			{"SELECT id, 1 AS views FROM posts WHERE id = 1 UNION ALL SELECT id, 2 FROM posts WHERE id = 1", "more than one row for id=1"},
		} {
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Params:  patience[dialect],
				Config:  "version: 1\nauto_migrate: true\ntables:\n  posts:\n    counters:\n      views:\n        recount: " + c.recount + "\n",
				Schema: []string{
					"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL)",
					"INSERT INTO posts VALUES (1, 'x', 0)",
				},
			})
			if err := p.Wrapped.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := slotsql.Verify(t.Context(), twin.Connector(t, p), slotsql.VerifyOptions{})
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v", c.recount, err)
				continue
			}
			if strings.Contains(c.recount, "UNION") {
				continue
			}
			_, checked := slotsql.Check(t.Context(), twin.Connector(t, p))
			for _, err := range []error{err, checked} {
				var problems *slotsql.ConfigError
				if !errors.As(err, &problems) || len(problems.Problems) != 1 || problems.Problems[0].Line != 7 {
					t.Errorf("%s: %v", c.recount, err)
				}
			}
		}
	})
}

// unchecked returns what runs a statement without the check constraints of a table.
func unchecked(t *testing.T, p *twin.Pair, table, statement string) []string {
	t.Helper()
	if !server.MySQLVersion(t).MySQL {
		return []string{"SET SESSION check_constraint_checks = 0", statement}
	}
	names := rows(t, p.Under, "SELECT constraint_name FROM information_schema.table_constraints WHERE table_schema = DATABASE() AND table_name = '"+
		table+"' AND constraint_type = 'CHECK'")
	var out []string
	for _, name := range strings.Fields(names) {
		out = append(out, "ALTER TABLE "+table+" ALTER CHECK "+name+" NOT ENFORCED")
	}
	return append(out, statement)
}

// Keys of many types find their rows again.
func TestVerifyKeys(t *testing.T) {
	for dialect, types := range map[string][]string{
		"sqlite":   {"INT", "TEXT", "BLOB"},
		"mysql":    {"BIGINT UNSIGNED", "VARCHAR(20)", "VARBINARY(20)", "DECIMAL(10,2)", "DATE", "CHAR(10)"},
		"postgres": {"bigint", "text", "numeric", "date", "char(10)", "uuid", "timestamptz"},
	} {
		value := map[string]string{
			"UNSIGNED":      "18446744073709551615",
			"VARCHAR(20)":   "'It''s é'",
			"VARBINARY(20)": "x'00ff'",
			"DECIMAL(10,2)": "1.50",
			"DATE":          "'2024-02-29'",
			"CHAR(10)":      "'a'",
			"TEXT":          "'5'",
			"BLOB":          "x'00ff'",
			"uuid":          "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
			"text":          "'x'' y'",
			"numeric":       "1.50",
			"date":          "'2024-02-29'",
			"char(10)":      "'a'",
			"timestamptz":   "'2024-02-29 12:00:00.123456+00'",
		}
		for _, kind := range types {
			t.Run(dialect+" "+kind, func(t *testing.T) {
				t.Parallel()
				v := value[kind]
				if strings.HasSuffix(kind, "UNSIGNED") {
					v = value["UNSIGNED"]
				} else if v == "" {
					v = "7"
				}
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Params:  patience[dialect],
					Config:  "version: 1\nauto_migrate: true\ntables:\n  t: {counters: {n: {recount: \"SELECT k, right_n AS n FROM t\"}}}\n",
					Schema: []string{
						"CREATE TABLE t (k " + kind + " NOT NULL PRIMARY KEY, n BIGINT NOT NULL, right_n BIGINT)",
						"INSERT INTO t VALUES (" + v + ", 0, 3)",
					},
				})
				execAll(t, p.Wrapped, "UPDATE t SET n = n + 2 WHERE k = "+v)
				for i, wanted := range []string{"drift 2/3 true", ""} {
					reports, err := slotsql.Verify(t.Context(), twin.Connector(t, p), slotsql.VerifyOptions{Fix: true})
					if err != nil || len(reports) != 1 || len(reports[0].Notes) > 0 {
						t.Fatalf("%+v, %v", reports, err)
					}
					got := ""
					for _, f := range reports[0].Findings {
						got += fmt.Sprintf("%s %s/%s %v", f.Kind, f.Is, f.Should, f.Fixed)
					}
					want(t, fmt.Sprint("run ", i), got, wanted)
				}
			})
		}
	}
}

package mysql

import (
	"testing"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// TestLocking holds the exactness argument: an increment and a drain of the
// same base row wait for each other, whatever index leads to the row and at
// every isolation level.
func TestLocking(t *testing.T) {
	d := served(t)
	s := sessions(t, 3)
	// Every column of the increment is in the index covering, so that the
	// clustered record need not be read for its columns.
	s[0].run(
		"CREATE TABLE posts (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL, views INT NOT NULL DEFAULT 0, UNIQUE KEY u (slug), KEY covering (slug, views, id), KEY v (views))",
		"INSERT INTO posts VALUES (1,'a',0),(2,'b',0)",
	)
	tab := load(t, s[0], "posts", []string{"id"}, []string{"views"}, 64)
	increments := map[string]string{
		"primary": increment(tab, "p.id = 1", "3", "views", "1", true),
		"unique":  increment(tab, "p.slug = 'a'", "3", "views", "1", false),
		// The comparison of a string with a number scans an index.
		"scan":     increment(tab, "p.slug = 'a' AND p.id + 0 = 1", "3", "views", "1", false),
		"covering": increment(tab, "p.slug = 'a' AND p.views >= -5", "3", "views", "1", false),
	}
	locks := map[string][]string{
		"primary": d.Lock(tab, keyed(tab, "p.id = 1")),
		"unique":  d.Lock(tab, keyed(tab, "p.slug = 'a'")),
		"all":     d.Lock(tab, rewrite.Scope{}),
		"app":     {"SELECT id FROM posts WHERE id = 1 FOR UPDATE"},
	}
	for _, level := range []string{"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		for _, c := range s[:2] {
			c.run("SET SESSION TRANSACTION ISOLATION LEVEL " + level)
		}
		for in, inc := range increments {
			for lo, lock := range locks {
				t.Run(level+"/"+in+"/"+lo, func(t *testing.T) {
					// The drain first.
					s[0].run("BEGIN")
					s[0].run(lock...)
					finish := blocked(t, s[2], s[1], inc)
					s[0].run("COMMIT")
					if err := finish(); err != nil {
						t.Fatal(err)
					}
					// The increment first, on an existing slot row.
					s[1].run("BEGIN", inc)
					finish = blocked(t, s[2], s[0], lock[0])
					s[1].run("COMMIT")
					if err := finish(); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
	// Increments of one row do not wait for each other's base row.
	s[0].run("BEGIN", increment(tab, "p.id = 1", "4", "views", "1", true))
	s[1].run("BEGIN", increment(tab, "p.slug = 'a'", "5", "views", "1", false))
	s[0].run("COMMIT")
	s[1].run("COMMIT")
	// Nor does a drain of one row wait for increments of another.
	s[0].run("BEGIN", increment(tab, "p.id = 2", "4", "views", "1", true))
	s[1].run("BEGIN")
	s[1].run(d.Lock(tab, keyed(tab, "p.id = 1"))...)
	s[1].fold(tab, []any{1})
	s[1].run("COMMIT")
	s[0].run("COMMIT")
	s[0].want("0", "SELECT COUNT(*) FROM posts_slots WHERE id = 1")
	s[0].want("1", "SELECT SUM(views) FROM posts_slots")
}

// TestWithoutForeignKeyChecks holds that the lock does not lean on the
// foreign key.
func TestWithoutForeignKeyChecks(t *testing.T) {
	s := sessions(t, 3)
	s[0].run(
		"CREATE TABLE posts (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, views INT NOT NULL, KEY covering (slug, views, id))",
		"INSERT INTO posts VALUES (1,'a',0)",
	)
	tab := load(t, s[0], "posts", []string{"id"}, []string{"views"}, 8)
	for _, c := range []struct {
		inc string
	}{{increment(tab, "p.slug = 'a'", "3", "views", "1", false)}, {increment(tab, "p.id = '1'", "3", "views", "1", true)}} {
		s[1].run("SET SESSION foreign_key_checks = 0", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
		s[0].run("BEGIN", "SELECT id FROM posts FORCE INDEX (PRIMARY) WHERE id = 1 FOR UPDATE")
		finish := blocked(t, s[2], s[1], c.inc)
		s[0].run("COMMIT")
		if err := finish(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoPrimaryKey holds the same for a table without a primary key.
func TestNoPrimaryKey(t *testing.T) {
	d := served(t)
	s := sessions(t, 3)
	s[0].run(
		"CREATE TABLE posts (a INT NOT NULL, b VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, views INT NOT NULL, UNIQUE KEY `odd ``name` (a, b), KEY covering (a, b, views))",
		"INSERT INTO posts VALUES (1,'x',5)",
		"CREATE TABLE single (n BIGINT, KEY (n))",
		"INSERT INTO single VALUES (7)",
	)
	tab := load(t, s[0], "posts", []string{"a", "b"}, []string{"views"}, 8)
	one := load(t, s[0], "single", nil, []string{"n"}, 8)
	for _, c := range []struct {
		t          *schema.Table
		inc, where string
		key        []any
	}{
		{tab, increment(tab, "a = 1 AND b = 'x'", "1", "views", "2", false), "a = 1 AND b = 'x'", []any{1, "78"}},
		{one, increment(one, "1 = 1", "1", "n", "2", false), "", []any{}},
	} {
		s[1].run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
		s[0].run("BEGIN")
		s[0].run(d.Lock(c.t, keyed(c.t, c.where))...)
		finish := blocked(t, s[2], s[1], c.inc)
		s[0].run("COMMIT")
		if err := finish(); err != nil {
			t.Fatal(err)
		}
		s[0].fold(c.t, c.key)
	}
	s[0].want("7", "SELECT views FROM posts")
	s[0].want("9", "SELECT n FROM single")
	s[0].want("0", "SELECT COUNT(*) FROM single_slots")
}

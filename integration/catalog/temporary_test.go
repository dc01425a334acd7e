package catalog

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// What a session's DDL makes old is read again once, not for each statement that follows: DDL whose text only has
// the letters of TEMP, a temporary table, and a block that may do anything.
func TestFactsAreCurrentAgain(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, 1)
		statements := map[string][]string{
			"a column of these letters": {"ALTER TABLE o0 ADD COLUMN failedattempts INTEGER"},
			"a new table of them":       {"CREATE TABLE templates (id INTEGER PRIMARY KEY)"},
			"a temporary table":         {"CREATE TEMPORARY TABLE mine (id INTEGER PRIMARY KEY)"},
			"in a transaction":          {"BEGIN", "CREATE TEMPORARY TABLE mine (id INTEGER PRIMARY KEY)", "COMMIT"},
			"rolled back":               {"BEGIN", "CREATE TEMPORARY TABLE mine (id INTEGER PRIMARY KEY)", "ROLLBACK"},
			"and dropped":               {"CREATE TEMPORARY TABLE mine (id INTEGER PRIMARY KEY)", "DROP TABLE mine"},
		}
		if dialect == "postgres" {
			statements["a block"] = []string{"DO $$ BEGIN PERFORM 1; END $$"}
			statements["that makes one"] = []string{"DO $$ BEGIN CREATE TEMP TABLE mine (id INT); END $$"}
		}
		for name, list := range statements {
			t.Run(name, func(t *testing.T) {
				r := parent(t, p)
				db := open(t, p, r, counters)
				db.SetMaxOpenConns(1)
				exec(t, db, increment, increment)
				exec(t, db, list...)
				exec(t, db, increment)
				r.asked()
				for range 5 {
					exec(t, db, increment)
				}
				if _, readings := r.asked(); readings > 0 {
					t.Errorf("the columns were read %d times for 5 statements", readings)
				}
			})
		}
	})
}

// A migration changes a table in a transaction and notes that it has run. Both concern other tables than the configured
// ones, so nothing is read for them, also after DDL whose text only has the letters of VIEW or RENAME, and after DDL of a view.
func TestMigrationsReadNothing(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, 1)
		for column, before := range map[string]string{
			"ordinary": "ALTER TABLE o0 ADD COLUMN ordinary INTEGER", "lastviewedat": "ALTER TABLE o0 ADD COLUMN lastviewedat INTEGER",
			"renamed": "ALTER TABLE o0 ADD COLUMN renamed INTEGER", "after_a_view": "CREATE VIEW v AS SELECT 1 AS one",
		} {
			t.Run(column, func(t *testing.T) {
				r := parent(t, p)
				db := open(t, p, r, counters)
				db.SetMaxOpenConns(1)
				exec(t, db, increment, before, increment)
				r.asked()
				for i := range 5 {
					exec(t, db, "BEGIN", fmt.Sprintf("ALTER TABLE o0 ADD COLUMN %s%d INTEGER", column, i), fmt.Sprintf("SELECT %d", i), "COMMIT")
				}
				if _, readings := r.asked(); readings > 0 {
					t.Errorf("the columns were read %d times for 5 migrations", readings)
				}
			})
		}
	})
}

// DROP TEMPORARY TABLE leaves a counter table of the name, its slots and the transaction alone.
func TestDropTemporaryWithoutOne(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "mysql",
		Schema:  []string{"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL)", "INSERT INTO posts VALUES (1, 'a', 0)"},
		Config:  "version: 1\nauto_migrate: true\ndefaults: {placement: random}\ntables: {posts: {counters: {views: {}}}}\n",
	})
	const count, drop = "UPDATE posts SET views = views + 1 WHERE id = 1", "DROP TEMPORARY TABLE IF EXISTS posts"
	p.Same(t, twin.Statement{SQL: count})
	p.Same(t, twin.Statement{SQL: drop})
	if _, err := p.Under.ExecContext(t.Context(), "SELECT 1 FROM posts_slots"); err != nil {
		t.Error(err)
	}
	on, end := p.Inside(t)
	for _, query := range []string{"UPDATE posts SET title = 'b' WHERE id = 1", count, drop, "SELECT * FROM posts"} {
		plain, wrapped := on.Run(t.Context(), twin.Statement{SQL: query})
		if ds := twin.Compare(plain, wrapped); len(ds) > 0 {
			t.Errorf("%s: %v", query, ds)
		}
	}
	if ds := end(false); len(ds) > 0 {
		t.Error(ds)
	}
	p.Same(t, twin.Statement{SQL: "SELECT * FROM posts"})
}

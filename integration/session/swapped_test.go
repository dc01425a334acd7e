package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Another client puts a copy in the counter table's place, as tools for online schema changes do. The
// slot table goes on referring to the table before, so no slot row can be made of a row that only the
// new one has. Increments of it are counted all the same, before the change is noticed and after it.
func TestTableSwappedByAnother(t *testing.T) {
	swaps := map[string][]string{
		"mysql": {
			"CREATE TABLE fresh LIKE posts", "INSERT INTO fresh SELECT * FROM posts", "INSERT INTO fresh (id, views) VALUES (77, 5)",
			"RENAME TABLE posts TO old, fresh TO posts",
		},
		"postgres": {
			"CREATE TABLE fresh (LIKE posts INCLUDING ALL)", "INSERT INTO fresh SELECT * FROM posts", "INSERT INTO fresh (id, views) VALUES (77, 5)",
			"BEGIN; ALTER TABLE posts RENAME TO old; ALTER TABLE fresh RENAME TO posts; COMMIT",
		},
	}
	const count = "UPDATE posts SET views = views + 1 WHERE id = 77"
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, inTx := range []bool{false, true} {
			if inTx && dialect == "postgres" {
				continue // an error ends its transaction: see docs/divergences.md
			}
			p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: always, Params: unprepared[dialect]})
			execAll(t, p.Wrapped, work[0], work[1], work[3])
			execAll(t, p.Under, swaps[dialect]...)
			if dialect == "mysql" && !inTx {
				conn := twin.Conn(t, p.Under)
				twin.ExecAll(t, conn, "SET foreign_key_checks = 0", "DROP TABLE old")
			}
			const times = 20
			for range times {
				add(t, p.Wrapped, count, inTx)
				add(t, p.Wrapped, work[0], inTx)
			}
			if got := value(t, p.Wrapped, "SELECT views FROM posts WHERE id = 77"); got != "25" {
				t.Errorf("the new row has %s, want 25", got)
			}
			if got := value(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); got != "33" {
				t.Errorf("row 1 has %s, want 33", got)
			}
		}
	})
}

// add runs an increment that affects one row.
func add(t *testing.T, db *sql.DB, query string, inTx bool) {
	t.Helper()
	exec := db.ExecContext
	if inTx {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		}()
		exec = tx.ExecContext
	}
	res, err := exec(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if n, _ := res.RowsAffected(); n != 1 {
		t.Errorf("%s: %d rows", query, n)
	}
}

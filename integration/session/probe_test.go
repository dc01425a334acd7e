package session

import (
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// compare runs a statement on both sides, whose outcomes must not differ in anything.
func compare(t *testing.T, on twin.Sides, s twin.Statement) {
	t.Helper()
	plain, wrapped := on.Run(t.Context(), s)
	if d := twin.Compare(plain, wrapped); len(d) > 0 {
		t.Errorf("%s, %v: %v", s.SQL, s.Args, d)
	}
}

// A point read asks whether its row has slots, and only of one that has some for their sum:
// rows with and without slots, and none, in turn, give what plain gives.
func TestPointReads(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, title VARCHAR(20), views INT NOT NULL, likes BIGINT)",
				"INSERT INTO posts VALUES (1, 'a', 'one', 10, 0), (2, 'b', 'two', 20, NULL), (3, 'c', NULL, 30, 1)",
			},
			Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: connection}\ntables: {posts: {counters: {views: {}, likes: {}}}}\n",
		})
		arg := "?"
		if dialect == "postgres" {
			arg = "$1"
		}
		reads := []string{
			"SELECT views FROM posts WHERE id = " + arg,
			"SELECT * FROM posts WHERE id = " + arg,
			"SELECT p.*, views * 2 AS twice, title FROM posts p WHERE p.id = " + arg + " AND title IS NOT NULL",
			"SELECT id, views AS n, likes FROM posts WHERE id = " + arg + " ORDER BY id LIMIT 1",
			"SELECT views, likes FROM posts WHERE views > 15 AND id = " + arg,
			"SELECT SUM(views) FROM posts WHERE id = " + arg,
			"SELECT views FROM posts WHERE id = " + arg + " ORDER BY likes -- comment",
		}
		all := func(on twin.Sides) {
			t.Helper()
			for _, read := range reads {
				for _, id := range []int{1, 2, 9, 3, 1, 1, 9, 2, 2, 3, 3, 3, 1} {
					compare(t, on, twin.Statement{SQL: read, Args: []any{id}})
					compare(t, on, twin.Statement{SQL: strings.Replace(read, arg, strconv.Itoa(id), 1)})
				}
			}
		}
		outside, _ := p.Outside()
		all(outside)
		p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 5, likes = likes - 3 WHERE id = 1"})
		all(outside)
		inside, end := p.Inside(t)
		all(inside)
		compare(t, inside, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 3"})
		all(inside)
		if d := end(false); len(d) > 0 {
			t.Error(d)
		}
		all(outside)
	})
}

// PostgreSQL is asked for a sum only of a row that has slots.
func TestPointReadsProbe(t *testing.T) {
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema:  []string{"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 10), (2, 20)"},
		Config:  "version: 1\nauto_migrate: true\ndefaults: {placement: connection}\ntables: {posts: {counters: {views: {}}}}\n",
	})
	conn, err := p.Wrapped.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sums := func(id, want int) (n int) {
		t.Helper()
		var views int
		if err := conn.QueryRowContext(t.Context(), "SELECT views FROM posts WHERE id = $1", id).Scan(&views); err != nil || views != want {
			t.Fatalf("row %d has %d, %v", id, views, err)
		}
		const kept = "SELECT COUNT(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT CASE %SUM(%posts_slots%'"
		if err := conn.QueryRowContext(t.Context(), kept).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 5 {
		if n := sums(2, 20); n != 0 {
			t.Fatal("a row without slots was read with their sum")
		}
	}
	if _, err := conn.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 2"); err != nil {
		t.Fatal(err)
	}
	if n := sums(2, 21); n != 1 {
		t.Fatal("a row with slots was read without their sum")
	}
}

package reads

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A LIMIT may be an argument that limits nothing: NULL on PostgreSQL, a negative number on SQLite.
func TestLimitArgumentThatIsNone(t *testing.T) {
	for dialect, none := range map[string]any{"sqlite": int64(-1), "postgres": nil} {
		t.Run(dialect, func(t *testing.T) {
			p := limitedPosts(t, dialect)
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 200 WHERE id = 1"})
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views - 100 WHERE id = 2"})
			sameFirstRows(t, p, dialect, [][]any{{none}, {int64(3)}, {none, int64(2)}, {int64(3), none}, {int64(0)}, {int64(math.MaxInt64)}},
				"SELECT id, views FROM posts WHERE views > 20 ORDER BY views, id",
				"SELECT id, views FROM (SELECT id, views FROM posts) d ORDER BY views DESC, id")
		})
	}
}

// pages is a LIMIT that its driver is given as rows. pgx gets it as it is, and asks for its value.
type pages int64

func (p pages) Value() (driver.Value, error) { return int64(p) * 2, nil }

// A LIMIT and an OFFSET may be arguments of any type that the driver takes.
func TestLimitArgumentTypes(t *testing.T) {
	five, two := int64(5), int64(2)
	twin.Each(t, func(t *testing.T, dialect string) {
		p := limitedPosts(t, dialect)
		for i := range 12 { // the first rows by their base values are not the first ones by their totals
			p.Same(t, twin.Statement{SQL: fmt.Sprintf("UPDATE posts SET views = views - 200 WHERE views = %d", 299-i)})
			p.Same(t, twin.Statement{SQL: fmt.Sprintf("UPDATE posts SET views = views - 200 WHERE id = %d", 43*(i+1)%300)})
		}
		sameFirstRows(t, p, dialect, [][]any{
			{5.0}, {2.5}, {true}, {"5"}, {&five}, {pages(5)},
			{5.0, 2.0}, {int64(5), 2.0}, {5.0, int64(2)}, {&five, &two}, {pages(5), pages(2)}, {"5", "2"}, {[]byte("5"), []byte("2")},
			{sql.NullInt64{Int64: 5, Valid: true}, 2}, {5, sql.NullInt64{}}, {int8(5), uint16(2)},
		})
	})
}

func limitedPosts(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL, views INT NOT NULL)",
			"CREATE INDEX posts_views ON posts (views)",
			"CREATE INDEX posts_author ON posts (author, views)",
			"INSERT INTO posts WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 300) " +
				"SELECT id, id % 2, id * 7 % 300 FROM n",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection}}\n",
	})
}

// sameFirstRows compares the first rows by LIMIT, and by OFFSET where there is a second argument.
func sameFirstRows(t *testing.T, p *twin.Pair, dialect string, lists [][]any, more ...string) {
	t.Helper()
	for _, query := range append(more,
		"SELECT id, views FROM posts ORDER BY views DESC, id",
		"SELECT id, views FROM posts ORDER BY author DESC, views DESC, id DESC",
		"SELECT id, views FROM posts ORDER BY views * 2 + author DESC, id",
		"SELECT DISTINCT views FROM posts ORDER BY views DESC",
		"SELECT id, RANK() OVER (ORDER BY views DESC) AS r FROM posts ORDER BY views DESC, id",
		"SELECT p.id, p.views FROM posts p JOIN posts q ON q.id = p.id ORDER BY p.views DESC, p.id",
	) {
		for _, args := range lists {
			limit := " LIMIT ?"
			if len(args) > 1 {
				limit += " OFFSET ?"
			}
			if dialect == "postgres" {
				limit = strings.Replace(strings.Replace(limit, "?", "$1", 1), "?", "$2", 1)
			}
			p.Same(t, twin.Statement{SQL: query + limit, Args: args})
		}
	}
}

package survey

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A Source finds the tables of a database, not its views, and which columns are in an index.
func TestSources(t *testing.T) {
	for driver, c := range map[string]struct {
		source Source
		dsn    func(testing.TB) string
	}{"mysql": {MySQL{}, server.MariaDB}, "pgx": {Postgres{}, server.Postgres}, "sqlite": {SQLite{}, server.SQLite}} {
		t.Run(driver, func(t *testing.T) {
			db, err := sql.Open(driver, c.dsn(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, q := range []string{
				"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(9), author INT, views INT)", "CREATE INDEX by_author ON posts (author)",
				"CREATE VIEW popular AS SELECT * FROM posts WHERE views > 9", "CREATE TABLE tags (name VARCHAR(9))",
			} {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s := dialect.PlainSession{Conn: conn}
			tables, err := c.source.Tables(t.Context(), s)
			if err != nil || len(tables) != 2 || tables[0].Name != "posts" || !tables[0].Visible || tables[1].Name != "tags" {
				t.Fatalf("tables %+v, %v", tables, err)
			}
			posts := &schema.Table{Schema: tables[0].Schema, Name: "posts"}
			if indexed, err := c.source.Indexed(t.Context(), s, posts); err != nil || !slices.Equal(indexed, []string{"author", "id"}) {
				t.Errorf("indexed columns %q, %v", indexed, err)
			}
			if name, err := c.source.Database(t.Context(), s); err != nil || strings.TrimSpace(name) == "" {
				t.Errorf("database %q, %v", name, err)
			}
		})
	}
}

package integration

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
)

// TestSplit compares reads that order or filter by a counter with the same
// reads of a table that holds the totals: with more rows than a threshold
// looks at in any case, with slots that hold little and slots that hold more
// than the base values, of either sign, by a counter that is nearly unique and
// by one with few values and NULL.
func TestSplit(t *testing.T) {
	for _, e := range []struct {
		plain, wrapped string
		dsn            func(testing.TB) string
		series         string
	}{
		{"pgx", "postgres-slotsql", server.Postgres, "generate_series(1, 5000) AS s(n)"},
		{"mysql", "mysql-slotsql", server.MariaDB, "(SELECT CAST(seq AS SIGNED) AS n FROM seq_1_to_5000) AS s"},
	} {
		for shape, sum := range map[string]string{
			"little":   "n % 7 - 2",
			"much":     "(n * 37) % 100000",
			"negative": "-((n * 37) % 9000)",
			"few much": "CASE WHEN n % 1000 = 0 THEN 500000 ELSE 1 END",
		} {
			t.Run(e.wrapped+"/"+shape, func(t *testing.T) {
				t.Parallel()
				dsn := e.dsn(t)
				plain := openSplit(t, e.plain, dsn, nil)
				for _, q := range []string{
					"CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, views int NOT NULL, likes int)",
					"INSERT INTO posts SELECT n, n % 40, (n * 7919) % 10000, CASE WHEN n % 11 <> 0 THEN n % 20 END FROM " + e.series,
					"CREATE INDEX v ON posts (views)", "CREATE INDEX l ON posts (likes)",
				} {
					execSplit(t, plain, q)
				}
				file := filepath.Join(t.TempDir(), "slotsql.yaml")
				if err := os.WriteFile(
					file,
					[]byte("version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}}}\n"),
					0o644,
				); err != nil {
					t.Fatal(err)
				}
				cfg, err := slotsql.Load(file)
				if err != nil {
					t.Fatal(err)
				}
				wrapped := openSplit(t, e.wrapped, dsn, cfg)
				execSplit(
					t,
					plain,
					"INSERT INTO posts_slots (id, slot, views, likes) SELECT n, n % 3, "+sum+", n % 5 - 1 FROM "+e.series+" WHERE n % 3 = 0",
				)
				execSplit(t, plain, "INSERT INTO posts_slots (id, slot, views, likes) SELECT n, 7, 1, 1 FROM "+e.series+" WHERE n % 30 = 0")
				execSplit(t, plain, "CREATE TABLE truth (id bigint PRIMARY KEY, author int NOT NULL, views int NOT NULL, likes int)")
				of := func(c string) string {
					return "p." + c + " + COALESCE((SELECT SUM(s." + c + ") FROM posts_slots s WHERE s.id = p.id), 0)"
				}
				execSplit(t, plain, "INSERT INTO truth SELECT p.id, p.author, "+of("views")+", "+of("likes")+" FROM posts p")

				r := rand.New(rand.NewPCG(1, 2))
				pick := func(list ...string) string { return list[r.IntN(len(list))] }
				for range 150 {
					var args []any
					number := func(n int) string {
						if r.IntN(2) == 0 {
							return fmt.Sprint(n)
						}
						args = append(args, n)
						if e.plain == "pgx" {
							return fmt.Sprintf("$%d", len(args))
						}
						return "?"
					}
					counter := pick("views", "views", "likes")
					compared := func() string {
						k := r.IntN(14000) - 2000
						if counter == "likes" {
							k = r.IntN(30) - 4
						}
						if r.IntN(2) == 0 {
							return number(k) + pick(" < ", " > ", " <= ", " >= ") + counter
						}
						return counter + pick(" < ", " > ", " <= ", " >= ", " = ") + number(k)
					}
					var where []string
					if r.IntN(2) == 0 {
						where = append(where, "author "+pick("<", ">", "=")+" "+number(r.IntN(40)))
					}
					ordered := r.IntN(2) == 0
					if !ordered || r.IntN(4) == 0 {
						where = append(where, compared())
						if r.IntN(4) == 0 {
							where = append(where, compared())
						}
					}
					q := "SELECT " + pick("id, views, likes", "*", "p.likes, p.*, p.views + 1") + " FROM posts " + pick("", "AS ") + "p"
					if len(where) > 0 {
						q += " WHERE " + strings.Join(where, " AND ")
					}
					if ordered {
						q += " ORDER BY " + counter + pick("", " ASC", " DESC") + pick("", ", likes", ", views DESC") + ", id" +
							pick("", " DESC") + " LIMIT " + number(r.IntN(30))
						if r.IntN(3) == 0 {
							q += " OFFSET " + number(r.IntN(50))
						}
					} else {
						q += " ORDER BY id"
					}
					want, got := rowsSplit(t, plain, strings.Replace(q, "FROM posts", "FROM truth", 1), args), rowsSplit(
						t,
						wrapped,
						q,
						args,
					)
					if want != got {
						t.Fatalf("%s %v\ngot  %.600s\nwant %.600s", q, args, got, want)
					}
				}
			})
		}
	}
}

func openSplit(t *testing.T, driver, dsn string, cfg *slotsql.Config) *sql.DB {
	t.Helper()
	var db *sql.DB
	var err error
	if cfg == nil {
		db, err = sql.Open(driver, dsn)
	} else if db, err = slotsql.Open(driver, dsn, slotsql.WithConfig(cfg)); err == nil {
		err = db.PingContext(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execSplit(t *testing.T, db *sql.DB, q string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), q); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
}

func rowsSplit(t *testing.T, db *sql.DB, q string, args []any) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), q, args...)
	if err != nil {
		t.Fatalf("%s %v: %v", q, args, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]sql.NullInt64, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var out strings.Builder
	fmt.Fprintln(&out, columns)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

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
// reads of a table that holds the totals: with more hot rows than a threshold
// looks up in any case, with slots that hold little and slots that hold more
// than the base values, of either sign.
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
					"CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, views int NOT NULL)",
					"INSERT INTO posts SELECT n, n % 40, (n * 7919) % 10000 FROM " + e.series,
					"CREATE INDEX v ON posts (views)",
				} {
					execSplit(t, plain, q)
				}
				file := filepath.Join(t.TempDir(), "slotsql.yaml")
				if err := os.WriteFile(file, []byte("version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				cfg, err := slotsql.Load(file)
				if err != nil {
					t.Fatal(err)
				}
				wrapped := openSplit(t, e.wrapped, dsn, cfg)
				execSplit(t, plain, "INSERT INTO posts_slots (id, slot, views) SELECT n, n % 3, "+sum+" FROM "+e.series+" WHERE n % 3 = 0")
				execSplit(t, plain, "CREATE TABLE truth (id bigint PRIMARY KEY, author int NOT NULL, views int NOT NULL)")
				execSplit(t, plain, "INSERT INTO truth SELECT p.id, p.author, p.views + COALESCE((SELECT SUM(s.views) FROM posts_slots s WHERE s.id = p.id), 0) FROM posts p")

				r := rand.New(rand.NewPCG(1, 2))
				pick := func(list ...string) string { return list[r.IntN(len(list))] }
				for range 150 {
					var where []string
					if r.IntN(2) == 0 {
						where = append(where, fmt.Sprintf("author %s %d", pick("<", ">", "="), r.IntN(40)))
					}
					q := "SELECT id, views FROM posts"
					tail := " ORDER BY id"
					if r.IntN(2) == 0 {
						dir := pick("", " ASC", " DESC")
						tail = fmt.Sprintf(" ORDER BY views%s, id%s LIMIT %d", dir, pick("", " DESC"), r.IntN(30))
						if r.IntN(3) == 0 {
							tail += fmt.Sprintf(" OFFSET %d", r.IntN(50))
						}
					}
					if r.IntN(2) == 0 || tail == " ORDER BY id" {
						k := r.IntN(14000) - 2000
						where = append(where, pick(fmt.Sprintf("views %s %d", pick("<", ">", "<=", ">=", "="), k), fmt.Sprintf("%d %s views", k, pick("<", ">", "<=", ">="))))
					}
					if len(where) > 0 {
						q += " WHERE " + strings.Join(where, " AND ")
					}
					q += tail
					want, got := rowsSplit(t, plain, strings.Replace(q, "FROM posts", "FROM truth", 1)), rowsSplit(t, wrapped, q)
					if want != got {
						t.Fatalf("%s\ngot  %.600s\nwant %.600s", q, got, want)
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

func rowsSplit(t *testing.T, db *sql.DB, q string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var id, views int64
		if err := rows.Scan(&id, &views); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%d:%d ", id, views)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

package bench

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
)

var (
	benchRows = flag.Int("reads.rows", 1_000_000, "rows of the base table in BenchmarkReads")
	benchPlan = flag.Bool(
		"reads.plans",
		false,
		"print EXPLAIN of every rewritten read in BenchmarkReads, not only of those above their bar",
	)
)

// BenchmarkReads measures reads of counters on a large table, plain beside
// wrapped, interleaved, and reports the median of each and their ratio.
func BenchmarkReads(b *testing.B) {
	largeTables(b, func(b *testing.B, e largeTable) {
		for _, hot := range []struct{ keys, slots int }{{0, 0}, {1000, 8}, {20000, 1}} {
			benchExec(b, e.under, "DELETE FROM posts_slots")
			if hot.keys > 0 {
				fillSlots(b, e.under, e.name, hot.keys, hot.slots)
			}
			for _, r := range reads {
				q := r.mysql
				if e.name == "postgres" && r.postgres != "" {
					q = r.postgres
				}
				b.Run(fmt.Sprintf("%s/hot=%d", r.name, hot.keys), func(b *testing.B) { compareReads(b, e.under, e.db, e.explain, q, r.bar, hot.keys) })
			}
		}
	})
}

// BenchmarkWritesByCounter measures statements that choose rows of the table by a counter, alone and in a
// transaction, and reports how many slot rows they fold.
func BenchmarkWritesByCounter(b *testing.B) {
	largeTables(b, func(b *testing.B, e largeTable) {
		for _, hot := range []struct{ keys, slots int }{{0, 1}, {1000, 8}, {20000, 1}} {
			for _, w := range []struct{ name, query string }{
				{"delete", "DELETE FROM posts WHERE views < 10"},
				{"update", "UPDATE posts SET title = 'hot' WHERE views > 999900"},
			} {
				for _, where := range []string{"alone", "transaction"} {
					b.Run(fmt.Sprintf("%s/hot=%d/%s", w.name, hot.keys, where), func(b *testing.B) {
						var plain, wrapped time.Duration
						folded := 0
						rounds := 3
						if hot.keys == 0 {
							rounds = 300
						}
						for i := range rounds {
							if i == 0 || hot.keys > 0 {
								benchExec(b, e.under, "DELETE FROM posts_slots")
								fillSlots(b, e.under, e.name, hot.keys, hot.slots)
								benchWrite(b, e.under, w.query, where == "transaction")
							}
							before := benchCount(b, e.under)
							wrapped += benchWrite(b, e.db, w.query, where == "transaction")
							folded += before - benchCount(b, e.under)
							plain += benchWrite(b, e.under, w.query, where == "transaction")
						}
						b.ReportMetric(plain.Seconds()*1000/float64(rounds), "plain-ms")
						b.ReportMetric(wrapped.Seconds()*1000/float64(rounds), "wrapped-ms")
						b.ReportMetric(float64(folded)/float64(rounds), "folded")
						b.ReportMetric(0, "ns/op")
					})
				}
			}
		}
	})
}

// benchWrite runs a statement, perhaps in a transaction, and returns how long that took.
func benchWrite(b *testing.B, db *sql.DB, query string, inTx bool) time.Duration {
	b.Helper()
	start := time.Now()
	if !inTx {
		benchExec(b, db, query)
		return time.Since(start)
	}
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := tx.ExecContext(b.Context(), query); err != nil {
		b.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func benchCount(b *testing.B, db *sql.DB) (n int) {
	b.Helper()
	if err := db.QueryRow("SELECT COUNT(*) FROM posts_slots").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// A largeTable is a table of many rows, plain and wrapped.
type largeTable struct {
	name, explain string
	under, db     *sql.DB
}

// largeTables makes the table on each engine.
func largeTables(b *testing.B, run func(b *testing.B, e largeTable)) {
	for _, e := range []struct {
		name, plain, wrapped, explain string
		dsn                           func(testing.TB) string
		fill                          []string
	}{
		{"postgres", "pgx", "postgres-slotsql", "EXPLAIN ", server.Postgres, []string{
			"CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, title varchar(80) NOT NULL, views int NOT NULL DEFAULT 0)",
			"INSERT INTO posts SELECT g, g % 20000, 'title of post number ' || g, (g::bigint * 7919) % 1000000 FROM generate_series(1, {rows}) g",
			"CREATE INDEX ON posts (views)", "CREATE INDEX ON posts (author)",
			"CREATE TABLE comments (id bigint PRIMARY KEY, post_id bigint NOT NULL, batch int NOT NULL)",
			"INSERT INTO comments SELECT g, (g::bigint * 104729) % {rows} + 1, g % 100 FROM generate_series(1, 100000) g",
			"CREATE INDEX ON comments (batch)", "CREATE INDEX ON comments (post_id)", "VACUUM ANALYZE",
		}},
		{"mysql", "mysql", "mysql-slotsql", "EXPLAIN ", server.MariaDB, []string{
			"CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, title varchar(80) NOT NULL, views int NOT NULL DEFAULT 0)",
			"INSERT INTO posts SELECT seq, seq % 20000, CONCAT('title of post number ', seq), (seq * 7919) % 1000000 FROM seq_1_to_{rows}",
			"CREATE INDEX v ON posts (views)", "CREATE INDEX a ON posts (author)",
			"CREATE TABLE comments (id bigint PRIMARY KEY, post_id bigint NOT NULL, batch int NOT NULL)",
			"INSERT INTO comments SELECT seq, (seq * 104729) % {rows} + 1, seq % 100 FROM seq_1_to_100000",
			"CREATE INDEX b ON comments (batch)", "CREATE INDEX p ON comments (post_id)", "ANALYZE TABLE posts, comments",
		}},
		{"sqlite", "sqlite", "sqlite3-slotsql", "EXPLAIN QUERY PLAN ", sqliteFile, []string{
			"CREATE TABLE posts (id integer PRIMARY KEY, author int NOT NULL, title varchar(80) NOT NULL, views int NOT NULL DEFAULT 0)",
			"INSERT INTO posts SELECT n, n % 20000, 'title of post number ' || n, (n * 7919) % 1000000 FROM " + server.SQLiteSeries("1", "{rows}"),
			"CREATE INDEX v ON posts (views)", "CREATE INDEX a ON posts (author)",
			"CREATE TABLE comments (id integer PRIMARY KEY, post_id bigint NOT NULL, batch int NOT NULL)",
			"INSERT INTO comments SELECT n, (n * 104729) % {rows} + 1, n % 100 FROM " + server.SQLiteSeries("1", "100000"),
			"CREATE INDEX b ON comments (batch)", "CREATE INDEX p ON comments (post_id)", "ANALYZE",
		}},
	} {
		b.Run(e.name, func(b *testing.B) {
			dsn := e.dsn(b)
			plain, err := sql.Open(e.plain, dsn)
			if err != nil {
				b.Fatal(err)
			}
			defer plain.Close()
			for _, q := range e.fill {
				benchExec(b, plain, strings.ReplaceAll(q, "{rows}", fmt.Sprint(*benchRows)))
			}
			file := filepath.Join(b.TempDir(), "slotsql.yaml")
			if err := os.WriteFile(
				file,
				[]byte("version: 1\nauto_migrate: true\ntables:\n  posts:\n    counters: {views: {}}\n    slots: 64\n"),
				0o644,
			); err != nil {
				b.Fatal(err)
			}
			cfg, err := slotsql.Load(file)
			if err != nil {
				b.Fatal(err)
			}
			db, err := slotsql.Open(e.wrapped, dsn, slotsql.WithConfig(cfg))
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			if err := db.Ping(); err != nil {
				b.Fatal(err)
			}
			run(b, largeTable{e.name, e.explain, plain, db})
		})
	}
}

func benchExec(b *testing.B, db *sql.DB, q string) {
	b.Helper()
	if _, err := db.Exec(q); err != nil {
		b.Fatalf("%s: %v", q, err)
	}
}

// sqliteFile is a database of its own.
func sqliteFile(t testing.TB) string {
	return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=busy_timeout(10000)"
}

// fillSlots gives keys keys slot rows: half of them spread, half at the top.
func fillSlots(b *testing.B, db *sql.DB, engine string, keys, slots int) {
	b.Helper()
	gen, analyze := fmt.Sprintf("generate_series(0, %d) AS s(n)", slots-1), "VACUUM ANALYZE posts_slots"
	switch engine {
	case "sqlite":
		gen, analyze = server.SQLiteSeries("0", fmt.Sprint(slots-1)), "ANALYZE"
	case "mysql":
		gen, analyze = fmt.Sprintf("(SELECT seq AS n FROM seq_0_to_%d) AS s", slots-1), "ANALYZE TABLE posts_slots"
	}
	for _, part := range []string{
		fmt.Sprintf("(SELECT id FROM posts ORDER BY views DESC LIMIT %d) AS k", keys/2),
		fmt.Sprintf("(SELECT id FROM posts WHERE id %% %d = 3 AND views < 900000 ORDER BY id LIMIT %d) AS k", max(1, *benchRows/max(1, keys)), keys/2),
	} {
		benchExec(b, db, "INSERT INTO posts_slots (id, slot, views) SELECT k.id, s.n, 1 + k.id % 5 FROM "+part+", "+gen)
	}
	benchExec(b, db, analyze)
}

func compareReads(b *testing.B, plain, wrapped *sql.DB, explain, q string, fine bar, keys int) {
	var args []any
	if strings.ContainsAny(q, "?$") {
		args = []any{4242}
	}
	read := func(db *sql.DB) (time.Duration, int) {
		start := time.Now()
		rows, err := db.QueryContext(context.Background(), q, args...)
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Err(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start), n
	}
	_, np := read(plain)
	_, nw := read(wrapped)
	if np != nw && !strings.Contains(q, "views >") && !strings.Contains(q, "views, id) <") {
		b.Fatalf("plain has %d rows, wrapped %d", np, nw)
	}
	var p, w []time.Duration
	b.ResetTimer()
	for i := 0; i < max(b.N, 7); i++ {
		d, _ := read(plain)
		p = append(p, d)
		d, _ = read(wrapped)
		w = append(w, d)
	}
	slices.Sort(p)
	slices.Sort(w)
	pm, wm := p[len(p)/2], w[len(w)/2]
	b.ReportMetric(float64(pm.Microseconds())/1000, "plain-ms")
	b.ReportMetric(float64(wm.Microseconds())/1000, "wrapped-ms")
	b.ReportMetric(float64(wm)/float64(pm), "ratio")
	b.ReportMetric(0, "ns/op")
	if *benchPlan || fine != nil && !fine(pm, wm, keys) {
		e, err := slotsql.Explain(b.Context(), wrapped, q)
		if err != nil {
			b.Fatal(err)
		}
		if e.Rewritten != nil && len(e.Rewritten.Args) == 0 { // it takes those of the query
			q = e.Rewritten.SQL
		}
		b.Log("\n" + explainRead(b, plain, explain+q, args))
	}
}

func explainRead(b testing.TB, db *sql.DB, q string, args []any) string {
	b.Helper()
	rows, err := db.Query(q, args...)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	cols, _ := rows.Columns()
	var out strings.Builder
	for rows.Next() {
		vals := make([]any, len(cols))
		for i := range vals {
			vals[i] = new(sql.NullString)
		}
		if err := rows.Scan(vals...); err != nil {
			b.Fatal(err)
		}
		var cells []string
		for _, v := range vals {
			if text := v.(*sql.NullString).String; text != "" {
				cells = append(cells, text)
			}
		}
		fmt.Fprintf(&out, "%.160s\n", strings.Join(cells, "  "))
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return out.String()
}

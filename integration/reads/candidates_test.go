// Package reads holds the tests of queries of counters that have slots: rows, their order and types are
// those of the plain driver.
package reads

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

var (
	candidatesSeed = flag.Uint64("candidates.seed", 1, "seed of TestCandidates")
	candidatesN    = flag.Int("candidates.n", 400, "queries of TestCandidates for each engine and kind of slots")
)

// TestCandidates compares reads that order or filter by a counter with the same
// reads of a table that holds the totals: with slots that hold little and slots that hold more
// than the base values, of either sign, by a counter that is nearly unique and
// by one with few values and NULL.
func TestCandidates(t *testing.T) {
	for _, e := range []struct {
		plain, wrapped string
		dsn            func(testing.TB) string
		series         string
	}{
		{"pgx", "postgres-slotsql", server.Postgres, "generate_series(1, 5000) AS s(n)"},
		{"mysql", "mysql-slotsql", server.MariaDB, "(SELECT seq AS n FROM " + server.Series(5000) + ") AS s"},
		{"sqlite", "sqlite3-slotsql", server.SQLite, server.SQLiteSeries("1", "5000")},
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
				plain := openCandidates(t, e.plain, dsn, nil)
				for _, q := range []string{
					"CREATE TABLE posts (id bigint PRIMARY KEY, author int NOT NULL, views int NOT NULL, likes int)",
					"INSERT INTO posts SELECT n, n % 40, (n * 7919) % 10000, CASE WHEN n % 11 <> 0 THEN n % 20 END FROM " + e.series,
					"CREATE INDEX v ON posts (views)", "CREATE INDEX l ON posts (likes)",
					"CREATE TABLE authors (id int PRIMARY KEY, team int NOT NULL, karma int NOT NULL)",
					"INSERT INTO authors SELECT n, n % 4, (n * 7919) % 10000 FROM " + e.series + " WHERE n <= 30",
				} {
					twin.ExecAll(t, plain, q)
				}
				file := filepath.Join(t.TempDir(), "slotsql.yaml")
				if err := os.WriteFile(
					file,
					[]byte("version: 1\nauto_migrate: true\ndefaults: {slots: 8}\n"+
						"tables: {posts: {counters: {views: {}, likes: {}}}, authors: {counters: {karma: {}}}}\n"),
					0o644,
				); err != nil {
					t.Fatal(err)
				}
				cfg, err := slotsql.Load(file)
				if err != nil {
					t.Fatal(err)
				}
				wrapped := openCandidates(t, e.wrapped, dsn, cfg)
				twin.ExecAll(
					t,
					plain,
					"INSERT INTO posts_slots (id, slot, views, likes) SELECT n, n % 3, "+sum+", n % 5 - 1 FROM "+e.series+" WHERE n % 3 = 0",
				)
				twin.ExecAll(t, plain, "INSERT INTO posts_slots (id, slot, views, likes) SELECT n, 7, 1, 1 FROM "+e.series+" WHERE n % 30 = 0")
				twin.ExecAll(t, plain, "CREATE TABLE truth (id bigint PRIMARY KEY, author int NOT NULL, views int NOT NULL, likes int)")
				of := func(c string) string {
					return "p." + c + " + COALESCE((SELECT SUM(s." + c + ") FROM posts_slots s WHERE s.id = p.id), 0)"
				}
				twin.ExecAll(t, plain, "INSERT INTO truth SELECT p.id, p.author, "+of("views")+", "+of("likes")+" FROM posts p")

				twin.ExecAll(
					t,
					plain,
					"INSERT INTO authors_slots (id, slot, karma) SELECT n, n % 4, "+sum+" FROM "+e.series+" WHERE n <= 30 AND n % 3 = 0",
				)
				twin.ExecAll(t, plain, "CREATE TABLE people (id int PRIMARY KEY, team int NOT NULL, karma int NOT NULL)")
				twin.ExecAll(
					t,
					plain,
					"INSERT INTO people SELECT a.id, a.team, a.karma +"+
						" COALESCE((SELECT SUM(s.karma) FROM authors_slots s WHERE s.id = a.id), 0) FROM authors a",
				)
				g := &candidateQueries{r: rand.New(rand.NewPCG(*candidatesSeed, 2)), numbered: e.plain == "pgx"}
				for range *candidatesN {
					q, args := g.query()
					want := rowsCandidates(t, plain, strings.NewReplacer(" posts p", " truth p", " authors a", " people a").Replace(q), args)
					if got := rowsCandidates(t, wrapped, q, args); want != got {
						t.Fatalf("%s %v\ngot  %.600s\nwant %.600s", q, args, got, want)
					}
				}
			})
		}
	}
}

// candidateQueries makes queries that order by a counter or compare it.
type candidateQueries struct {
	r        *rand.Rand
	numbered bool // placeholders are $1
	args     []any
}

func (g *candidateQueries) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *candidateQueries) number(n int) string {
	if g.r.IntN(2) == 0 {
		return fmt.Sprint(n)
	}
	g.args = append(g.args, n)
	if g.numbered {
		return fmt.Sprintf("$%d", len(g.args))
	}
	return "?"
}

// value is one that a counter may have.
func (g *candidateQueries) value(counter string) string {
	if counter == "likes" {
		return g.number(g.r.IntN(30) - 4)
	}
	return g.number(g.r.IntN(14000) - 2000)
}

// compared is a condition on a counter.
func (g *candidateQueries) compared(counter string) string {
	p := "p." + counter
	switch g.r.IntN(12) {
	case 0:
		return g.value(counter) + g.pick(" < ", " > ", " <= ", " >= ", " = ") + p
	case 1:
		return p + " BETWEEN " + g.value(counter) + " AND " + g.value(counter)
	case 2:
		list := []string{g.value(counter)}
		for range g.r.IntN(6) {
			list = append(list, g.value(counter))
		}
		return p + " IN (" + strings.Join(list, ", ") + ")"
	case 3:
		return "(" + p + ", p.id) " + g.pick("<", ">", "<=", ">=") + " (" + g.value(counter) + ", " + g.number(g.r.IntN(5000)) + ")"
	case 4:
		n := g.value(counter)
		return "(" + p + " < " + n + " OR (" + p + " = " + g.value(counter) + " AND p.id < " + g.number(g.r.IntN(5000)) + "))"
	case 5:
		return "(" + p + " IS NULL OR " + p + g.pick(" < ", " > ") + g.value(counter) + ")"
	case 6:
		return p + g.pick(" < ", " > ", " <= ", " >= ", " = ") + g.queryBound(counter)
	case 7:
		switch g.r.IntN(3) {
		case 0:
			return p + " BETWEEN " + g.value(counter) + " AND " + g.queryBound(counter)
		case 1:
			return "(" + p + " > " + g.queryBound(counter) + " OR " + p + " = " + g.value(counter) + ")"
		}
		return "NOT (" + g.queryBound(counter) + g.pick(" < ", " > ", " <= ", " >= ") + p + ")"
	}
	return p + g.pick(" < ", " > ", " <= ", " >= ", " = ") + g.value(counter)
}

// queryBound is a bound that is a query, of the table itself or of another one.
func (g *candidateQueries) queryBound(counter string) string {
	p := "px." + counter
	switch g.r.IntN(8) {
	case 0:
		return "(SELECT " + p + " FROM posts px WHERE px.id = " + g.number(g.r.IntN(5100)) + ")"
	case 1:
		return "(SELECT " + g.pick("MIN(", "MAX(") + p + ") FROM posts px WHERE px.author < " + g.number(g.r.IntN(40)) + ")"
	case 2:
		return "(SELECT AVG(" + p + ")" + g.pick("", " * 2", " / 3", " + 10") + " FROM posts px)"
	case 3:
		return "(SELECT " + p + " FROM posts px WHERE " + p + " IS NOT NULL ORDER BY " + p + g.pick("", " DESC") + " LIMIT 1 OFFSET " +
			fmt.Sprint(g.r.IntN(5000)) + ")"
	case 4:
		return "(SELECT id FROM authors WHERE id = " + g.number(g.r.IntN(60)) + ")"
	case 5: // no bound
		return "(SELECT MAX(a.id) FROM authors a WHERE a.id <= p.author)"
	case 6:
		return "(SELECT " + g.pick("MAX(", "MIN(") + p + ") FROM posts px)"
	}
	return "(SELECT " + g.pick("COUNT(*)", "COUNT(px.likes) - 100", "COALESCE(MAX(px.views), 0)") +
		" FROM posts px WHERE " + p + " > " + g.value(counter) + ")"
}

// ofAuthor is a condition on the table beside that of the counters.
func (g *candidateQueries) ofAuthor() string {
	switch g.r.IntN(4) {
	case 0:
		return "a.team = " + g.number(g.r.IntN(5))
	case 1:
		return "a.karma " + g.pick("<", ">", "=") + " " + g.value("views")
	case 2:
		return "a.karma " + g.pick("%", "- 5 *") + " 2 = 1"
	}
	return "a.id " + g.pick("<", ">", "<>", "=") + " " + g.number(g.r.IntN(30))
}

func (g *candidateQueries) query() (string, []any) {
	g.args = nil
	counter := g.pick("views", "views", "likes")
	ordinary := func() string {
		if g.r.IntN(3) == 0 {
			return "p.author IN (SELECT id FROM authors WHERE id > " + g.number(g.r.IntN(30)) + ")"
		}
		return "p.author " + g.pick("<", ">", "=") + " " + g.number(g.r.IntN(40))
	}
	where := func(least int) string {
		var conds []string
		for range least + g.r.IntN(4)/3 {
			conds = append(conds, g.compared(g.pick(counter, counter, "views", "likes")))
		}
		if g.r.IntN(3) == 0 {
			conds = append(conds, ordinary())
		}
		if g.r.IntN(6) == 0 { // which few rows meet, anywhere in the counter's order
			conds = append(conds, "p."+counter+" % 500 = "+g.number(g.r.IntN(500)))
		}
		if len(conds) == 0 {
			return ""
		}
		return " WHERE " + strings.Join(conds, " AND ")
	}
	limit := func() string {
		out := " LIMIT " + g.number(g.r.IntN(30))
		if g.r.IntN(3) == 0 {
			out += " OFFSET " + g.number(g.r.IntN(50))
		}
		return out
	}
	items := g.pick("p.id, p.views, p.likes", "p.*", "p.likes, p.*, p.views + 1")
	order := func() string {
		return " ORDER BY p." + counter + g.pick("", " ASC", " DESC") + g.pick("", ", p.likes", ", p.views DESC") + ", p.id" + g.pick("", " DESC")
	}
	var q string
	switch g.r.IntN(17) {
	case 0, 1:
		q = "SELECT " + items + " FROM posts p" + where(0) + order() + limit()
	case 2:
		q = "SELECT " + g.pick("COUNT(*), SUM(p.views), MAX(p.likes), MIN(p.id)", "MAX(p.views), MIN(p.views)", "MIN(p.likes)", "MAX(p."+counter+") - MIN(p.likes)") + " FROM posts p" + where(g.r.IntN(2))
	case 3:
		q = "SELECT p.author, COUNT(*), SUM(p.views) FROM posts p" + where(1) + " GROUP BY p.author ORDER BY p.author"
	case 4:
		q = "WITH h AS (SELECT p.id, p.author FROM posts p" + where(1) + ") SELECT COUNT(*) FROM h JOIN authors a ON a.id = h.author"
	case 5:
		q = "SELECT a.id, " + items + " FROM authors a " + g.pick("JOIN", "LEFT JOIN") + " posts p ON p.author = a.id" + where(1)
		if g.r.IntN(2) == 0 {
			q += " AND " + g.ofAuthor()
		}
		q += order() + limit()
	case 6:
		q = "SELECT a.id FROM authors a WHERE " + g.pick("", "NOT ") + "EXISTS (SELECT 1 FROM posts p" + where(1) + " AND p.author = a.id) ORDER BY a.id"
	case 7:
		q = "SELECT a.id FROM authors a WHERE a.id " + g.pick("", "NOT ") + "IN (SELECT p.author FROM posts p" + where(1) + ") ORDER BY a.id"
	case 8, 14:
		q = "SELECT a.id, " + items + " FROM posts p " + g.pick("JOIN", "LEFT JOIN") + " authors a ON " +
			g.pick("a.id % 5 = p.author % 7", "a.id % 5 = p.author % 7 AND a.id > 12", "a.id = p.id", "a.id * 100 = p.id") + where(0)
		if g.r.IntN(2) == 0 {
			and := " WHERE "
			if strings.Contains(q, " WHERE ") {
				and = " AND "
			}
			q += and + g.ofAuthor()
		}
		q += g.pick(order()+", a.id", order()+", a.id", " ORDER BY a.karma"+g.pick("", " DESC")+", p.id, a.id",
			" ORDER BY p."+counter+g.pick("", " DESC")+", a.karma, p.id, a.id") + limit()
	case 9:
		q = "SELECT COUNT(*), SUM(d.author), MAX(d." + counter + ") FROM (SELECT p.id, p.likes, p.author, p.views AS views FROM posts p" + where(0) +
			") d WHERE " + strings.ReplaceAll(g.compared(counter), "p.", "d.") +
			g.pick("", " AND (d."+counter+" <> 3 OR d."+counter+" = d."+counter+")")
	case 10:
		q = "WITH h AS (SELECT p.* FROM posts p" + where(0) + ") SELECT a.id, h.id FROM authors a " + g.pick("JOIN", "LEFT JOIN") +
			" h ON h.author = a.id WHERE " + strings.ReplaceAll(g.compared(counter), "p.", "h.") + " ORDER BY a.id, h.id"
	case 11, 12:
		by := order()
		first, _, _ := strings.Cut(by, ",")
		q = "SELECT p.id, p.views, p.likes, " + g.pick("ROW_NUMBER() OVER ("+by[1:]+")", "RANK() OVER ("+first[1:]+")",
			"DENSE_RANK() OVER (PARTITION BY p.author"+first+")", "COUNT(*) OVER ("+first[1:]+")") + " AS n FROM posts p" + where(0) + by + limit()
	case 15:
		by := " ORDER BY p.id"
		if g.r.IntN(2) == 0 {
			by = order() + limit()
		}
		q = "SELECT p.id, po.id FROM posts p " + g.pick("JOIN", "LEFT JOIN") + " posts po ON po.id = p.author + 1" + where(1) +
			" AND " + strings.ReplaceAll(g.compared(g.pick(counter, "views")), "p.", "po.") + by
	case 16:
		q = "SELECT d.id, d.views, d.w FROM (SELECT p.id, p.author, p.views, p.likes, po." + counter + " AS w FROM posts p " +
			g.pick("JOIN", "LEFT JOIN") + " posts po ON po.id = p.author + 1" + where(0) + ") d WHERE " +
			strings.ReplaceAll(g.compared("views"), "p.", "d.") + " AND d.w " + g.pick("<", ">", "=") + " " + g.value(counter) + " ORDER BY d.id"
	default:
		q = "SELECT " + items + " FROM posts p" + where(1) + " ORDER BY p.id"
	}
	return q, g.args
}

func openCandidates(t *testing.T, driver, dsn string, cfg *slotsql.Config) *sql.DB {
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

func rowsCandidates(t *testing.T, db *sql.DB, q string, args []any) string {
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

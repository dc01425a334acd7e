package slotsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	parent "modernc.org/sqlite"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/sqlite"
)

// exampleConfig is what slotsql.yaml would hold.
const exampleConfig = `version: 1
defaults: {slots: 64, placement: connection} # slots on SQLite, too, which has none by itself
auto_migrate: true
tables:
  posts:
    counters:
      views:
        recount: SELECT post_id AS id, COUNT(*) AS views FROM visits GROUP BY post_id
`

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// blog makes a database with a post that has been seen 40 times, and returns
// its DSN and what removes it.
func blog() (dsn string, remove func()) {
	dir := must(os.MkdirTemp("", "slotsql"))
	dsn = filepath.Join(dir, "blog.db")
	db := must(sql.Open("sqlite", dsn))
	defer db.Close()
	must(db.Exec(`
		CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, views INTEGER NOT NULL DEFAULT 0);
		CREATE TABLE visits (post_id INTEGER NOT NULL);
		INSERT INTO posts VALUES (7, 'Hello', 2);
		INSERT INTO visits VALUES (7), (7), (7)`))
	return dsn, func() { os.RemoveAll(dir) }
}

func config() *slotsql.Config { return must(slotsql.Parse([]byte(exampleConfig), "slotsql.yaml")) }

// A connector of the parent driver is wrapped where an application has one, for
// example because it was given a TLS configuration in code.
func ExampleOpenDB() {
	dsn, remove := blog()
	defer remove()

	connector := must(parent.NewConnector(dsn))
	db := must(slotsql.OpenDB(connector, sqlite.Dialect(), config()))
	defer db.Close()

	must(db.Exec("UPDATE posts SET views = views + 1 WHERE id = ?", 7))
	var views int
	if err := db.QueryRow("SELECT views FROM posts WHERE id = ?", 7).Scan(&views); err != nil {
		log.Fatal(err)
	}
	fmt.Println(views)
	// Output: 3
}

// WrapConnector is for code that goes on wrapping: an instrumentation package,
// or a library that takes a driver.Connector.
func ExampleWrapConnector() {
	dsn, remove := blog()
	defer remove()

	var wrapped driver.Connector = must(slotsql.WrapConnector(must(parent.NewConnector(dsn)), sqlite.Dialect(), config()))
	db := sql.OpenDB(wrapped)
	defer db.Close()

	var title string
	if err := db.QueryRow("SELECT title FROM posts").Scan(&title); err != nil {
		log.Fatal(err)
	}
	fmt.Println(title)
	// Output: Hello
}

// A driver of one's own, such as one that sets pragmas on each connection, is
// registered under a name beside its dialect.
func ExampleRegister() {
	dsn, remove := blog()
	defer remove()

	slotsql.Register("sqlite3-blog", &parent.Driver{}, sqlite.Dialect(), config())
	db := must(sql.Open("sqlite3-blog", dsn))
	defer db.Close()

	res := must(db.Exec("UPDATE posts SET views = views + 1 WHERE id = ?", 8))
	fmt.Println(must(res.RowsAffected()), "rows: there is no post 8")
	// Output: 0 rows: there is no post 8
}

// Without WithConfig the configuration is looked for as FindConfig does.
func ExampleWithConfig() {
	dsn, remove := blog()
	defer remove()

	db := must(slotsql.Open("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	defer db.Close()
	fmt.Println(db.Ping())
	// Output: <nil>
}

// Stats counts the statements of the process by class, and gives the reason of
// those that are not as fast as can be.
func ExampleStats() {
	dsn, remove := blog()
	defer remove()
	db := must(slotsql.Open("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	defer db.Close()

	must(db.Exec("UPDATE posts SET views = CASE WHEN views < 1000 THEN 999 END WHERE id = 7"))
	drains := uint64(0)
	for _, s := range slotsql.Stats() {
		if s.Class == "drain" {
			drains += s.Statements // s.Reason says why
		}
	}
	fmt.Println(drains > 0)
	// Output: true
}

// RollUp moves what slots hold into the base rows once. With rollup: in the
// configuration the application does so by itself.
func ExampleRollUp() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	db := sql.OpenDB(connector)
	defer db.Close()
	must(db.Exec("UPDATE posts SET views = views + 5 WHERE id = 7"))

	report := must(slotsql.RollUp(context.Background(), connector, slotsql.RollUpOptions{}))
	fmt.Println(report.Moved(), "slot row rolled up")
	// Output: 1 slot row rolled up
}

// Migrate creates the slot tables that are missing, for an application that
// does so when it is deployed and not when it starts.
func ExampleMigrate() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))

	fmt.Println(must(slotsql.Migrate(context.Background(), connector)))
	fmt.Println(must(slotsql.Migrate(context.Background(), connector)))
	// Output:
	// [posts_slots]
	// []
}

// Verify holds the totals against the query that the configuration gives for
// the counter.
func ExampleVerify() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	must(slotsql.Migrate(context.Background(), connector))

	for _, r := range must(slotsql.Verify(context.Background(), connector, slotsql.VerifyOptions{})) {
		for _, f := range r.Findings {
			fmt.Printf("%s of %s %s is %s, and should be %s\n", f.Counter, r.Table, f.Key["id"], f.Is, f.Should)
		}
	}
	// Output: views of posts 7 is 2, and should be 3
}

// Drain folds all slots into the base rows, for the day when slotsql is taken
// out again.
func ExampleDrain() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	db := sql.OpenDB(connector)
	must(db.Exec("UPDATE posts SET views = views + 5 WHERE id = 7"))
	db.Close()

	must(slotsql.Drain(context.Background(), connector, slotsql.DrainOptions{}))
	plain := must(sql.Open("sqlite", dsn))
	defer plain.Close()
	var views int
	if err := plain.QueryRow("SELECT views FROM posts WHERE id = 7").Scan(&views); err != nil {
		log.Fatal(err)
	}
	fmt.Println(views)
	// Output: 7
}

// With on_drain: error a table's configuration has statements refused that
// would be slow; the error names the reason.
func ExampleDrainError() {
	dsn, remove := blog()
	defer remove()
	strict := must(
		slotsql.Parse([]byte("version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: }, on_drain: error}}"), "slotsql.yaml"),
	)
	db := must(slotsql.Open("sqlite3-slotsql", dsn, slotsql.WithConfig(strict)))
	defer db.Close()

	_, err := db.Exec("UPDATE posts SET views = 0 WHERE id = 7")
	var drain *slotsql.DrainError
	fmt.Println(errors.As(err, &drain), errors.Is(err, slotsql.ErrDrain))
	fmt.Println(drain.Table)
	// Output:
	// true true
	// posts
}

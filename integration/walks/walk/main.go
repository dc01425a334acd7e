// Walk executes each of a few statements once, when it has run often before, and prints which functions of slotsql that ran. It is
// built with -cover -covermode=atomic.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	_ "github.com/slotsql/slotsql/postgres"
)

const module = "github.com/slotsql/slotsql/"

const config = `version: 1
auto_migrate: true
defaults: {slots: 64}
tables:
  posts: {counters: {views: {}}}
  hot: {counters: {views: {}}, placement: connection}
`

// warm is how often a statement runs before it is watched.
const warm = 50

func main() {
	dsn := flag.String("dsn", "", "a PostgreSQL database, in which tables are created")
	flag.Parse()
	if err := run(context.Background(), *dsn); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string) error {
	plain, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer plain.Close()
	for _, table := range []string{"posts", "hot", "other"} {
		_, err := plain.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (id INT PRIMARY KEY, views BIGINT NOT NULL, title TEXT);"+
			"INSERT INTO "+table+" SELECT n, 0, '' FROM generate_series(1, 100) AS n ON CONFLICT DO NOTHING")
		if err != nil {
			return err
		}
	}
	parsed, err := slotsql.Parse([]byte(config), "walk.yaml")
	if err != nil {
		return err
	}
	db, err := slotsql.Open("postgres-slotsql", dsn, slotsql.WithConfig(parsed))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, w := range walks(ctx, db) {
		ran, err := watch(w.walk)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		report(w.name, ran)
	}
	return nil
}

type walk struct {
	name string
	walk func() error
}

func walks(ctx context.Context, db *sql.DB) []walk {
	execute := func(query string, args ...any) func() error {
		return func() error {
			_, err := db.ExecContext(ctx, query, args...)
			return err
		}
	}
	read := func(query string, args ...any) func() error {
		return func() error {
			rows, err := db.QueryContext(ctx, query, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		}
	}
	transaction := func(query string, args ...any) func() error {
		return func() error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback() //nolint:errcheck // after an error, which is returned
			if _, err := tx.ExecContext(ctx, query, args...); err != nil {
				return err
			}
			return tx.Commit()
		}
	}
	return []walk{
		{"a statement on another table", execute("UPDATE other SET title = $1 WHERE id = $2", "x", 7)},
		{"a change of other columns", execute("UPDATE posts SET title = $1 WHERE id = $2", "x", 7)},
		{"an increment of a cold row", execute("UPDATE posts SET views = views + 1 WHERE id = $1", 7)},
		{"an increment of a cold row, with BEGIN and COMMIT", transaction("UPDATE posts SET views = views + 1 WHERE id = $1", 7)},
		{"an increment in a slot, with BEGIN and COMMIT", transaction("UPDATE hot SET views = views + 1 WHERE id = $1", 7)},
		{"a read by key of a sleeping table", read("SELECT title, views FROM posts WHERE id = $1", 7)},
		{"a list from a sleeping table", read("SELECT id, views FROM posts WHERE title = $1 LIMIT 20", "y")},
		{"a SET of a cold row", execute("UPDATE posts SET views = $1 WHERE id = $2", 8, 9)},
	}
}

// watch returns the functions that run, each behind its file.
func watch(f func() error) (ran []string, err error) {
	dir, err := os.MkdirTemp("", "walk")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// A look at the tables is made now, and so is not due when the execution is watched.
	time.Sleep(1100 * time.Millisecond)
	if err := f(); err != nil {
		return nil, err
	}
	time.Sleep(100 * time.Millisecond)
	for range warm {
		if err := f(); err != nil {
			return nil, err
		}
	}
	if err := coverage.ClearCounters(); err != nil {
		return nil, err
	}
	if err := f(); err != nil {
		return nil, err
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return nil, err
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "tool", "covdata", "func", "-i="+dir).Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line) // file:line: function share
		at, ok := strings.CutPrefix(fields[0], module)
		if !ok || len(fields) < 3 || fields[len(fields)-1] == "0.0%" || strings.HasPrefix(at, "integration/") {
			continue
		}
		file, _, _ := strings.Cut(at, ":")
		ran = append(ran, filepath.ToSlash(file)+" "+strings.TrimPrefix(fields[1], "*"))
	}
	slices.Sort(ran)
	return ran, nil
}

// report prints the functions, those of one file in a line.
func report(name string, ran []string) {
	var lines []string
	last := ""
	for _, r := range ran {
		file, function, _ := strings.Cut(r, " ")
		if file == last {
			lines[len(lines)-1] += " " + function
			continue
		}
		lines, last = append(lines, file+": "+function), file
	}
	fmt.Printf("%s: %d functions in %d files\n    %s\n\n", name, len(ran), len(lines), strings.Join(lines, "\n    "))
}

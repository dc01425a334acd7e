package slotsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slotsql/slotsql"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "slotsql")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	config, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: }}}"), "slotsql.yaml")
	if err != nil {
		panic(err)
	}
	dsn := filepath.Join(dir, "app.db")
	// The table comes first, by whatever makes it.
	plain, err := sql.Open("sqlite", dsn)
	if err != nil {
		panic(err)
	}
	defer plain.Close()
	if _, err := plain.Exec(
		"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL); INSERT INTO posts VALUES (7, 40)",
	); err != nil {
		panic(err)
	}

	db, err := slotsql.Open("sqlite3-slotsql", dsn, slotsql.WithConfig(config))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	res, err := db.Exec("UPDATE posts SET views = views + ? WHERE id = ?", 2, 7)
	if err != nil {
		panic(err)
	}
	affected, err := res.RowsAffected()
	if err != nil {
		panic(err)
	}
	var total, base int
	if err := db.QueryRow("SELECT views FROM posts WHERE id = ?", 7).Scan(&total); err != nil {
		panic(err)
	}
	if err := plain.QueryRow("SELECT views FROM posts WHERE id = ?", 7).Scan(&base); err != nil {
		panic(err)
	}
	fmt.Println(affected, "row affected, total", total, "of which in the base row", base)
	// Output: 1 row affected, total 42 of which in the base row 40
}

func ExampleExplain() {
	dir, err := os.MkdirTemp("", "slotsql")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	dsn := filepath.Join(dir, "app.db")
	plain, err := sql.Open("sqlite", dsn)
	if err != nil {
		panic(err)
	}
	defer plain.Close()
	if _, err := plain.Exec("CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, views INTEGER NOT NULL)"); err != nil {
		panic(err)
	}

	config, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ndefaults: {slots: 64}\ntables: {posts: {counters: {views: }}}"), "slotsql.yaml")
	if err != nil {
		panic(err)
	}
	db, err := slotsql.Open("sqlite3-slotsql", dsn, slotsql.WithConfig(config))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	for _, q := range []string{
		"UPDATE posts SET views = views + 1 WHERE id = ?",
		"SELECT title, views FROM posts WHERE id = ?",
		"UPDATE posts SET views = 0 WHERE id = ?",
		"SELECT title FROM posts",
	} {
		e, err := slotsql.Explain(context.Background(), db, q)
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Verdict)
	}
	// Output:
	// Fast: overlapping executions share a statement, and a hot row counts in slots.
	// As plain: it runs as written while posts is asleep, as nearly always.
	// Slower: while posts is awake, the row's slots are folded first, because the statement sets counter views; instead: add the difference.
	// As plain: slots of posts do not concern it.
}

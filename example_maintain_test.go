package slotsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql"
)

// Check compares the configuration with the database before anything is changed.
func ExampleCheck() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	defer connector.Close()

	for _, t := range must(slotsql.Check(context.Background(), connector)) {
		fmt.Println(t.Table, t.Key, t.SlotTable, "missing:", t.Missing)
		for _, c := range t.Counters {
			fmt.Println(c.Column, "slotted:", c.Slotted)
		}
	}
	// Output:
	// posts [id] posts_slots missing: true
	// views slotted: true
}

// DDL returns what Migrate would run, for a migration tool.
func ExampleDDL() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	defer connector.Close()

	for _, statement := range must(slotsql.DDL(context.Background(), connector)) {
		fmt.Println(strings.Contains(statement, "posts_slots"))
		break
	}
	// Output: true
}

// MigrateDown drops the slot tables once Drain has emptied them.
func ExampleMigrateDown() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	db := sql.OpenDB(connector)
	must(db.Exec("UPDATE posts SET views = views + 5 WHERE id = 7"))
	db.Close()

	_, err := slotsql.MigrateDown(context.Background(), connector)
	fmt.Println(err != nil) // slots hold the increment
	must(slotsql.Drain(context.Background(), connector, slotsql.DrainOptions{}))
	fmt.Println(must(slotsql.MigrateDown(context.Background(), connector)))
	// Output:
	// true
	// [posts_slots]
}

// RunRollUp is a worker for a program of its own. Here it ends after one pass.
func ExampleRunRollUp() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	db := sql.OpenDB(connector)
	defer db.Close()
	must(db.Exec("UPDATE posts SET views = views + 5 WHERE id = 7"))

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err := slotsql.RunRollUp(ctx, connector, slotsql.RollUpOptions{
		Pass: func(r slotsql.RollUpReport, err error) {
			fmt.Println(r.Moved(), err)
			stop()
		},
	})
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// <nil>
}

// NewExplainer explains many statements from facts that it reads once.
func ExampleNewExplainer() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	defer connector.Close()
	explainer := must(slotsql.NewExplainer(context.Background(), connector))
	defer explainer.Close()

	for _, q := range []string{
		"UPDATE posts SET views = views + 1 WHERE id = ?",
		"SELECT views FROM posts WHERE id = ?",
		"UPDATE posts SET views = 0 WHERE id = ?",
		"UPDATE posts SET title = ? WHERE id = ?",
	} {
		fmt.Println(must(explainer.Explain(q)).Class)
	}
	// Output:
	// additive
	// read
	// drain
	// pass-through
}

// After each increment, ask whether it has brought the counter, which starts at 2, to 5.
func ExampleMilestone() {
	dsn, remove := blog()
	defer remove()
	connector := must(slotsql.OpenConnector("sqlite3-slotsql", dsn, slotsql.WithConfig(config())))
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx := context.Background()

	fifth := slotsql.NewMilestone("the fifth view of post 7", 5, "SELECT views FROM posts WHERE id = ?", 7)
	if err := fifth.Create(ctx, db); err != nil { // by each process that starts
		panic(err)
	}
	for range 5 {
		must(db.Exec("UPDATE posts SET views = views + 1 WHERE id = 7"))
		fmt.Println(must(fifth.Reached(ctx, db)))
	}
	// Output:
	// false
	// false
	// true
	// false
	// false
}

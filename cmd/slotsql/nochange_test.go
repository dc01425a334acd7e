package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// runs are the commands as this test runs each of them; migrate, which may create, is not among them.
var runs = map[string][]string{
	"init": {}, "explain": {"UPDATE posts SET views = views + 1 WHERE id = 1"}, "ddl": {}, "check": {}, "rollup": {"--once"}, "drain": {},
	"verify": {"--fix"}, "status": {}, "top": {"--looks", "1"}, "doctor": {"--for", "0s"}, "version": {}, "completion": {"bash"},
	"bench": {"--scenarios", "naive,wrapped", "--clients", "1", "--duration", "10ms", "--warmup", "1ms", "--runs", "1"},
}

// inventory lists the columns of all tables of a database, and so the tables.
var inventory = map[string]string{
	"mysql":    "SELECT CONCAT(table_name, ' ', column_name, ' ', column_type) FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1",
	"postgres": "SELECT concat(table_name, ' ', column_name, ' ', data_type) FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1",
	"sqlite":   "SELECT name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1",
}

// No command but migrate changes the schema, whatever auto_migrate says to the application: not before the slot tables are
// there, and not where only the table of leases is missing. Nor does any give advice with placeholders in it.
func TestOnlyMigrateCreates(t *testing.T) {
	for _, e := range testedEngines {
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			dsn, db := e.database(t, "CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 0)")
			schema := func() (all []string) {
				t.Helper()
				rows, err := db.QueryContext(t.Context(), inventory[e.driver])
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var line string
					if err := rows.Scan(&line); err != nil {
						t.Fatal(err)
					}
					all = append(all, line)
				}
				return all
			}
			flags := []string{"--driver", e.driver, "--dsn", dsn, "--config", writeFile(t, "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: }, slots: 8}}\n")}
			unchanged := func(succeed bool) {
				t.Helper()
				before := schema()
				root := rootCommand(&options{})
				root.InitDefaultCompletionCmd()
				for _, c := range root.Commands() {
					name := c.Name()
					args, known := runs[name]
					if name == "migrate" || name == "help" {
						continue
					} else if !known {
						t.Errorf("%s is not run here", name)
					}
					args = append([]string{name}, args...)
					if c.LocalFlags().Lookup("driver") != nil {
						args = append(args, flags...)
						if c.LocalFlags().Lookup("config") == nil || name == "init" {
							args = args[:len(args)-2]
						}
					}
					out, errs, code := command(t, "", args...)
					if succeed && code != exitOK || strings.Contains(errs, "unknown flag") || strings.Contains(out+errs, "--driver DRIVER") {
						t.Errorf("%v: %d %s %s", args, code, out, errs)
					}
					if after := schema(); !slices.Equal(before, after) {
						t.Fatalf("%v has changed the schema from\n%s\nto\n%s", args, strings.Join(before, "\n"), strings.Join(after, "\n"))
					}
				}
			}
			unchanged(false)
			// A mistyped name is what is said, and not that slot tables are missing.
			for _, name := range []string{"drain", "verify"} {
				if _, errs, code := command(t, "", append([]string{name, "psots"}, flags...)...); code != exitError || !strings.Contains(errs, `"psots" is not a configured`) {
					t.Errorf("%s: %d, %s", name, code, errs)
				}
			}
			before := schema()
			if _, errs, code := command(t, "", append([]string{"migrate"}, flags...)...); code != 0 || slices.Equal(before, schema()) {
				t.Errorf("migrate: %d, %s", code, errs)
			}
			twin.ExecAll(t, db, "INSERT INTO posts_slots (id, slot, views) VALUES (1, 0, 5)")
			unchanged(true)
			if e.driver != "sqlite" {
				twin.ExecAll(t, db, "DROP TABLE slotsql_leases")
				unchanged(false)
			}
		})
	}
}

package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// No command but migrate creates anything, whatever auto_migrate says to the application.
func TestOnlyMigrateCreates(t *testing.T) {
	dsn := filepath.Join(t.TempDir(), "app.db")
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec("CREATE TABLE posts (id INTEGER PRIMARY KEY, views INT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	objects := func() (n int) {
		if err := db.QueryRow("SELECT COUNT(*) FROM sqlite_schema").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	config := writeFile(t, "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: }, slots: 8}}\n")
	flags := []string{"--driver", "sqlite", "--dsn", dsn, "--config", config}
	before := objects()
	for _, args := range [][]string{
		{"check"}, {"status"}, {"verify"}, {"drain"}, {"drain", "psots"}, {"rollup", "--once"}, {"doctor"}, {"ddl"},
		{"explain", "UPDATE posts SET views = views + 1 WHERE id = 1"},
	} {
		if command(t, "", append(args, flags...)...); objects() != before {
			t.Errorf("%v has changed the schema", args)
		}
	}
	// A mistyped name is what is said, and not that slot tables are missing.
	for _, name := range []string{"drain", "verify"} {
		if _, errs, code := command(t, "", append([]string{name, "psots"}, flags...)...); code != exitError || !strings.Contains(errs, `"psots" is not a configured`) {
			t.Errorf("%s: %d, %s", name, code, errs)
		}
	}
	if _, errs, code := command(t, "", append([]string{"migrate"}, flags...)...); code != 0 || objects() == before {
		t.Errorf("migrate: %d, %s", code, errs)
	}
}

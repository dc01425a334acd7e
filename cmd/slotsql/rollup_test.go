package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const rollupConfig = "version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n"

// counted makes a database whose slots hold something.
func counted(t *testing.T) (dsn, config string, db *sql.DB) {
	t.Helper()
	dsn = "file:" + filepath.Join(t.TempDir(), "app.db") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)"
	config = write(t, "slotsql.yaml", rollupConfig)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec("CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := command(t, "", "migrate", "--driver", "sqlite", "--dsn", dsn, "--config", config); code != 0 {
		t.Fatal(errs)
	}
	if _, err := db.Exec(
		"INSERT INTO posts VALUES (1, 5), (2, 0); INSERT INTO posts_slots VALUES (1, 0, 2), (1, 1, 3), (2, 0, 7)",
	); err != nil {
		t.Fatal(err)
	}
	return dsn, config, db
}

func TestRollupOnce(t *testing.T) {
	t.Parallel()
	dsn, config, db := counted(t)
	flags := []string{"rollup", "--once", "--driver", "sqlite", "--dsn", dsn, "--config", config}
	if out, errs, code := command(t, "", flags...); code != 0 || out != "posts: 3 slot rows moved, 0 idle ones deleted\n" || errs != "" {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
	var views int
	if err := db.QueryRow("SELECT SUM(views) FROM posts").Scan(&views); err != nil || views != 17 {
		t.Errorf("%d, %v", views, err)
	}
	out, _, code := command(t, "", append(flags, "--json")...)
	var r struct {
		Held   bool
		Tables []struct{ Moved, Deleted int }
	}
	if err := json.Unmarshal(
		[]byte(out),
		&r,
	); err != nil || code != 0 || !r.Held || len(r.Tables) != 1 || r.Tables[0].Deleted != 3 ||
		r.Tables[0].Moved != 0 {
		t.Errorf("%d, %v: %s", code, err, out)
	}
	// What cannot be moved is reported.
	for _, q := range []string{"INSERT INTO posts_slots VALUES (1, 0, 1), (2, 0, 1)",
		"CREATE TRIGGER no BEFORE UPDATE OF views ON posts WHEN NEW.id = 2 BEGIN SELECT RAISE(ABORT, 'not today'); END"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	write := strings.Replace(rollupConfig, "views: {}}", "views: {}}, defer_triggers: true", 1)
	flags[len(flags)-1] = writeFile(t, write)
	out, _, code = command(t, "", flags...)
	if code != exitProblems || !strings.HasPrefix(out, "posts: 1 slot rows moved, 0 idle ones deleted, 1 locked, 1 base rows failed\n") ||
		!strings.Contains(out, "not today") {
		t.Errorf("%d: %s", code, out)
	}
}

func writeFile(t *testing.T, text string) string { return write(t, "slotsql.yaml", text) }

// Without --once it runs until it is stopped.
func TestRollupDaemon(t *testing.T) {
	t.Parallel()
	dsn, config, db := counted(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs strings.Builder
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"rollup", "--interval", "1ms", "--idle", "1ms", "--driver", "sqlite", "--dsn", dsn, "--config",
			config}, strings.NewReader(""), &out, &errs)
	}()
	for left := 1; left > 0; time.Sleep(time.Millisecond) {
		if err := db.QueryRow("SELECT COUNT(*) FROM posts_slots").Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if code := <-done; code != 0 || out.Len() > 0 || !strings.Contains(errs.String(), `msg="rolled up" tables=[posts]`) || !strings.Contains(errs.String(), "moved=3") {
		t.Errorf("%d, %s, %s", code, out.String(), errs.String())
	}
}

func TestRollupUsage(t *testing.T) {
	t.Parallel()
	if _, errs, code := command(t, "", "rollup", "--driver", "sqlite", "--dsn", "x.db", "--batch", "-1"); code != exitError ||
		!strings.Contains(errs, "--batch") {
		t.Errorf("%d, %s", code, errs)
	}
	if _, errs, code := command(t, "", "rollup", "--once", "--driver", "sqlite"); code != exitError ||
		!strings.Contains(errs, "--dsn is missing") {
		t.Errorf("%d, %s", code, errs)
	}
}

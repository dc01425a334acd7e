package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	dsn, config, db := counted(t)
	flags := []string{"--driver", "sqlite", "--dsn", dsn, "--config", config}
	out, errs, code := command(t, "", append([]string{"drain", "posts"}, flags...)...)
	if code != 0 || out != "posts: 3 slot rows folded, 0 of them with the table locked\n" || errs != "" {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
	var views, slots int
	if err := db.QueryRow("SELECT (SELECT SUM(views) FROM posts), (SELECT COUNT(*) FROM posts_slots)").Scan(
		&views,
		&slots,
	); err != nil || views != 17 ||
		slots != 0 {
		t.Errorf("%d in %d slots, %v", views, slots, err)
	}
	out, _, code = command(t, "", append([]string{"drain", "--json"}, flags...)...)
	var r []struct {
		Table  string
		Moved  int
		Folded int
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r) != 1 || r[0].Table != "posts" || r[0].Moved != 0 {
		t.Errorf("%d, %v: %s", code, err, out)
	}
	if _, errs, code := command(
		t,
		"",
		append(
			[]string{"drain", "post"},
			flags...)...); code != exitError || !strings.Contains(errs, `"post" is not a configured counter table`) ||
		!strings.Contains(errs, "posts") {
		t.Errorf("%d, %s", code, errs)
	}
	// A row that takes no more is named, and nothing of it is lost.
	for _, q := range []string{"INSERT INTO posts_slots VALUES (1, 0, 1)",
		"CREATE TRIGGER no BEFORE UPDATE OF views ON posts BEGIN SELECT RAISE(ABORT, 'not today'); END"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	flags[len(flags)-1] = writeFile(t, strings.Replace(rollupConfig, "views: {}}", "views: {}}, defer_triggers: true", 1))
	if _, errs, code := command(
		t,
		"",
		append([]string{"drain"}, flags...)...); code != exitError || !strings.Contains(errs, "draining table posts") ||
		!strings.Contains(errs, "not today") {
		t.Errorf("%d, %s", code, errs)
	}
	if err := db.QueryRow("SELECT SUM(views) FROM posts_slots").Scan(&views); err != nil || views != 1 {
		t.Errorf("%d left, %v", views, err)
	}
}

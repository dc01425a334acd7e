package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/status"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	dsn, config, _ := counted(t)
	flags := []string{"--driver", "sqlite", "--dsn", dsn, "--config", config}
	out, errs, code := command(t, "", append([]string{"status", "--json"}, flags...)...)
	var seen slotsql.Inspection
	if err := json.Unmarshal([]byte(out), &seen); err != nil || code != 0 || len(seen.Tables) != 1 ||
		seen.Tables[0].Rows != 2 || seen.Tables[0].Slots != 3 || seen.Tables[0].Idle != 0 {
		t.Errorf("%d, %v: %s%s", code, err, out, errs)
	}
	out, errs, code = command(t, "", append([]string{"status"}, flags...)...)
	lines := strings.Split(out, "\n")
	if code != 0 || len(lines) < 2 || !strings.HasPrefix(strings.TrimSpace(lines[1]), "posts  awake ") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}

// With the page of a process, what it knows of its tables is shown as well.
func TestStatusOfProcess(t *testing.T) {
	t.Parallel()
	dsn, _, _ := counted(t)
	config := write(t, "slotsql.yaml", "version: 1\ndefaults: {slots: 64}\ntables: {posts: {counters: {views: {}}}}\nrollup: {interval: 1h}\n")
	cfg, err := slotsql.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	db, err := slotsql.Open("sqlite3-slotsql", dsn, slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var most int
	if err := db.QueryRowContext(t.Context(), "SELECT MAX(views) FROM posts").Scan(&most); err != nil || most != 10 {
		t.Fatal(most, err)
	}
	process := httptest.NewServer(status.Handler())
	defer process.Close()
	flags := []string{"--driver", "sqlite", "--dsn", dsn, "--config", config, "--page"}
	out, errs, code := command(t, "", append(append([]string{"top", "--looks", "1"}, flags...), process.URL)...)
	if code != 0 || !regexp.MustCompile(`\n in the process +state +since +woken by .*\n posts +awake +\d+s ago +another process +\d+ +\d+ +\d+ *\n`).MatchString(out) ||
		!regexp.MustCompile(fmt.Sprintf(`\nprocess %d on .+, slotsql .+, for \d+`, os.Getpid())).MatchString(out) {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	out, errs, code = command(t, "", append(append([]string{"status", "--json"}, flags...), process.URL)...)
	var seen look
	known := func(s slotsql.SleepStats) bool {
		return s.Table == "posts" && s.Awake && s.WokenBy == "another process"
	}
	err = json.Unmarshal([]byte(out), &seen)
	if err != nil || code != 0 || !seen.Tables[0].Awake || !slices.ContainsFunc(seen.Process, known) {
		t.Errorf("%d, %v: %s%s", code, err, out, errs)
	}
	process.Config.Handler = http.NotFoundHandler()
	if _, errs, code := command(t, "", append(append([]string{"status"}, flags...), process.URL)...); code != exitError || !strings.Contains(errs, "404") {
		t.Errorf("%d: %s", code, errs)
	}
}

// A configured table that does not exist, perhaps by a mistyped name, is said.
func TestStatusOfMissingTable(t *testing.T) {
	t.Parallel()
	dsn, _, _ := counted(t)
	config := write(t, "slotsql.yaml", "version: 1\ntables: {pots: {counters: {views: {}}}}\n")
	flags := []string{"--driver", "sqlite", "--dsn", dsn, "--config", config}
	out, errs, code := command(t, "", append([]string{"status", "--json"}, flags...)...)
	var seen slotsql.Inspection
	if err := json.Unmarshal([]byte(out), &seen); err != nil || code != 0 || len(seen.Missing) != 1 || seen.Missing[0] != "pots" {
		t.Errorf("%d, %v: %s%s", code, err, out, errs)
	}
	if out, _, _ := command(t, "", append([]string{"status"}, flags...)...); !strings.Contains(out, `table "pots" does not exist`) {
		t.Error(out)
	}
}

// A pass over no table has an empty list of them, and not null. The warning is JSON, too.
func TestRollUpOfMissingTable(t *testing.T) {
	t.Parallel()
	dsn, _, _ := counted(t)
	config := write(t, "slotsql.yaml", "version: 1\ntables: {pots: {counters: {views: {}}}}\n")
	out, errs, code := command(t, "", "rollup", "--once", "--json", "--driver", "sqlite", "--dsn", dsn, "--config", config)
	if code != exitOK || !strings.Contains(out, `"tables": []`) {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	var warning struct{ Level, Msg string }
	if err := json.Unmarshal([]byte(errs), &warning); err != nil || warning.Level != "WARN" || !strings.Contains(warning.Msg+errs, "pots") {
		t.Errorf("%v: %s", err, errs)
	}
}

// Where the output is no terminal, top writes one look after the other.
func TestTop(t *testing.T) {
	t.Parallel()
	dsn, config, _ := counted(t)
	out, errs, code := command(t, "", "top", "--looks", "2", "--every", "1ms", "--driver", "sqlite", "--dsn", dsn, "--config", config)
	if code != 0 || strings.Count(out, "slotsql top, ") != 2 || strings.Count(out, " posts ") != 2 || strings.Contains(out, "\x1b") {
		t.Errorf("%d: %q %s", code, out, errs)
	}
	if _, errs, code := command(t, "", "top", "--every", "0s", "--driver", "sqlite", "--dsn", dsn); code != exitError ||
		!strings.Contains(errs, "--every") {
		t.Errorf("%d, %s", code, errs)
	}
}

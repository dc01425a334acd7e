package main

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPages runs the commands of pages in docs/cli, and compares what they print with what stands there.
func TestPages(t *testing.T) {
	for page, dir := range map[string]string{"explain": "testdata/explain", "check": "", "migrate": ""} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../docs/cli", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			examples := examplesOf(string(text))
			if len(examples) == 0 {
				t.Fatal("there are no commands")
			}
			if dir == "" {
				dir = pageDatabase(t, page == "check")
			}
			for i, e := range examples {
				if page == "check" && i == 1 { // "After `migrate`"
					inShell(t, dir, "slotsql migrate --driver sqlite --dsn app.db")
				}
				if got := inShell(t, dir, strings.Join(e.commands, "\n")); !prints(got, e.prints) {
					t.Errorf("%s prints\n%s\nand the page has\n%s", e.commands, got, e.prints)
				}
			}
		})
	}
}

// prints compares an output with that of a page, in which a line of three dots stands for any lines. Empty lines are left out.
func prints(got, page string) bool {
	var lines []string
	for line := range strings.Lines(page) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "":
		case strings.TrimSpace(line) == "...":
			lines = append(lines, "(.*\n)*.*")
		default:
			lines = append(lines, regexp.QuoteMeta(line))
		}
	}
	got = regexp.MustCompile("\n+").ReplaceAllString(strings.TrimSpace(got), "\n")
	return regexp.MustCompile("^" + strings.Join(lines, "\n") + "$").MatchString(got)
}

// An example is commands that follow one another, and all that they print.
type example struct {
	commands []string
	prints   string
}

// examplesOf returns the blocks of a page that have commands.
func examplesOf(page string) (examples []example) {
	var e example
	for line := range strings.Lines(page + "end") {
		text, block := strings.CutPrefix(line, "    ")
		command, prompt := strings.CutPrefix(text, "$ ")
		switch {
		case block && prompt:
			e.commands = append(e.commands, strings.TrimSpace(command))
		case block || line == "\n":
			e.prints += text
		default:
			if len(e.commands) > 0 {
				examples = append(examples, e)
			}
			e = example{}
		}
	}
	return examples
}

// inShell runs commands, for which slotsql is this program, and returns what they print.
func inShell(t *testing.T, dir, commands string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `slotsql() { "$0" "$@"; }; `+commands, os.Args[0])
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), envCommand+"=1", environmentDSN+"=", "SLOTSQL_CONFIG=")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

// pageDatabase makes the files of the pages' examples, with a counter that cannot be slotted or without, and returns their directory.
func pageDatabase(t *testing.T, ratio bool) string {
	t.Helper()
	dir := t.TempDir()
	counters := "views: {}"
	if ratio {
		counters += ", ratio: {}"
	}
	for name, text := range map[string]string{
		"slotsql.yaml": "version: 1\ntables:\n  posts: {slots: 64, counters: {" + counters + "}}\n",
		"statements.sql": "SELECT 1;\nSELECT views FROM posts WHERE id = 1;\nUPDATE posts SET views = views + 1 WHERE id = 1;\n" +
			"UPDATE posts SET title = 'a', views = 5 WHERE id = 1;\nUPDATE posts SET title = 'b', views = 6 WHERE id = 2;\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		"CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, views INTEGER NOT NULL, ratio REAL NOT NULL)",
		"CREATE VIEW popular AS SELECT id FROM posts WHERE views > 1000",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

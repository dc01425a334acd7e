package main

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A documented page is where the commands of a page in docs/cli run.
type documented struct {
	dir     string
	replace []string // what stands for the page's names, as of strings.NewReplacer
	vary    bool     // numbers differ from run to run; the rest does not
	before  func()   // runs before the second example
	without string   // how a line begins that is missing here
	host    string   // this one, for which the page has web-1
}

// TestPages runs the commands of pages in docs/cli, and compares what they print with what stands there.
func TestPages(t *testing.T) {
	for page, prepare := range map[string]func(t *testing.T) documented{
		"explain": func(*testing.T) documented { return documented{dir: "testdata/explain"} },
		"check": func(t *testing.T) documented {
			dir := pageDatabase(t, true)
			return documented{dir: dir, before: func() { inShell(t, dir, "slotsql migrate --driver sqlite --dsn app.db") }}
		},
		"migrate": func(t *testing.T) documented { return documented{dir: pageDatabase(t, false)} },
		"version": func(t *testing.T) documented { return documented{dir: t.TempDir(), vary: true} },
		"ddl":     pageDDL, "init": pageInit, "rollup": pageRollUp, "drain": pageDrain, "verify": pageVerify,
		"status": pageStatus, "top": pageStatus, "doctor": pageDoctor,
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("../../docs/cli", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			examples := examplesOf(string(text))
			if len(examples) == 0 {
				t.Fatal("there are no commands")
			}
			d := prepare(t)
			for i, e := range examples {
				if i == 1 && d.before != nil {
					d.before()
				}
				line := strings.NewReplacer(d.replace...).Replace(strings.Join(e.commands, "\n"))
				want, interrupted := strings.CutSuffix(strings.TrimSpace(e.prints), "\n^C")
				var got string
				if interrupted {
					got = untilInterrupted(t, d.dir, line, want)
				} else {
					got = inShell(t, d.dir, line)
				}
				if d.host != "" {
					got = strings.ReplaceAll(got, " on "+d.host+",", " on web-1,")
				}
				if d.without != "" {
					want = regexp.MustCompile("(?m)^"+d.without+".*\n").ReplaceAllString(want, "")
				}
				if d.vary {
					got, want = withoutNumbers(got), withoutNumbers(want)
				}
				if !prints(got, want) {
					t.Errorf("%s prints\n%s\nand the page has\n%s", e.commands, got, want)
				}
			}
		})
	}
}

var (
	aNumber = regexp.MustCompile(`v?[0-9][0-9.,:TZ-]*(?:[nµm]?s|[hm][0-9hms]+)?|\(devel\),?`)
	spaces  = regexp.MustCompile(` +`)
)

// withoutNumbers replaces numbers, durations, times and versions, and with them how columns are aligned.
func withoutNumbers(text string) string {
	text = spaces.ReplaceAllString(aNumber.ReplaceAllString(text, "0"), " ")
	return strings.ReplaceAll(text, " \n", "\n")
}

// prints compares an output with that of a page, in which three dots stand for the rest of a line, or
// alone for any lines. Empty lines are left out.
func prints(got, page string) bool {
	var lines []string
	for line := range strings.Lines(page) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "":
		case strings.TrimSpace(line) == "...":
			lines = append(lines, "(.*\n)*.*")
		default:
			start, cut := strings.CutSuffix(line, " ...")
			pattern := regexp.QuoteMeta(start)
			if cut {
				pattern += " .*"
			}
			lines = append(lines, pattern)
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

// untilInterrupted runs a command until it has printed as many lines as the page has, interrupts it, and returns what it printed.
func untilInterrupted(t *testing.T, dir, line, page string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec "+strings.Replace(line, "slotsql", `"$0"`, 1), os.Args[0])
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), envCommand+"=1", environmentDSN+"=", "SLOTSQL_CONFIG=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	lines := bufio.NewScanner(out)
	for range strings.Count(page, "\n") + 1 {
		if !lines.Scan() {
			t.Fatalf("%s: ended after\n%s%v", line, &got, lines.Err())
		}
		fmt.Fprintln(&got, lines.Text())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s, interrupted: %v", line, err)
	}
	return got.String()
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

package main

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// The database is named by a flag, by a file, by standard input or by the environment: the flag wins.
func TestDSNIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, title TEXT, views BIGINT NOT NULL DEFAULT 0, ratio REAL NOT NULL DEFAULT 0)"); err != nil {
		t.Fatal(err)
	}
	file, none, two := write(t, "dsn", path+"\n"), write(t, "dsn", "\n"), write(t, "dsn", path+"\nmore\n")
	for _, c := range []struct {
		name, environment, stdin string
		args                     []string
		code                     int
		stderr                   string
	}{
		{"flag", "nosuch.db", "", []string{"--dsn", path}, 0, ""},
		{"file", "nosuch.db", "", []string{"--dsn-file", file}, 0, ""},
		{"standard input", "", path, []string{"--dsn-file", "-"}, 0, ""},
		{"environment", path, "", nil, 0, ""},
		{"environment and schema", "nosuch.db", "", []string{"--schema", "testdata/schema.sql"}, 0, ""},
		{"empty file", path, "", []string{"--dsn-file", none}, 2, "does not hold a DSN"},
		{"two lines", path, "", []string{"--dsn-file", two}, 2, "does not hold a DSN"},
		{"no file", path, "", []string{"--dsn-file", "nosuch"}, 2, "no such file"},
		{"both", "", "", []string{"--dsn", path, "--dsn-file", file}, 2, "both given"},
		{"nothing", "", "", nil, 2, "missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(environmentDSN, c.environment)
			args := append([]string{"explain", "SELECT views FROM posts", "--driver", "sqlite", "--config", config}, c.args...)
			_, stderr, code := command(t, c.stdin, args...)
			if code != c.code || !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
				t.Errorf("exit %d, want %d: %s", code, c.code, stderr)
			}
		})
	}
}

// With --json errors are JSON, on standard error, and the exit code is in it: of every command that reads a
// configuration.
func TestErrorsAsJSON(t *testing.T) {
	t.Setenv(environmentDSN, "")
	invalid := write(t, "slotsql.yaml", "version: 1\ntables:\n  posts: {counters: {views: }, slots: 5000}\n")
	tried := 0
	for _, c := range rootCommand(&options{}).Commands() {
		if c.Name() == "init" || c.Flags().Lookup("config") == nil || c.Flags().Lookup("json") == nil { // init writes one, and top is for a terminal
			continue
		}
		tried++
		for code, args := range map[int][]string{
			exitError:    {"--driver", "postgres", "--dsn", "host=127.0.0.1 port=1 password=s3cret", "--config", "absent.yaml"},
			exitProblems: {"--driver", "postgres", "--dsn", "host=127.0.0.1 port=1 password=s3cret", "--config", invalid},
		} {
			if c.Name() == "explain" {
				args = append(args, "SELECT 1")
			}
			expectFailure(t, code, append([]string{c.Name(), "--json"}, args...)...)
		}
	}
	if tried < 9 {
		t.Errorf("%d commands tried", tried)
	}
}

// Wrong usage and a database that does not answer are told alike by every command: exit code 2, nothing on standard
// output, and JSON wherever --json stands.
func TestErrorsAreAlike(t *testing.T) {
	t.Setenv(environmentDSN, "")
	for _, c := range rootCommand(&options{}).Commands() {
		name := c.Name()
		expectFailure(t, exitError, name, "--json", "--nosuch")
		expectFailure(t, exitError, name, "--nosuch", "--json")
		stdout, stderr, code := command(t, "", name, "--nosuch")
		if code != exitError || stdout != "" || stderr != "slotsql: unknown flag: --nosuch\n" {
			t.Errorf("%s --nosuch: exit %d\n%s%s", name, code, stdout, stderr)
		}
		if c.Flags().Lookup("dsn") == nil || c.Flags().Lookup("json") == nil || name == "bench" { // measures others, too
			continue
		}
		expectFailure(t, exitError, name, "--json", "--driver", "nosuch", "--dsn", "password=s3cret")
		args := []string{name, "--json", "--driver", "postgres", "--dsn", "host=127.0.0.1 port=1 password=s3cret connect_timeout=5"}
		if c.Flags().Lookup("config") != nil {
			args = append(args, "--config", config)
		}
		if name == "explain" {
			args = append(args, "SELECT 1")
		}
		expectFailure(t, exitError, args...)
	}
	expectFailure(t, exitError, "nosuch", "--json")
}

func expectFailure(t *testing.T, want int, args ...string) {
	t.Helper()
	stdout, stderr, code := command(t, "", args...)
	var got failure
	if err := json.Unmarshal([]byte(stderr), &got); err != nil || stdout != "" || code != want || got.Exit != code || got.Error == "" {
		t.Errorf("%s: exit %d, want %d; %v\n%s%s", args[0], code, want, err, stdout, stderr)
	}
	if want == exitProblems && (len(got.Problems) != 1 || got.Problems[0].Line != 3 || got.Problems[0].Path != "tables.posts.slots") {
		t.Errorf("%s: %s", args[0], stderr)
	}
	if strings.Contains(stderr, "s3cret") {
		t.Errorf("%s shows the password", args[0])
	}
}

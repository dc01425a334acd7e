package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// envCommand makes the test's own binary the command.
const envCommand = "SLOTSQL_TEST_COMMAND"

// The page and the section that show the commands from trying slotsql to leaving it.
const (
	pathPage    = "docs/adopting.md"
	pathSection = "From trying it to leaving it"
)

// pathCommands returns the commands of that section, in order and without comments.
func pathCommands(t *testing.T) (all []string) {
	t.Helper()
	page, err := os.ReadFile("../../" + pathPage)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n## "+pathSection+"\n")
	if !found {
		t.Fatalf("%s has no section %q", pathPage, pathSection)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			code, _, _ = strings.Cut(code, " #")
			all = append(all, strings.TrimSpace(code))
		}
	}
	return all
}

// newcomer follows the page on one engine.
type newcomer struct {
	*testing.T
	engine, dsn, dir string
	plain            *sql.DB
	views            int // counted so far
}

// TestDocPath runs every command of the path, in its order and each as a process, while an application
// does what the text around it says.
func TestDocPath(t *testing.T) {
	t.Parallel()
	for engine, fresh := range map[string]func(testing.TB) string{"mysql": server.MariaDB, "postgres": server.Postgres, "sqlite": server.SQLite} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			n := &newcomer{T: t, engine: engine, dsn: fresh(t), dir: t.TempDir()}
			n.begin()
			seen := map[string]bool{}
			for _, line := range pathCommands(t) {
				fields := strings.Fields(line)
				switch {
				case strings.HasPrefix(line, "go run "):
					continue // TestDocQuickstart
				case fields[0] == "export":
					if !strings.HasPrefix(fields[1], environmentDSN+"=") {
						t.Errorf("%s: the command reads %s", line, environmentDSN)
					}
					continue
				case fields[0] != "slotsql":
					t.Fatalf("a command that nothing runs: %s", line)
				}
				name := strings.TrimSuffix(strings.Join(fields[1:3], " "), " --driver")
				seen[name] = true
				n.before(name)
				n.run(fields[1:])
				n.after(name)
			}
			for _, name := range []string{"doctor", "init", "check", "migrate", "rollup", "status", "top", "verify", "drain", "migrate --down"} {
				if !seen[name] {
					t.Errorf("%s does not show slotsql %s", pathPage, name)
				}
			}
		})
	}
}

// begin makes the database of an application, and a log of its statements.
func (n *newcomer) begin() {
	n.Helper()
	driver := map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}[n.engine]
	db, err := sql.Open(driver, n.dsn)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { _ = db.Close() })
	n.plain = db
	twin.ExecAll(n, db,
		"CREATE TABLE posts (id BIGINT PRIMARY KEY, title VARCHAR(80) NOT NULL, views BIGINT NOT NULL DEFAULT 0)",
		"INSERT INTO posts (id, title) VALUES (1, 'one')")
	n.write("statements.sql", "BEGIN;\nUPDATE posts SET views = views + 1 WHERE id = 1;\nCOMMIT;\nSELECT views FROM posts WHERE id = 1;\n")
}

func (n *newcomer) write(name, text string) {
	n.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		n.Fatal(err)
	}
}

// application restarts the application with a mode, has two of its transactions count at once, and reads.
func (n *newcomer) application(mode string) {
	n.Helper()
	path := filepath.Join(n.dir, "slotsql.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		n.Fatal(err)
	}
	kept := regexp.MustCompile(`(?m)^defaults: .*\n`).ReplaceAllString(string(text), "")
	if mode != "on" {
		kept += "defaults: {mode: " + mode + "}\n"
	}
	n.write("slotsql.yaml", kept)
	config, err := slotsql.Load(path)
	if err != nil {
		n.Fatal(err)
	}
	db, err := slotsql.Open(twin.Wrapped[n.engine], n.dsn, slotsql.WithConfig(config))
	if err != nil {
		n.Fatal(err)
	}
	defer db.Close()
	done := make(chan error)
	for range 2 {
		go func() { done <- countTwice(n.Context(), db) }()
	}
	if err := errors.Join(<-done, <-done); err != nil {
		n.Fatal(err)
	}
	n.views += 4
	if got := twin.Rows(n, db, "SELECT views FROM posts"); got != strconv.Itoa(n.views) {
		n.Errorf("mode %s: %s views of %d", mode, got, n.views)
	}
}

func countTwice(ctx context.Context, db *sql.DB) error {
	for range 2 {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// before does what the page says to do before a command.
func (n *newcomer) before(name string) {
	n.Helper()
	switch name {
	case "migrate":
		n.application("shadow")
	case "rollup":
		n.application("on")
	case "drain":
		n.application("passive")
	}
}

// after looks at what a command has done.
func (n *newcomer) after(name string) {
	n.Helper()
	switch name {
	case "init":
		if config, err := os.ReadFile(filepath.Join(n.dir, "slotsql.yaml")); err != nil || !strings.Contains(string(config), "views") {
			n.Errorf("%v: the proposal is\n%s", err, config)
		}
	case "drain", "migrate --down":
		if got := twin.Rows(n, n.plain, "SELECT views FROM posts"); got != strconv.Itoa(n.views) {
			n.Errorf("the plain driver reads %s views of %d", got, n.views)
		}
	}
	if _, err := n.plain.ExecContext(n.Context(), "SELECT 1 FROM posts_slots"); name == "migrate --down" && err == nil {
		n.Error("the slot table is still there")
	}
}

// run runs a command as the page has it, but for the engine and the port.
func (n *newcomer) run(args []string) {
	n.Helper()
	line := strings.Join(args, " ")
	line = strings.ReplaceAll(strings.ReplaceAll(line, "--driver postgres", "--driver "+n.engine), "localhost:9187", "localhost:0")
	cmd := exec.CommandContext(n.Context(), os.Args[0], strings.Fields(line)...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), envCommand+"=1", environmentDSN+"="+n.dsn, "SLOTSQL_CONFIG=")
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out // one writer: it is not written to at the same time
	out.wrote = func() {}
	if args[0] == "top" || args[0] == "rollup" { // until Ctrl-C
		out.wrote = func() { _ = cmd.Process.Signal(syscall.SIGINT) }
	}
	if err := cmd.Run(); err != nil {
		n.Fatalf("slotsql %s: %v\n%s", line, err, &out.text)
	}
	if out.text.Len() == 0 {
		n.Errorf("slotsql %s printed nothing", line)
	}
}

// output calls a function when something has been written.
type output struct {
	text  bytes.Buffer
	wrote func()
}

func (o *output) Write(b []byte) (int, error) {
	defer o.wrote()
	return o.text.Write(b)
}

// TestDocQuickstart runs the first command of the path as it stands there.
func TestDocQuickstart(t *testing.T) {
	t.Parallel()
	line := pathCommands(t)[0]
	if !strings.HasPrefix(line, "go run ") {
		t.Fatalf("the path begins with %s", line)
	}
	cmd := exec.CommandContext(t.Context(), "go", strings.Fields(line)[1:]...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "exact totals") {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
}

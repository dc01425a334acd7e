package server

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

func TestFreshDatabases(t *testing.T) {
	for _, c := range []struct {
		driver string
		fresh  func(testing.TB) string
	}{
		{"mysql", MariaDB},
		{"pgx", Postgres},
		{"sqlite", SQLite},
	} {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				db, err := sql.Open(c.driver, c.fresh(t))
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY, n INT)"); err != nil {
					t.Fatal(err)
				}
				// Left open: the database goes all the same.
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.ExecContext(t.Context(), "INSERT INTO t VALUES (1, 1)"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestDies starts servers in a child process that is killed, and sees that
// nothing is left of them.
func TestDies(t *testing.T) {
	if os.Getenv("SLOTSQL_TEST_CHILD") != "" {
		for _, e := range ours() {
			in, err := e.start()
			if err != nil {
				t.Fatal(err)
			}
			os.Stdout.WriteString(in.dir + "\n")
		}
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDies$")
	cmd.Env = append(os.Environ(), "SLOTSQL_TEST_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for range ours() {
		dirs = append(dirs, line(t, out))
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, dir := range dirs {
		for {
			if _, err := os.Stat(dir); os.IsNotExist(err) {
				break
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s is still there", dir)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// ours are the servers to start here: all but one that the environment names
// and that is not installed.
func ours() []*engine {
	return slices.DeleteFunc([]*engine{mariadb, postgres}, func(e *engine) bool {
		_, err := e.find()
		return err != nil && os.Getenv(e.env) != ""
	})
}

// TestStartFails sees that a server that does not start says why, and leaves
// nothing.
func TestStartFails(t *testing.T) {
	shell := func(script string) func(string) []string {
		return func(string) []string { return []string{"sh", "-c", script} }
	}
	for name, l := range map[string]layout{
		"preparation": {prepare: shell("echo it is broken; exit 3"), serve: shell("exec sleep 60")},
		"server":      {prepare: shell("mkdir data"), serve: shell("echo it is broken; exit 3")},
	} {
		t.Run(name, func(t *testing.T) {
			var dir string
			l.signal = "KILL"
			l.dsn = func(d, _ string) string {
				dir = d
				return "root@unix(" + d + "/s)/"
			}
			e := &engine{name: "broken", driver: "mysql", find: func() (layout, error) { return l, nil }}
			_, err := e.start()
			if err == nil || !strings.Contains(err.Error(), "it is broken") {
				t.Errorf("got error %v", err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		})
	}
}

func line(t *testing.T, r interface{ Read([]byte) (int, error) }) string {
	t.Helper()
	var s []byte
	for b := make([]byte, 1); ; s = append(s, b[0]) {
		if _, err := r.Read(b); err != nil {
			t.Fatalf("the child said %q: %v", s, err)
		}
		if b[0] == '\n' {
			return string(s)
		}
	}
}

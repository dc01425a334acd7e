// Package incidents tests the incidents. Each is a command of its own.
package incidents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
)

// Each incident keeps exact totals on both engines, plain and wrapped: it exits with an error otherwise.
func TestIncidents(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := append(os.Environ(), server.EnvMySQL+"="+server.MariaDB(t), server.EnvPostgres+"="+server.Postgres(t))
	commands, err := filepath.Glob("*/main.go")
	if err != nil || len(commands) < 8 {
		t.Fatalf("%d incidents, %v", len(commands), err)
	}
	for _, c := range commands {
		name := filepath.Dir(c)
		for _, engine := range []string{"postgres", "mysql"} {
			t.Run(name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), "-driver", engine, "-duration", "500ms")
				cmd.Env = env
				out, err := cmd.CombinedOutput()
				if err != nil || strings.Count(string(out), " exact\n") < 2 {
					t.Errorf("%v\n%s", err, out)
				}
				t.Logf("%s", out)
			})
		}
		page, err := os.ReadFile(filepath.Join(name, "README.md"))
		if err != nil || !strings.Contains(string(page), "    go run ./examples/incidents/"+name+"\n") {
			t.Errorf("the page of %s does not name its command: %v", name, err)
		}
		if lines := strings.Count(string(page), "\n"); lines > 15 {
			t.Errorf("the page of %s has %d lines, want at most 15", name, lines)
		}
	}
}

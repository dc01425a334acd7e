package shoptest

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Commands runs the commands of a README in an example's directory, as a reader does: from the top of the
// repository. Servers are the test's own. What each prints contains want.
func Commands(t *testing.T, readme, want string) {
	t.Helper()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, " #")
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "go" || fields[1] != "run" {
			continue
		}
		for i := range fields {
			if fields[i] == "-driver" {
				setDSN(t, fields, fresh[fields[i+1]](t))
			}
		}
		cmd := exec.CommandContext(t.Context(), fields[0], fields[1:]...)
		cmd.Dir = "../.."
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil || warned.MatchString(problems.String()) || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s: %v\n%s%s", readme, line, err, &problems, out)
		}
		ran++
	}
	if ran == 0 {
		t.Errorf("%s has no command", readme)
	}
}

// warned matches what a program says on standard error, beside what the go command does.
var warned = regexp.MustCompile(`(?m)^(?:[^g\n]|g[^o\n]|go[^:\n])`)

func setDSN(t *testing.T, fields []string, dsn string) {
	t.Helper()
	for i := range fields {
		if fields[i] == "-dsn" {
			fields[i+1] = dsn
			return
		}
	}
	t.Fatal("no -dsn:", fields)
}

// shortest and longest are how many lines an example may have, without its imports, comments and blank lines.
const shortest, longest = 20, 80

func length(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(text), "\n)\n")
	n := 0
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	if n < shortest || n > longest {
		t.Errorf("%s has %d lines, want %d to %d", file, n, shortest, longest)
	}
}

package walks

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
)

// tries is how often what runs is looked at: on a busy machine a row may be taken to be hot, and a look at the tables may be due.
const tries = 5

var update = flag.Bool("update", false, "write testdata/postgres.txt")

// Every function that an execution of a common statement runs on PostgreSQL, from taking the connection out of the pool to the last
// row, is in testdata/postgres.txt. Each is a cost, mostly because its code is no longer in the processor's caches, and one more thing
// that a reader has to know. A change that adds some has to be worth it.
func TestWalks(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "walk")
	build := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg=github.com/slotsql/slotsql/...", "-o", bin, "./walk")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const golden = "testdata/postgres.txt"
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	left := strings.SplitAfter(string(want), "\n\n") // of the golden walks, those that have not been seen
	var shortest []string
	for try := 0; try < tries && (len(left) > 0 || *update); try++ {
		run := exec.Command(bin, "-dsn", server.Postgres(t))
		run.Stderr = os.Stderr
		run.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
		if got, err = run.Output(); err != nil {
			t.Fatal(err)
		}
		left = slices.DeleteFunc(left, func(walk string) bool { return strings.Contains(string(got), walk) })
		for i, walk := range strings.SplitAfter(string(got), "\n\n") {
			if i == len(shortest) {
				shortest = append(shortest, walk)
			} else if len(walk) < len(shortest[i]) {
				shortest[i] = walk
			}
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(shortest, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(left) == 0 && strings.Count(string(got), "\n\n") == strings.Count(string(want), "\n\n") {
		return
	}
	for _, line := range without(got, want) {
		t.Errorf("%s does not have: %s", golden, line)
	}
	for _, line := range without(want, got) {
		t.Errorf("only %s has: %s", golden, line)
	}
	t.Error("run the test with -update, and look at what the change costs")
}

// without returns the lines of a text that another one does not have.
func without(text, other []byte) []string {
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return strings.Contains("\n"+string(other)+"\n", "\n"+line+"\n")
	})
}

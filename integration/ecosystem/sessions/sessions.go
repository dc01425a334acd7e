// Package sessions runs the tests of integration/session over another parent driver.
package sessions

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const tested = "github.com/slotsql/slotsql/integration/session"

// slow are the tests that take longest. What they test does not depend on the driver.
const slow = "^Test(Coalesce|CoalesceRows|ConcurrentTotals|GroupedManyRows|KeysUnderSessionSettings|LiveChanges|LockIsCertainOfRow|LockIsCertainOfVersion|RangeMovesAll)$"

// usual are tests that have only been run with the usual parents: it is not known in which of them others differ.
const usual = "^Test(BackupBetweenStatements|BackupInTransaction|BackupsBesideDrains|BatchArguments|ByCounterRowChanges|ClaimsOfRowsWithSlots|ClaimsSkipLocked|ColdCompanion|ColdCompanionMeetsSlots|ColdCompanionsShare|CooledRowIsLockedAsPlain|FallsAsleep|FallsAsleepForAnother|FallsAsleepForReader|GlancesBehindPooler|GroupedTimedOut|LatestOfMany|MigrationsAreNotReported|NothingLeftInPooledSessions|PreparedStatementsLeaveRoom|PublishedWithoutIdentity|RawMovesTheSession|ReadCommittedLocksOnlyItsRows|RejectedTextLocksNothing|RowsOpen|SessionsAreAskedRarely|SetStatement|SettingsByHook|ShortLivedConnections|StatementTimeLimitOnMySQL|StatementTimeoutIsTheApplications|StringAddedToDecimal|TenantsByOwnConnector|TenantsBySearchPath|TenantsByTurns|UnloggedSlots|Unwritable)$"

var all = flag.Bool("sessions.all", false, "also the tests of integration/session that take longest")

// parent is one more file of the tests. Their module does not require the parent driver, and that of the package named
// here does.
const parent = `package session

import _ "github.com/slotsql/slotsql/integration/ecosystem/%s"
`

// Run runs them, without the slow ones unless -sessions.all is set, with the parent driver that a package of
// this module registers. Those in which this driver itself differs from the usual one fail. Differs names them, or
// subtests of theirs, and says how; when one of them passes, it is to be taken out.
func Run(t *testing.T, registers string, differs map[string]string, flags ...string) {
	t.Helper()
	file, overlay := filepath.Join(t.TempDir(), "parent_test.go"), filepath.Join(t.TempDir(), "overlay.json")
	in, err := filepath.Abs("../../session/parent_test.go")
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{in: file}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{file: fmt.Appendf(nil, parent, registers), overlay: replace} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"test", "-json", "-vet=off", "-ldflags=-w", "-timeout=30m", "-overlay=" + overlay}, flags...)
	if !*all {
		args = append(args, "-skip="+slow+"|"+usual)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, tested)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	seen := read(t, out)
	if len(seen) == 0 {
		t.Fatalf("no test has run: %v\n%s%s", err, stderr.Bytes(), out)
	}
	for _, problem := range judge(seen, differs) {
		t.Error(problem)
	}
}

// Late are the tests in which another connection changes columns, for drivers that take the first step of a query
// only when its first row is asked for. SQLite notices the change in that step.
var Late = map[string]string{
	"TestCounterColumnChanges/sqlite": "SELECT * has the names of columns as they were before",
	"TestSchemaChanges/sqlite":        "SELECT * has the names of columns as they were before",
}

// test is what became of a test.
type test struct {
	action string // that which ended it: pass, fail or skip; "" if nothing did
	output strings.Builder
}

// read returns the tests by name, of the events of go test -json.
func read(t *testing.T, events []byte) map[string]*test {
	t.Helper()
	seen := map[string]*test{}
	for line := range bytes.Lines(events) {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Test == "" {
			continue
		}
		if seen[e.Test] == nil {
			seen[e.Test] = &test{}
		}
		switch e.Action {
		case "pass", "fail", "skip":
			seen[e.Test].action = e.Action
		case "output":
			seen[e.Test].output.WriteString(e.Output)
		}
	}
	return seen
}

// judge returns the tests that fail and do not differ, and those that differ and do not fail.
func judge(seen map[string]*test, differs map[string]string) (problems []string) {
	for name, how := range differs {
		if seen[name] == nil || seen[name].action != "fail" {
			problems = append(problems, fmt.Sprintf("%s does not fail: this driver no longer differs by this: %s", name, how))
		}
	}
	for name, test := range seen {
		switch {
		case test.action == "":
			problems = append(problems, fmt.Sprintf("%s has not ended:\n%s", name, &test.output))
		case test.action == "fail" && !expected(name, differs) && !parentOfFailed(name, seen):
			problems = append(problems, fmt.Sprintf("%s:\n%s", name, &test.output))
		}
	}
	return problems
}

// expected reports whether the test, or one that it is part of, differs.
func expected(name string, differs map[string]string) bool {
	for ; name != ""; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
		if differs[name] != "" {
			return true
		}
	}
	return false
}

// parentOfFailed reports whether a subtest of the test has failed, which is judged by itself.
func parentOfFailed(name string, seen map[string]*test) bool {
	for other, test := range seen {
		if test.action == "fail" && strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

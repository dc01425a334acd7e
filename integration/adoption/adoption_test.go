// Package adoption holds the story that docs/adopting.md tells, as a test: an
// application with constant load takes slotsql up on a live table, uses it,
// changes it, and leaves again, step by step, one process after another.
//
// At each step: every total is exact, no statement fails, and every client has
// gone on.
package adoption

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

var (
	rowsFlag  = flag.Int("adoption.rows", 20_000, "rows of the table")
	turnsFlag = flag.Int("adoption.turns", 3, "what each client does at least after each change of another")
)

// The configurations, in the order in which the processes have them.
var (
	one      = []string{"views", "likes"}
	two      = []string{"views", "likes", "shares"}
	shadowed = config{mode: "shadow", slots: 16, counters: one}
	passive  = config{mode: "passive", slots: 16, counters: one}
	on       = config{mode: "on", slots: 16, counters: one}
	joined   = config{mode: "on", slots: 16, counters: two}
	wide     = config{mode: "on", slots: 96, counters: two}
	slim     = config{mode: "on", slots: 4, counters: two}
	leaving  = config{mode: "passive", slots: 4, counters: two}
	off      = config{mode: "off", slots: 4, counters: two}
	plain    = config{}
)

// story is what happens, in this order, while all clients work. A roll-out
// restarts the processes that take slotsql up, one after another.
var story = []struct {
	name string
	do   func(*fleet)
}{
	{"all on the plain driver", func(f *fleet) {}},
	{"check", func(f *fleet) {
		f.command(0, shadowed, "check")
		f.command(1, passive, "check") // there is no slot table
	}},
	{"the wrapper, in shadow", func(f *fleet) { f.rollOut(shadowed) }},
	{"migrate", func(f *fleet) {
		f.migrate(shadowed)
		f.migrate(shadowed) // again, which does nothing
		f.command(0, on, "check")
		f.compared()
	}},
	{"a roll-up", func(f *fleet) { f.startRollUp(on) }},
	{"passive", func(f *fleet) { f.rollOut(passive) }},
	{"on", func(f *fleet) {
		f.based.Store(false)
		f.goOn() // no process takes base values for totals any more
		f.rollOut(on)
		f.command(0, on, "verify", "--patience", "10m")
	}},
	{"the roll-up is killed at work, and another started", func(f *fleet) {
		f.rolledUp()
		f.killRollUp()
		f.goOn()
		f.startRollUp(on)
	}},
	{"a counter joins", func(f *fleet) {
		f.command(1, joined, "check") // the slot table lacks its column
		f.migrate(joined)
		f.stopRollUp()
		f.startRollUp(on)
		f.rollOut(on) // so that all know the column
		f.rollOut(joined)
		f.command(0, joined, "verify", "--patience", "10m")
	}},
	{"more slots", func(f *fleet) {
		f.rollOut(wide)
		f.command(0, wide, "check")
		f.command(0, wide, "verify", "--patience", "10m")
	}},
	{"fewer slots", func(f *fleet) {
		f.rollOut(slim)
		f.drain(slim) // of what is in slots that no process uses any more
		f.command(0, slim, "verify", "--patience", "10m")
	}},
	{"the other roll-up has taken over", func(f *fleet) { f.rolledUp() }},
	{"passive again", func(f *fleet) {
		f.drain(slim)
		f.rollOut(leaving)
	}},
	{"drained", func(f *fleet) {
		f.command(0, leaving, "drain", "--patience", "10m")
		f.based.Store(true)
		f.command(0, leaving, "verify", "--patience", "10m")
	}},
	{"off", func(f *fleet) {
		f.rollOut(off)
		f.stopRollUp()
	}},
	{"migrate --down", func(f *fleet) { f.migrate(off, "--down") }},
	{"all on the plain driver again", func(f *fleet) { f.rollOut(plain) }},
}

func TestAdoption(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "slotsql")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../cmd/slotsql", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		f := newFleet(t, dialect, binary)
		for _, step := range story {
			f.begin(step.name)
			step.do(f)
			f.goOn()
			f.exact()
			if t.Failed() {
				return
			}
			t.Logf("%-50s %7d operations, %s", step.name, f.operations(), f.pace())
		}
		f.stop()
		f.exact()
		t.Logf("transactions repeated for a column that has joined: %d", f.repeated.Load())
	})
}

// compared waits until the shadow has compared a read, and looks at what it says.
func (f *fleet) compared() {
	f.t.Helper()
	for {
		var compared, wrong uint64
		var all []string
		for _, s := range slotsql.Shadows() {
			if s.Dialect == f.dialect {
				compared, wrong = compared+s.Compared, wrong+s.Differences
				all = append(all, strings.Join(append([]string{s.Class, s.Reason, s.Why}, s.Tables...), " "))
			}
		}
		if wrong > 0 {
			f.t.Fatalf("reads in shadow differ: %s", strings.Join(all, "\n"))
		}
		if compared > 0 {
			return
		}
		f.goOn()
	}
}

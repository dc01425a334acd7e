package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/sqlite"
)

// Whatever there is to say, String has twelve lines of eighty columns, and Detailed all of it.
func TestStringIsShort(t *testing.T) {
	long := strings.Repeat("more to say, ", 60)
	e := &Explanation{Verdict: "Slower: " + long, Asleep: long, Awake: long, Groups: long}
	for i := range 30 {
		e.Parts = append(e.Parts, &Explanation{Verdict: long})
		e.Notes = append(e.Notes, fmt.Sprintf("note %d: %s", i, long))
	}
	for _, x := range []*Explanation{e, {Verdict: "Fast: x.", Notes: e.Notes}, {Verdict: "Fast: x.", Parts: e.Parts}, {Verdict: "As plain: x.", Shadow: e}} {
		lines := strings.Split(strings.TrimSuffix(x.String(), "\n"), "\n")
		if len(lines) > mostLines {
			t.Errorf("%d lines:\n%s", len(lines), x)
		}
		for _, l := range lines {
			if len(l) > width {
				t.Errorf("%d columns: %s", len(l), l)
			}
		}
		for _, n := range x.Notes {
			if got := strings.Join(strings.Fields(x.Detailed(sqlite.New())), " "); !strings.Contains(got, oneLine(n)) {
				t.Errorf("%q is lost in\n%s", n, got)
			}
		}
	}
}

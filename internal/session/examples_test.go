package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/sqlite"
)

// The first statements of a kind are kept, each shape once, without values.
func TestExamples(t *testing.T) {
	var e examples
	lx := sqlite.New().LexRules()
	e.note(lx, "UPDATE t SET c = c + 1 -- "+strings.Repeat("long ", maxExample))
	for _, query := range []string{"UPDATE t SET c = c + 1", "UPDATE t SET c = c + 2 /* secret */", "UPDATE t SET c = c + 1", "UPDATE t SET c = 'secret'"} {
		e.note(lx, query)
	}
	if want := []string{"UPDATE t SET c = c + ?", "UPDATE t SET c = ?"}; !slices.Equal(e.shapes(), want) {
		t.Errorf("%q, want %q", e.shapes(), want)
	}
	for i := range 10 {
		e.note(lx, fmt.Sprintf("UPDATE t%d SET c = 0", i))
	}
	if n := len(e.shapes()); n != maxExamples {
		t.Errorf("%d examples, want %d", n, maxExamples)
	}
}

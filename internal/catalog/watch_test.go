package catalog

import (
	"testing"

	"github.com/slotsql/slotsql/dialect"
)

// After a change has begun, looks compare marks until it has certainly ended, and once more.
func TestChangesThatHaveBegun(t *testing.T) {
	t.Parallel()
	glance := func(begun string, ended bool) dialect.Glance {
		return dialect.Glance{State: "s", Begun: begun, Ended: ended}
	}
	var w watch
	expect := func(what string, g dialect.Glance, still bool) {
		t.Helper()
		if got := w.still(g, false); got != still {
			t.Errorf("%s: still %v", what, got)
		}
	}
	expect("first look", glance("1", true), false)
	w.glanced(glance("1", true))
	expect("nothing begun", glance("1", false), true)
	if w.still(glance("1", true), true) {
		t.Error("a table to come may have come")
	}

	expect("begun", glance("2", false), false)
	w.glanced(glance("2", false))
	expect("may be under way", glance("2", false), false)
	expect("has ended since the marks", glance("2", true), false)
	w.glanced(glance("2", true))
	expect("ended before the marks", glance("2", false), true)

	w.glanced(glance("3", false))
	w.settled = clock()
	expect("marks are older", glance("3", false), false)
	w.glanced(glance("3", false))
	expect("marks are newer", glance("3", false), true)
}

package random_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/random"
	"github.com/slotsql/slotsql/integration/twin"
)

// shrink looks for the fewest steps that still show a difference of that sort: it takes
// out runs of steps, long ones first.
func shrink(t *testing.T, app *random.Application, steps []random.Step, sort string) []random.Step {
	end := time.Now().Add(*randomShrink)
	for size := len(steps) / 2; size > 0; size /= 2 {
		for from := 0; from < len(steps); {
			if time.Now().After(end) {
				return steps
			}
			try := slices.Concat(steps[:from], steps[min(from+size, len(steps)):])
			if at, ds := runSteps(t, app, try, nil); sortOf(ds) == sort {
				steps = try[:at+1]
			} else {
				from += size
			}
		}
	}
	return steps
}

// sortOf says in what a step differs, of errors by their classes. Steps that are left without the end of a
// transaction differ in locks, which is not what is looked for.
func sortOf(ds []twin.Difference) string {
	if len(ds) == 0 {
		return ""
	}
	if ds[0].What != "error" {
		return strings.Trim(ds[0].What, "0123456789")
	}
	plain, _, _ := strings.Cut(ds[0].Plain, ": ")
	wrapped, _, _ := strings.Cut(ds[0].Wrapped, ": ")
	return plain + ", " + wrapped
}

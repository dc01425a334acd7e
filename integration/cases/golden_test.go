package cases_test

import (
	"testing"

	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/twin"
)

// TestGolden runs the planner's golden cases on every engine.
func TestGolden(t *testing.T) {
	for _, d := range twin.Dialects {
		cases.Run(t, "../../rewrite/testdata", d)
	}
}

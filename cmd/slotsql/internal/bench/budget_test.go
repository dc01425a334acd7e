package bench

import (
	"strings"
	"testing"
)

// Scenarios sell a budget to its last unit and no further; naive is told from a fault.
func TestBudgetIsExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		acknowledged, gone int64
		soldOut            bool
		keys               int
		want               string
	}{
		{7, 7, false, 1, ""},
		{10, 10, true, 1, ""},
		{7, 7, true, 2, ""}, // the other key's may be left
		{7, 7, true, 1, "refused while units were left: 7 were sold, 7 are gone"},
		{1300, 9, false, 1, "1,300 units were sold, 9 are gone from the budget"},
		{7, 8, false, 1, "7 units were sold, 8 are gone from the budget"},
		{11, 11, true, 1, "OVERSOLD: 11 units were sold, 11 are gone, more than there were"},
	} {
		err := budgetIsExact(&sample{acknowledged: c.acknowledged, soldOut: c.soldOut}, c.gone, Plan{Budget: 10, Keys: c.keys})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A budget that is smaller than what a run would take: exactly so much is sold, the run
// ends early, and only the naive scenario may lose units.
func TestBudgetSoldOut(t *testing.T) {
	t.Parallel()
	plan := Presets["comparison"]
	plan.Clients, plan.Budget, plan.Duration, plan.Warmup, plan.Runs = []int{4}, 200, ms(60_000), 0, 2
	for _, tx := range []Transaction{{}, {Inserts: 1}} {
		plan.Transactions = []Transaction{tx}
		r, err := Run(t.Context(), Options{Engine: EngineOf("sqlite"), Plan: plan})
		if err != nil || len(r.Points) != 1 || r.Inexact() > 0 {
			t.Fatalf("%v: %+v, %v", tx, r, err)
		}
		for _, result := range r.Points[0].Results {
			switch {
			case result.Scenario == naiveName && (result.Acknowledged < 2*plan.Budget || result.Expected != (result.Outcome == Inexact)):
				t.Errorf("%v: %+v", tx, result)
			case result.Scenario != naiveName && (result.Outcome != Exact || result.Acknowledged != 2*plan.Budget || result.Errors > 0):
				t.Errorf("%v: %+v", tx, result)
			}
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "units sold, as many gone from budgets.") {
			t.Errorf("%v\n%s", err, &text)
		}
	}
}

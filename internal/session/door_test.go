package session

import (
	"testing"

	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/rewrite"
)

// The plan of a statement that names no counter table is found at once when it has come a few times, and planned anew once a counter
// table may have another name, with the same facts of tables.
func TestPlanHoldsUntilNewNames(t *testing.T) {
	t.Parallel()
	c, _, _ := shapeConn(t, postgres.New())
	const query = "SELECT id FROM users WHERE id = $1"
	plan := func() *plan {
		t.Helper()
		p, err := c.Plan(t.Context(), query)
		if err != nil || p.Class != rewrite.PassThrough {
			t.Fatal(p, err)
		}
		return p
	}
	for range 4 {
		plan()
	}
	before := c.plannedBefore(query)
	if before == nil || plan() != before {
		t.Fatal("the plan is not found at once")
	}
	for range 4 {
		c.Shared.Untouched.Clear()
		if p := plan(); p == before || c.plannedBefore(query) == before {
			t.Fatal("a plan is used that was made before there were new names")
		}
	}
}

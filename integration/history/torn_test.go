package history

import "testing"

// A read that sees an increment, and not another one that was acknowledged before the first began, is torn;
// one that sees what was never there is not explained by that.
func TestTorn(t *testing.T) {
	r := func(v int32) Row { return Row{There: true, Views: v} }
	auto := func(o Op) *Tx { return &Tx{Auto: true, Outcome: Committed, Ops: []*Op{&o}, Start: o.Start, End: o.End} }
	for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
		h := &History{Dialect: "mysql", Level: level, Wrapped: true}
		h.Initial = [Keys]Row{r(0), r(0), r(0)}
		h.Final = [Keys]Row{r(0), r(1), r(1)}
		h.Clients[0] = []*Tx{auto(Op{Kind: Increment, Key: 1, N: 1, Affected: 1, Start: 2, End: 3})}
		h.Clients[1] = []*Tx{auto(Op{Kind: Increment, Key: 2, N: 1, Affected: 1, Start: 4, End: 5})}
		h.Clients[2] = []*Tx{auto(Op{Kind: ReadAll, Got: [Keys]Row{r(0), r(0), r(1)}, Start: 1, End: 6})}
		s := level != "READ COMMITTED"
		if checkStatements(h, s, nil).explained || !explainedTorn(h) {
			t.Errorf("%s: whole or lost", level)
		}
		h.Clients[2][0].Ops[0].Got[2] = r(2)
		if explainedTorn(h) {
			t.Errorf("%s: a value that was never there", level)
		}
	}
}

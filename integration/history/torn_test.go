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

// A total is read from several rows, and is torn in the same way.
func TestTornTotal(t *testing.T) {
	r := func(v int32) Row { return Row{There: true, Views: v} }
	auto := func(o Op) *Tx { return &Tx{Auto: true, Outcome: Committed, Ops: []*Op{&o}, Start: o.Start, End: o.End} }
	h := &History{Dialect: "mysql", Level: "READ COMMITTED", Wrapped: true}
	h.Initial = [Keys]Row{r(3), r(0), r(0)}
	h.Final = [Keys]Row{r(7), r(0), r(0)}
	h.Clients[0] = []*Tx{auto(Op{Kind: Increment, N: -2, Affected: 1, Start: 2, End: 3})}
	h.Clients[1] = []*Tx{auto(Op{Kind: Increment, N: 6, Affected: 1, Start: 4, End: 5})}
	h.Clients[2] = []*Tx{auto(Op{Kind: Read, Got: [Keys]Row{r(9)}, Start: 1, End: 6})}
	if checkStatements(h, false, nil).explained || !explainedTorn(h) {
		t.Error("whole or lost")
	}
	h.Wrapped = false
	if explainedTorn(h) {
		t.Error("the plain driver reads one row")
	}
	h.Wrapped = true
	for _, lost := range []int32{8, 5} {
		h.Clients[2][0].Ops[0].Got[0] = r(lost)
		if explainedTorn(h) {
			t.Errorf("%d, a value that was never there", lost)
		}
	}
	h.Clients[0][0].Start, h.Clients[0][0].Ops[0].Start, h.Clients[2][0].Ops[0].Start = 0, 0, 4
	h.Clients[0][0].End, h.Clients[0][0].Ops[0].End = 1, 1
	h.Clients[2][0].Start, h.Clients[2][0].Ops[0].Got[0] = 4, r(9)
	if explainedTorn(h) {
		t.Error("a change was acknowledged before the read began")
	}
}

package history

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A stock of one row, and what happens to it. Pairs of cases differ in one number or moment: one
// of them is an oversell, a refusal of what there was, or units that are lost or left.
var stockCases = []struct {
	name         string
	views, final int32
	clients      [][]*Tx
	explained    bool
	levels       string // "" are all
}{
	{
		"two take more than there is", 5, -1,
		[][]*Tx{{auto(take(3, 1, 1, 2))}, {auto(take(3, 1, 3, 4))}},
		false, "",
	},
	{
		"two take all", 6, 0,
		[][]*Tx{{auto(take(3, 1, 1, 2))}, {auto(take(3, 1, 3, 4))}},
		true, "",
	},
	{
		"two that are open take more than there is", 5, -1,
		[][]*Tx{{within(Committed, 5, 6, take(3, 1, 1, 2))}, {within(Committed, 7, 8, take(3, 1, 3, 4))}},
		false, "",
	},
	{
		"two that are open take all", 6, 0,
		[][]*Tx{{within(Committed, 5, 6, take(3, 1, 1, 2))}, {within(Committed, 7, 8, take(3, 1, 3, 4))}},
		true, "",
	},
	{
		"one counts on the rollback of the other", 5, 2,
		[][]*Tx{{within(RolledBack, 7, 8, take(3, 1, 1, 2))}, {within(Committed, 5, 6, take(3, 1, 3, 4))}},
		false, "READ COMMITTED",
	},
	{
		"one needs no rollback of the other", 6, 3,
		[][]*Tx{{within(RolledBack, 7, 8, take(3, 1, 1, 2))}, {within(Committed, 5, 6, take(3, 1, 3, 4))}},
		true, "",
	},
	{
		"all is refused", 5, 5,
		[][]*Tx{{auto(take(5, 0, 1, 2))}},
		false, "",
	},
	{
		"more than all is refused", 5, 5,
		[][]*Tx{{auto(take(6, 0, 1, 2))}},
		true, "",
	},
	{
		"refused before another one takes", 5, 4,
		[][]*Tx{{auto(take(5, 0, 1, 2))}, {auto(take(1, 1, 3, 4))}},
		false, "",
	},
	{
		"refused while another one takes", 5, 4,
		[][]*Tx{{auto(take(5, 0, 1, 4))}, {auto(take(1, 1, 2, 3))}},
		true, "",
	},
	{
		"refused for what is rolled back", 5, 5,
		[][]*Tx{{within(RolledBack, 5, 6, take(3, 1, 1, 2))}, {auto(take(3, 0, 3, 4))}},
		false, "READ COMMITTED, REPEATABLE READ",
	},
	{
		"refused for what is not committed yet", 5, 2,
		[][]*Tx{{within(Committed, 5, 6, take(3, 1, 1, 2))}, {auto(take(3, 0, 3, 4))}},
		false, "READ COMMITTED, REPEATABLE READ",
	},
	{
		"refused after a wait for what is committed", 5, 2,
		[][]*Tx{{within(Committed, 4, 6, take(3, 1, 1, 2))}, {auto(take(3, 0, 3, 5))}},
		true, "",
	},
	{
		"refused after a restock", 0, 5,
		[][]*Tx{{auto(give(5, 1, 2))}, {auto(take(5, 0, 3, 4))}},
		false, "",
	},
	{
		"refused during a restock", 0, 5,
		[][]*Tx{{auto(give(5, 1, 3))}, {auto(take(5, 0, 2, 4))}},
		true, "",
	},
	{
		"refused what a savepoint has given back", 5, 5,
		[][]*Tx{{within(Committed, 9, 10, op(Savepoint, 0, 0, 1, 2), take(3, 1, 3, 4), op(RollbackTo, 0, 0, 5, 6), take(5, 0, 7, 8))}},
		false, "",
	},
	{
		"taken again after a savepoint", 5, 0,
		[][]*Tx{{within(Committed, 9, 10, op(Savepoint, 0, 0, 1, 2), take(3, 1, 3, 4), op(RollbackTo, 0, 0, 5, 6), take(5, 1, 7, 8))}},
		true, "",
	},
	{
		"a killed session keeps its units", 5, 2,
		[][]*Tx{{killed(3, 4, take(3, 1, 1, 2))}},
		false, "",
	},
	{
		"a killed session gives back", 5, 0,
		[][]*Tx{{killed(3, 4, take(3, 1, 1, 2))}, {auto(take(5, 1, 5, 6))}},
		true, "",
	},
	{
		"refused after a kill", 5, 5,
		[][]*Tx{{killed(3, 4, take(3, 1, 1, 2))}, {auto(take(5, 0, 5, 6))}},
		false, "",
	},
	{
		"units of a killed session are taken before its statement has an error", 5, 0,
		[][]*Tx{
			{killed(3, 8, take(3, 1, 1, 2), &Op{Kind: Take, N: 1, Start: 6, End: 7, Class: "bad connection", Err: errors.New("bad connection")})},
			{auto(take(5, 1, 4, 5))},
		},
		true, "",
	},
	{
		"a clamp passes the bound", 5, -1,
		[][]*Tx{{auto(op(Clamp, 3, 1, 1, 2))}, {auto(op(Clamp, 3, 1, 3, 4))}},
		false, "",
	},
	{
		"a clamp stops at the bound", 5, 0,
		[][]*Tx{{auto(op(Clamp, 3, 1, 1, 2))}, {auto(op(Clamp, 3, 1, 3, 4))}},
		true, "",
	},
	{
		"one that was refused gives, and another one has taken since", 5, 3,
		[][]*Tx{{within(Committed, 9, 10, take(6, 0, 1, 2), give(1, 7, 8))}, {within(Committed, 5, 6, take(3, 1, 3, 4))}},
		true, "READ COMMITTED",
	},
	{
		"one that was refused gives, and what it was refused for is changed", 5, 3,
		[][]*Tx{{within(Committed, 9, 10, take(6, 0, 1, 2), give(1, 7, 8))}, {within(Committed, 5, 6, take(3, 1, 3, 4))}},
		false, "REPEATABLE READ",
	},
}

// The checker sees an oversell, and a refusal while there was enough, at every level of every
// engine; and it explains what is neither.
func TestStock(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql", "postgres"} {
		for _, level := range Levels(dialect) {
			for _, c := range stockCases {
				if c.levels != "" && !slices.Contains(strings.Split(c.levels, ", "), level) {
					continue
				}
				h := &History{Dialect: dialect, Level: level, Wrapped: true, Riders: Riders{Bounded: true}}
				h.Initial[0], h.Final[0] = Row{There: true, Views: c.views}, Row{There: true, Views: c.final}
				copy(h.Clients[:], c.clients)
				cut, err := Check(h)
				if cut || (err == nil) != c.explained {
					t.Errorf("%s %s: %s: explained %v, cut %v, %v", dialect, level, c.name, err == nil, cut, err)
				}
			}
		}
	}
}

func op(kind Kind, n int32, affected, start, end int64) *Op {
	return &Op{Kind: kind, N: n, Affected: affected, Start: start, End: end}
}

func take(n int32, affected, start, end int64) *Op { return op(Take, n, affected, start, end) }

func give(n int32, start, end int64) *Op { return op(Increment, n, 1, start, end) }

func auto(o *Op) *Tx { return &Tx{Auto: true, Ops: []*Op{o}, Start: o.Start, End: o.End} }

// within is a transaction whose COMMIT or ROLLBACK runs from start to end.
func within(outcome Outcome, start, end int64, ops ...*Op) *Tx {
	return &Tx{Begin: "BEGIN", Ops: ops, Start: start, End: end, Outcome: outcome}
}

func killed(start, end int64, ops ...*Op) *Tx {
	t := within(Failed, start, end, ops...)
	t.Class = Killed
	return t
}

package history

import (
	"slices"
	"testing"
)

// A transaction that has set a column keeps increments out of what it sees once it has read the
// counter. Until then they may pass it, where the column is an ordinary one.
func TestPassed(t *testing.T) {
	read := func(views int32, start, end int64) *Op {
		return &Op{Kind: Read, Got: [Keys]Row{{There: true, Views: views}}, Start: start, End: end}
	}
	for _, layout := range Layouts {
		h := &History{Dialect: "mysql", Level: "READ COMMITTED", Wrapped: true, Table: Hits}
		h.Companions = layout.companions(h.Table)
		h.Initial[0], h.Final[0] = Row{There: true}, Row{There: true, Views: 2}
		h.Clients[1] = []*Tx{auto(give(2, 5, 6))}
		h.Clients[0] = []*Tx{within(RolledBack, 9, 10, op(Mark, 0, 1, 1, 2), read(2, 7, 8))}
		ordinary := slices.Contains([]Layout{Shared, Adopted, Adaptive, None}, layout)
		if explained := checkStatements(h, false, nil).explained; explained != ordinary {
			t.Errorf("%s: an increment has passed a change of another column: explained %v", layout, explained)
		}
		h.Clients[0] = []*Tx{within(RolledBack, 9, 10, op(Mark, 0, 1, 1, 2), read(0, 3, 4), read(2, 7, 8))}
		if checkStatements(h, false, nil).explained {
			t.Errorf("%s: an increment has passed a read", layout)
		}
	}
}

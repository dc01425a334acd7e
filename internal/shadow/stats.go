package shadow

import (
	"sync/atomic"

	"github.com/slotsql/slotsql/internal/tally"
)

// Stats counts the statements of one kind on tables with mode shadow: those on the same
// tables that, with mode on, would have the same class for the same reason.
type Stats struct {
	Dialect string   `json:"dialect"`
	Tables  []string `json:"tables"` // the tables concerned, those that are on included
	// Class, Reason and Scope are those of [StatementStats], and pass-through for
	// statements that would run as they are. Statements that slotsql has
	// not looked into have class "unplanned".
	Class  string `json:"class"`
	Reason string `json:"reason"`
	Scope  string `json:"scope,omitempty"`

	Statements uint64 `json:"statements"` // that were run, as they are, failed ones included

	// Compared is how many reads were run both ways, once each, and compared.
	// Of these, Differences gave other rows, columns or column types, and
	// Undecided rows that differ in what their text leaves open: the order of
	// rows that ORDER BY does not tell apart, or which of them a LIMIT takes.
	// Behind is how many Differences came when slots held something that the
	// base rows do not have, so that the plain read had to be short of it.
	Compared    uint64 `json:"compared"`
	Differences uint64 `json:"differences"`
	Behind      uint64 `json:"behind"`
	Undecided   uint64 `json:"undecided"`
	// NotCompared is how many reads were to be compared and were not, because
	// they cannot be, and Failed how many because an error or the time ended it.
	// Why is the reason of the last one.
	NotCompared uint64 `json:"not_compared"`
	Failed      uint64 `json:"failed"`
	Why         string `json:"why,omitempty"`
}

// Totals returns what all drivers of this process have counted so far of
// statements on tables with mode shadow, ordered by dialect, tables, class,
// reason and scope. But for Why the numbers only grow; each is right by itself, together
// they may be some statements apart. A new statement is counted
// when it has been planned, which is after it has run: at once, or on SQLite
// when the next connection is taken from the pool.
func Totals() []Stats {
	var out []Stats
	tallies.All(func(k tally.Kind, c *counted) {
		s := Stats{
			Dialect: k.Dialect, Tables: k.Tables, Class: k.Class, Reason: k.Reason, Scope: k.Scope,
			Statements: c.statements.Load(), Compared: c.compared.Load(), Differences: c.differences.Load(), Behind: c.behind.Load(),
			Undecided: c.undecided.Load(), NotCompared: c.notCompared.Load(), Failed: c.failed.Load(),
		}
		if why := c.why.Load(); why != nil {
			s.Why = *why
		}
		out = append(out, s)
	})
	return out
}

var tallies tally.Set[counted]

// counted is what is counted of one kind.
type counted struct {
	statements, compared, differences      atomic.Uint64
	behind, undecided, notCompared, failed atomic.Uint64
	why                                    atomic.Pointer[string]
}

// leave counts a read that is not compared.
func (c *counted) leave(why string) {
	c.notCompared.Add(1)
	c.why.Store(&why)
}

// fail counts one whose comparison has come to nothing.
func (c *counted) fail(err error) {
	c.failed.Add(1)
	why := err.Error()
	c.why.Store(&why)
}

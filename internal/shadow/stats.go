package shadow

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/internal/session"
)

// Stats counts the statements of one kind that were run on tables with
// mode shadow: those on the same tables that would have the same class, for the
// same reason, if the tables were on.
type Stats struct {
	Dialect string   `json:"dialect"`
	Tables  []string `json:"tables"` // the tables concerned, those that are on included
	// Class and Reason are those of [StatementStats], and pass-through for
	// statements that would run as they are. Statements whose text slotsql has
	// not looked into have class "unplanned".
	Class  string `json:"class"`
	Reason string `json:"reason"`

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
// statements on tables with mode shadow, ordered by dialect, tables, class and
// reason. But for Why the numbers only grow; each is right by itself, together
// they may be some statements apart. A statement whose text is new is counted
// when it has been planned, which is after it has run: at once, or on SQLite
// when the next connection is taken from the pool.
func Totals() []Stats {
	var out []Stats
	shadowTallies.Range(func(_, v any) bool {
		t := v.(*tally)
		s := t.kind
		s.Tables = slices.Clone(s.Tables)
		s.Statements, s.Compared, s.Differences, s.Behind = t.statements.Load(), t.compared.Load(), t.differences.Load(), t.behind.Load()
		s.Undecided, s.NotCompared, s.Failed = t.undecided.Load(), t.notCompared.Load(), t.failed.Load()
		if why := t.why.Load(); why != nil {
			s.Why = *why
		}
		out = append(out, s)
		return true
	})
	slices.SortFunc(out, func(a, b Stats) int {
		return cmp.Or(
			cmp.Compare(a.Dialect, b.Dialect),
			slices.Compare(a.Tables, b.Tables),
			cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Reason, b.Reason),
		)
	})
	return out
}

// tally is the counts of one kind.
type tally struct {
	kind                                   Stats
	statements, compared, differences      atomic.Uint64
	behind, undecided, notCompared, failed atomic.Uint64
	why                                    atomic.Pointer[string]
}

// shadowTallies holds them by their kinds, of which there are at most
// maxTallies, as in stats.go.
var (
	shadowTallies     sync.Map // string -> *shadowTally
	shadowTallyNumber atomic.Int64
)

func tallyOf(kind Stats) *tally {
	key := func() string {
		return kind.Dialect + "\x00" + kind.Class + "\x00" + kind.Reason + "\x00" + strings.Join(kind.Tables, "\x00")
	}
	if v, ok := shadowTallies.Load(key()); ok {
		return v.(*tally)
	}
	if shadowTallyNumber.Load() >= session.MaxTallies {
		kind.Tables, kind.Reason = nil, session.OtherReasons
	}
	v, known := shadowTallies.LoadOrStore(key(), &tally{kind: kind})
	if !known {
		shadowTallyNumber.Add(1)
	}
	return v.(*tally)
}

// leave counts a read that is not compared.
func (t *tally) leave(why string) {
	t.notCompared.Add(1)
	t.why.Store(&why)
}

// fail counts one whose comparison has come to nothing.
func (t *tally) fail(err error) {
	t.failed.Add(1)
	why := err.Error()
	t.why.Store(&why)
}

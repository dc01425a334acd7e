package rollup

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Stats counts what the roll-ups of this process have done to the tables of one name. The
// numbers count slot rows unless stated otherwise.
type Stats struct {
	Dialect   string `json:"dialect"`
	Table     string `json:"table"`
	Passes    uint64 `json:"passes"` // over the table, to their end
	Moved     uint64 `json:"moved"`
	Merged    uint64 `json:"merged"`
	Deleted   uint64 `json:"deleted"`
	Orphans   uint64 `json:"orphans"`
	Skipped   uint64 `json:"skipped"`
	Conflicts uint64 `json:"conflicts"` // batches
	Errors    uint64 `json:"errors"`    // base rows
	// Lag is the age of the oldest increment that may still be in a slot: the time
	// since the last pass began. It is 0 if that is not known: when the last pass has
	// left anything behind, and in a process that does not roll up, or stands by.
	Lag time.Duration `json:"lag_ns,omitempty"`
}

// Totals returns what the roll-ups of this process have done so far, ordered by
// dialect and table. But for Lag the numbers only grow.
func Totals() []Stats {
	var out []Stats
	tallies.Range(func(_, v any) bool {
		t := v.(*tally)
		s := t.kind
		s.Passes, s.Moved, s.Merged, s.Deleted, s.Orphans = t.passes.Load(), t.moved.Load(), t.merged.Load(), t.deleted.Load(), t.orphans.Load()
		s.Skipped, s.Conflicts, s.Errors = t.skipped.Load(), t.conflicts.Load(), t.errors.Load()
		if at := t.clean.Load(); at != 0 {
			s.Lag = time.Since(time.Unix(0, at))
		}
		out = append(out, s)
		return true
	})
	slices.SortFunc(out, func(a, b Stats) int {
		return cmp.Or(cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Table, b.Table))
	})
	return out
}

// tally is the counts of one table.
type tally struct {
	kind Stats

	passes, moved, merged, deleted, orphans, skipped, conflicts, errors atomic.Uint64

	clean atomic.Int64 // when the last pass began, in Unix nanoseconds; 0 if it left anything behind
}

var tallies sync.Map // [2]string -> *tally

func tallyOf(dialect, table string) *tally {
	k := [2]string{dialect, table}
	if v, ok := tallies.Load(k); ok {
		return v.(*tally)
	}
	v, _ := tallies.LoadOrStore(k, &tally{kind: Stats{Dialect: dialect, Table: table}})
	return v.(*tally)
}

// add adds what has been done with the table.
func (t *tally) add(r Table, complete bool) {
	t.moved.Add(uint64(r.Moved))
	t.merged.Add(uint64(r.Merged))
	t.deleted.Add(uint64(r.Deleted))
	t.orphans.Add(uint64(r.Orphans))
	t.skipped.Add(uint64(r.Skipped))
	t.conflicts.Add(uint64(r.Conflicts))
	t.errors.Add(uint64(r.Errors))
	if complete {
		t.passes.Add(1)
	}
}

// measure learns the lag from a pass to its end. A pass that has left slots behind does not
// know how old their counts are: each may have come before the last pass, or just now.
func (t *tally) measure(r Table, begun time.Time) {
	if r.left() {
		t.clean.Store(0)
	} else {
		t.clean.Store(begun.UnixNano())
	}
}

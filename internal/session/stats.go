package session

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/rewrite"
)

// StatementStats counts what became of the statements of one kind: those on the
// same tables that have the same class for the same reason.
type StatementStats struct {
	Dialect string   `json:"dialect"`
	Tables  []string `json:"tables"` // the counter tables concerned
	Class   string   `json:"class"`  // as `slotsql explain` says it: additive, read, drain, ...
	Reason  string   `json:"reason"` // why it is not faster; "" when it is as fast as can be

	Statements uint64 `json:"statements"` // that were run, failed ones included
	// Drains is how often slots were folded for them, per table. A drain of a
	// statement that is not of class drain is a Fallback's.
	Drains uint64 `json:"drains"`
	// Fallbacks is how many increments were not slotted when they ran: there was
	// no row, its counter was NULL or close to the end of its range, or an
	// argument did not fit.
	Fallbacks uint64 `json:"fallbacks"`
	// Coalesced is how many increments were added by another one's statement.
	Coalesced uint64 `json:"coalesced"`
}

// Stats returns what all drivers of this process have done so far with
// statements that concern counter tables, ordered by dialect, tables, class and
// reason. Statements that pass through untouched are not counted. The counts
// only grow, so that a metrics library can export them as counters; each is
// right by itself, together they may be some statements apart.
func Stats() []StatementStats {
	var out []StatementStats
	tallies.Range(func(_, v any) bool {
		t := v.(*tally)
		s := t.kind
		s.Tables = slices.Clone(s.Tables)
		s.Statements, s.Drains, s.Fallbacks, s.Coalesced = t.statements.Load(), t.drains.Load(), t.fallbacks.Load(), t.coalesced.Load()
		out = append(out, s)
		return true
	})
	slices.SortFunc(out, func(a, b StatementStats) int {
		return cmp.Or(
			cmp.Compare(a.Dialect, b.Dialect),
			slices.Compare(a.Tables, b.Tables),
			cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Reason, b.Reason),
		)
	})
	return out
}

// tally is the counts of one kind of statement.
type tally struct {
	kind                                     StatementStats
	statements, drains, fallbacks, coalesced atomic.Uint64
}

// tallies holds every tally by its kind. A process that runs ever new kinds
// (reasons may quote a text) counts those beyond maxTallies under otherReasons.
var (
	tallies     sync.Map // string -> *tally
	tallyNumber atomic.Int64
)

// A process that runs ever new kinds of statements counts those beyond MaxTallies
// under OtherReasons.
const (
	MaxTallies   = 1000
	OtherReasons = "(other reasons)"
)

// tallyOf returns the tally that counts a plan; nil where nothing is run.
func (s *Shared) tallyOf(p *rewrite.Plan) *tally {
	if s.Dry {
		return nil
	}
	return tallyOf(s.Dialect.Name(), p)
}

// tallyOf returns the tally that counts a plan; nil for one that passes
// through.
func tallyOf(dialect string, p *rewrite.Plan) *tally {
	if p.Class == rewrite.PassThrough {
		return nil
	}
	t := &tally{kind: StatementStats{Dialect: dialect, Tables: p.Tables, Class: string(p.Class), Reason: p.Reason}}
	key := func() string {
		return t.kind.Dialect + "\x00" + t.kind.Class + "\x00" + t.kind.Reason + "\x00" + strings.Join(t.kind.Tables, "\x00")
	}
	if v, ok := tallies.Load(key()); ok {
		return v.(*tally)
	}
	if tallyNumber.Load() >= MaxTallies {
		t.kind.Tables, t.kind.Reason = nil, OtherReasons
	}
	v, known := tallies.LoadOrStore(key(), t)
	if !known {
		tallyNumber.Add(1)
	}
	return v.(*tally)
}

func (t *tally) ran() {
	if t != nil {
		t.statements.Add(1)
	}
}

func (t *tally) drained() {
	if t != nil {
		t.drains.Add(1)
	}
}

func (t *tally) shared(n int) {
	if t != nil {
		t.coalesced.Add(uint64(n))
	}
}

func (t *tally) fellBack() {
	if t != nil {
		t.fallbacks.Add(1)
	}
}

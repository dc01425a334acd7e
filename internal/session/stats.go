package session

import (
	"sync/atomic"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/tally"
	"github.com/slotsql/slotsql/rewrite"
)

// StatementStats counts the statements of one kind: those on the same tables, of the same
// class, for the same reason and, if they drain, of the same scope.
type StatementStats struct {
	Dialect string   `json:"dialect"`
	Tables  []string `json:"tables"` // the counter tables concerned
	Class   string   `json:"class"`  // as `slotsql explain` says it: additive, read, draw, drain, ...
	Reason  string   `json:"reason"` // why it is not faster; "" when it is as fast as can be

	// Verdict says in a sentence how one of these statements compares with plain, as `slotsql explain` does.
	Verdict string `json:"verdict"`
	// Scope is which rows a statement of class drain drains: "rows of a unique key" or
	// "all rows". Increments of these rows wait until its transaction ends. It is "" for other classes.
	Scope string `json:"scope,omitempty"`

	Statements uint64 `json:"statements"` // that were run, failed ones included
	// Drains is how often slots were folded for these statements, once per table. For a class
	// other than drain, these are drains of Fallbacks.
	Drains uint64 `json:"drains"`
	// Fallbacks is how many increments were not slotted when they ran: the row did not
	// exist, its counter was NULL or close to the end of its range, or an argument did
	// not fit.
	Fallbacks uint64 `json:"fallbacks"`
	// Coalesced is how many executions were part of another execution's statement.
	Coalesced uint64 `json:"coalesced"`
	// Cold is how many ran alone on base rows, as written, also because there was nothing to fold; Grouped, how many shared a
	// statement on the base row; Slotted, how many went to a slot.
	Cold    uint64 `json:"cold"`
	Grouped uint64 `json:"grouped"`
	Slotted uint64 `json:"slotted"`
	// Heated is how often a row has become hot: see placement: adaptive.
	Heated uint64 `json:"heated"`
	// Tickets is how many numbers were drawn from leased blocks: see tickets.
	Tickets uint64 `json:"tickets"`
	// Observed is how many queries ran as written because there were no slots, FoldedFirst how many did after their slots had
	// been folded, and Exact how many ran in the way that is exact beside slots.
	Observed    uint64 `json:"observed"`
	FoldedFirst uint64 `json:"folded_first"`
	Exact       uint64 `json:"exact"`

	// Examples are a few of the statements, without their values: literals and
	// placeholders are shown as ?.
	Examples []string `json:"examples,omitempty"`
}

// Stats returns what all drivers of this process have counted so far about statements on counter
// tables, ordered by dialect, tables, class, reason and scope. Statements that pass through
// untouched are not counted. The counts only grow, so that a metrics library can export them as
// counters. Each count is exact, but they are not all read at the same instant.
func Stats() []StatementStats {
	var out []StatementStats
	tallies.All(func(k tally.Kind, c *counts) {
		if c.statements.Load() == 0 && c.drains.Load() == 0 {
			return // planned, and not run
		}
		out = append(out, StatementStats{
			Dialect: k.Dialect, Tables: k.Tables, Class: k.Class, Reason: k.Reason, Verdict: c.said(), Scope: k.Scope,
			Statements: c.statements.Load(), Drains: c.drains.Load(), Fallbacks: c.fallbacks.Load(), Coalesced: c.coalesced.Load(),
			Cold: c.cold.Load(), Grouped: c.grouped.Load(), Slotted: c.slotted.Load(), Heated: c.heated.Load(),
			Tickets: c.tickets.Load(), Observed: c.observed.Load(), FoldedFirst: c.folded.Load(), Exact: c.exact.Load(),
			Examples: c.examples.shapes(),
		})
	})
	return out
}

var tallies tally.Set[counts]

// counts are those of one kind of statement.
type counts struct {
	statements, drains, fallbacks, coalesced, cold, grouped, slotted, heated, tickets, observed, exact, folded atomic.Uint64

	verdict  atomic.Pointer[string]
	examples examples
}

// uncounted is for plans beside the application's.
var uncounted counts

// countsOf returns what counts the plan of a statement. If nothing is run, or the statement passes through, the counts are never read.
func countsOf(c *Conn, p *rewrite.Plan, query string) *counts {
	s := c.Shared
	if s.Role.Dry || p.Class == rewrite.PassThrough {
		return &counts{}
	}
	of := tallies.Of(tally.Kind{
		Dialect: s.Dialect.Name(), Class: string(p.Reported()), Reason: p.Reason, Scope: p.DrainScope(), Tables: p.Tables,
	})
	if of.verdict.Load() == nil {
		verdict := p.Verdict(catalog.WhyUnslotted(c.Schema, query)).String()
		of.verdict.CompareAndSwap(nil, &verdict)
	}
	of.examples.note(s.Dialect.LexRules(), query)
	return of
}

// said returns the verdict on the first statement of the kind.
func (c *counts) said() string {
	if v := c.verdict.Load(); v != nil {
		return *v
	}
	return ""
}

func (c *counts) ranGrouped(n int) {
	c.grouped.Add(uint64(n))
	c.coalesced.Add(uint64(n - 1))
}

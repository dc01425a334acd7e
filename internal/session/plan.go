package session

import (
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// plan is a plan with what is learned when it runs.
type plan struct {
	*rewrite.Plan
	source string // the application's SQL; "" if it cannot be planned again
	tally  *counts
	shadow any          // counts it in shadow mode; nil: it names no table in shadow
	habit  *slots.Habit // of transactions with statements of its form; nil: none is kept
	*learned
	// dynamic is set if the statement runs SQL that is the value of an expression.
	dynamic *rewrite.Dynamic
	// otherwise is the plan of several untouched statements in one call, for a session that may
	// split the call elsewhere; see withEffects.
	otherwise *plan
	untouched bool  // it names no counter table
	clears    int64 // Shared.Untouched.Clears before it was made
	usual
}

// planOf returns a new plan without statistics.
func planOf(made *rewrite.Plan) *plan {
	return &plan{Plan: made, tally: &uncounted, learned: &learned{}, usual: usualOf(made)}
}

// usual is what is usual about a statement, whose executions then skip what only others need.
type usual struct {
	ways     *ways
	groups   bool // executions may share a statement on the base row, whatever way each would take alone (increments only do in some)
	ordinary bool // it is not refused, has nothing to do with tickets, draws no number, and no * has to be written out first
	passes   bool // it goes to the parent as it is
	quiet    bool // once it has succeeded, there is nothing to note but that one has run
	drain    bool // it drains as most do, and with as many arguments as it takes none of its drain's can be missing: see ways.rare
	locks    bool // perhaps it reads only what it locks
	mayLock  bool // it is neither an increment nor a plain read, so it may lock rows: see slots.MayLock
	adapts   bool // it is an increment that runs on the base row while that is cold
	sleeps   bool // it is an increment of a table that sleeps while no row is hot
	keyed    bool // it finds its row by the key of the slots
	fits     bool // it is an increment that may go to a slot, and to the base row, with any arguments of the right number

	row      rowName // that it adds to
	alike    uint64  // the hash of Group.SameSQL, if that is known
	together uint64  // the hash of Group.Many, if there is one
}

// usualOf finds out what is usual about a statement.
func usualOf(p *rewrite.Plan) (u usual) {
	u.ways = waysOf(p)
	u.ordinary = refusal(p) == nil && p.Effects&(rewrite.TicketLock|rewrite.TicketRecall) == 0 &&
		(len(p.Read.Stars) == 0 || p.Class == rewrite.Read)
	if g := p.Group; g != nil {
		u.groups = p.Class == rewrite.PassThrough || p.Class == rewrite.Drain || p.Class == rewrite.AdditiveBase
		u.ordinary = u.ordinary && g.Lease.Block == 0 && g.InsertID == 0 && len(g.Stars) == 0
	}
	u.passes = p.Class == rewrite.PassThrough && p.Group == nil && len(p.Base.Changes) == 0 && p.Effects&rewrite.TicketRecall == 0
	u.quiet = p.Effects == 0 && len(p.Base.DeletesFrom) == 0
	u.drain = drainsAsMost(p)
	u.mayLock = p.Class != rewrite.Additive && p.Class != rewrite.Read && p.Effects != rewrite.TxControl
	u.locks = p.Base.LocksOnly || p.Class == rewrite.Drain
	if inc := p.Increment; inc != nil {
		u.fits = inc.FitsAny(p.Inputs)
		u.row = rowNameOf(inc.Table, inc.Which, p.Values)
		u.keyed = len(inc.Table.Counter.Key) == 0 || len(inc.Key) > 0 && inc.ByOther == ""
		u.sleeps = !schema.AlwaysAwake(inc.Table.Counter.Options.Placement, inc.Table.Counter.Layout)
		u.adapts = adapts(inc.Table.Counter)
	}
	if b := p.Bounded; b != nil && b.Portion != nil {
		u.row = rowNameOf(b.Portion.Table, b.Key, p.Values)
	}
	if u.row.known && p.Group != nil {
		u.alike = slots.StatementHash(p.Group.SameSQL.Of(p.Values))
	}
	if p.Group != nil && p.Group.Many != nil {
		u.together = slots.StatementHash(p.Group.Many.SQL.Of(p.Values))
	}
	return u
}

// adapts reports whether increments run on the base row while that is cold.
func adapts(c *schema.Counter) bool {
	return c.Options.Placement == schema.PlacementAdaptive && c.Layout != schema.LayoutJournal
}

// slotted reports whether an increment goes to a slot, whatever its row and what it adds.
func slotted(inc *rewrite.Increment) bool {
	return !adapts(inc.Table.Counter) && !slices.ContainsFunc(inc.Deltas, func(d rewrite.DeltaArg) bool { return d.Side != schema.AnySide })
}

// drainsAsMost reports whether none of ways.rare concerns a statement that is given all its arguments.
func drainsAsMost(p *rewrite.Plan) bool {
	lacking := func(a rewrite.Arg) bool {
		return a.Name != "" || a.Number == "" && (a.Index < 0 || a.Index >= p.Inputs)
	}
	for i := range p.Drain.Tables {
		if slices.ContainsFunc(p.Drain.Tables[i].Rows.Args, lacking) {
			return false
		}
	}
	return !p.Drain.OutsideTx && !p.Drain.InsideTx && p.Read.Observed == nil && p.Effects&rewrite.TicketRecall == 0 &&
		(p.Group == nil || p.Effects&rewrite.TicketLock == 0)
}

// learned is what executions have shown about a statement, and about those of the same shape.
type learned struct {
	types  atomic.Pointer[shapeTypes] // see reading.queryShape
	proofs proofs
	asked  atomic.Pointer[[]*slots.Sleeper] // see reading.tablesAsked
	asleep proofs                           // of the form for tables without slots
}

// same reports whether both plans run the same SQL.
func (p *plan) same(q *plan) bool {
	if p.Class != q.Class || p.SQL != q.SQL || (p.Increment == nil) != (q.Increment == nil) || len(p.Drain.Tables) != len(q.Drain.Tables) {
		return false
	}
	same := p.Increment == nil || p.Increment.SQL.Of(p.Values) == q.Increment.SQL.Of(q.Values)
	equal := func(a, b []rewrite.Bound) bool {
		return slices.EqualFunc(a, b, func(x, y rewrite.Bound) bool { return x.SQL.Of(p.Values) == y.SQL.Of(q.Values) })
	}
	for i := range p.Drain.Tables {
		d, e := &p.Drain.Tables[i], &q.Drain.Tables[i]
		same = same && equal(d.Lock, e.Lock) && equal(d.Fold, e.Fold) &&
			(d.Folding != rewrite.FoldByName || reflect.DeepEqual(d.Table, e.Table)) // its statements are written from the facts
	}
	return same && equal(p.Drain.Before, q.Drain.Before) && equal(p.Drain.After, q.Drain.After)
}

// cached returns the plan that a cache has for a statement, nil if it has none.
func cached(c *catalog.PlanCache, query string) *plan {
	p, _ := c.Get(query).(*plan)
	return p
}

// concerned is cached, without the plans of statements that concern no configured table: such a plan may be out of date.
func concerned(c *catalog.PlanCache, query string) *plan {
	if p := cached(c, query); p != nil && !p.untouched {
		return p
	}
	return nil
}

// TouchedTables returns the counter tables that the plan's SQL names.
func (p *plan) TouchedTables() []*schema.Table {
	all := p.Touched
	for _, part := range p.Parts {
		for _, t := range part.Plan.Touched {
			if !slices.Contains(all, t) {
				all = append(slices.Clip(all), t)
			}
		}
	}
	return all
}

// refusal returns the error of a statement that the plan or the configuration refuses.
func refusal(plan *rewrite.Plan) error {
	if plan.Class == rewrite.Refused {
		return unsupported(plan, plan.Reason)
	}
	if plan.Class != rewrite.Drain {
		return nil
	}
	for _, d := range plan.Drain.Tables {
		if d.Table.Counter.Options.OnDrain == schema.OnDrainError {
			return &link.DrainError{Reason: plan.Reason, Table: d.Table.Name}
		}
	}
	return nil
}

// unsupported returns the error of a statement that cannot be run exactly.
func unsupported(plan *rewrite.Plan, reason string) error {
	e := &link.UnsupportedError{Reason: reason}
	if len(plan.Tables) > 0 {
		e.Table = plan.Tables[0]
	}
	return e
}

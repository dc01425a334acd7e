package slotsql

import (
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/rewrite"
)

// plan is a plan with what is learned when it first runs.
type plan struct {
	*rewrite.Plan
	source string                     // the application's text, where it can be planned again
	types  atomic.Pointer[shapeTypes] // see run.shape
	tally  *tally                     // nil: not counted
	shadow *shadowText                // nil: names no table in shadow
	habit  *habit                     // of its form; nil: none is kept
	// dynamic is set where the text's own statement is an expression's value.
	dynamic *rewrite.Dynamic
	// otherwise is the plan of an untouched text of several statements in a session
	// that may cut it elsewhere; see untouchedHere.
	otherwise *plan
}

// same says that both plans run the same texts.
func (p *plan) same(q *plan) bool {
	if p.Class != q.Class || p.Text != q.Text || (p.Increment == nil) != (q.Increment == nil) || len(p.Drains) != len(q.Drains) {
		return false
	}
	same := p.Increment == nil || p.Increment.SQL == q.Increment.SQL
	text := func(b []rewrite.Bound) (s string) {
		for i := range b {
			s += b[i].SQL + "\x00"
		}
		return s
	}
	for i := range p.Drains {
		same = same && text(p.Drains[i].Lock) == text(q.Drains[i].Lock) && text(p.Drains[i].Fold) == text(q.Drains[i].Fold)
	}
	return same && text(p.Before) == text(q.Before) && text(p.After) == text(q.After)
}

// planCache keeps plans by text. Finding one takes no lock: every statement of
// every connection comes here. The cache is bounded in the size of a text, in
// entries and in the bytes of their texts; when it is full all go, which needs
// no clock and costs a hot text one more planning in thousands of new texts.
type planCache struct {
	plans   sync.Map // string -> *plan
	entries atomic.Int64
	bytes   atomic.Int64
}

// The bounds are about right, not exact: concurrent writers may go past them
// by one entry each.
const (
	maxCachedPlans = 4096
	maxCachedText  = 16 << 10 // bytes; a longer text costs more to run than to plan
	maxCachedBytes = 8 << 20  // of all texts; what their plans hold is a small multiple of it
)

func (c *planCache) get(text string) *plan {
	v, _ := c.plans.Load(text)
	p, _ := v.(*plan)
	return p
}

func (c *planCache) put(text string, p *plan) {
	if len(text) > maxCachedText {
		return
	}
	if c.entries.Load() >= maxCachedPlans || c.bytes.Load()+int64(len(text)) > maxCachedBytes {
		c.clear()
	}
	if _, replaced := c.plans.Swap(text, p); !replaced {
		c.entries.Add(1)
		c.bytes.Add(int64(len(text)))
	}
}

func (c *planCache) clear() {
	c.plans.Clear()
	c.entries.Store(0)
	c.bytes.Store(0)
}

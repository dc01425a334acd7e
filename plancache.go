package slotsql

import (
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/rewrite"
)

// plan is a plan with what is learned when it first runs.
type plan struct {
	*rewrite.Plan
	source string                       // the application's text, where it can be planned again
	types  atomic.Pointer[[]columnType] // see run.shape
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

// planCache keeps plans by text. It is bounded in entries and in the size of a
// text; when it is full an arbitrary entry makes room, which needs no clock
// and costs a hot text at most one more planning.
type planCache struct {
	mu    sync.RWMutex
	plans map[string]*plan
}

const (
	maxCachedPlans = 4096
	maxCachedText  = 16 << 10 // bytes; a longer text costs more to run than to plan
)

func (c *planCache) get(text string) *plan {
	c.mu.RLock()
	p := c.plans[text]
	c.mu.RUnlock()
	return p
}

func (c *planCache) put(text string, p *plan) {
	if len(text) > maxCachedText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans == nil {
		c.plans = map[string]*plan{}
	}
	for k := range c.plans {
		if len(c.plans) < maxCachedPlans {
			break
		}
		delete(c.plans, k)
	}
	c.plans[text] = p
}

func (c *planCache) clear() {
	c.mu.Lock()
	c.plans = nil
	c.mu.Unlock()
}

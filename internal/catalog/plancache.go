package catalog

import (
	"sync"
	"sync/atomic"
)

// PlanCache keeps plans by text. Finding one takes no lock: every statement of
// every connection comes here. The cache is bounded in the size of a statement, in
// entries and in the bytes of their SQL; when it is full all go, which needs
// no clock and costs a frequent statement one more planning in thousands of new ones.
type PlanCache struct {
	plans   sync.Map // by statement
	entries atomic.Int64
	bytes   atomic.Int64
}

// The bounds are about right, not exact: concurrent writers may go past them
// by one entry each.
const (
	MaxCachedPlans = 4096
	MaxCachedText  = 16 << 10 // bytes; a longer text costs more to run than to plan
	maxCachedBytes = 8 << 20  // of all SQL; what their plans hold is a small multiple of it
)

// Get returns the plan of a statement, nil for none.
func (c *PlanCache) Get(text string) any {
	v, _ := c.plans.Load(text)
	return v
}

// Put keeps the plan of a statement, unless it is longer than MaxCachedText.
func (c *PlanCache) Put(text string, p any) {
	if len(text) > MaxCachedText {
		return
	}
	if c.entries.Load() >= MaxCachedPlans || c.bytes.Load()+int64(len(text)) > maxCachedBytes {
		c.Clear()
	}
	if _, replaced := c.plans.Swap(text, p); !replaced {
		c.entries.Add(1)
		c.bytes.Add(int64(len(text)))
	}
}

// Clear forgets all plans.
func (c *PlanCache) Clear() {
	c.plans.Clear()
	c.entries.Store(0)
	c.bytes.Store(0)
}

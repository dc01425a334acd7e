package slotsql

import (
	"sync"
	"sync/atomic"
)

// planCache keeps plans by text. Finding one takes no lock: every statement of
// every connection comes here. The cache is bounded in the size of a text, in
// entries and in the bytes of their texts; when it is full all go, which needs
// no clock and costs a hot text one more planning in thousands of new texts.
type planCache struct {
	plans   sync.Map // by statement
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

func (c *planCache) get(text string) any {
	v, _ := c.plans.Load(text)
	return v
}

func (c *planCache) put(text string, p any) {
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

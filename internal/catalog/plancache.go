package catalog

import (
	"sync"
	"sync/atomic"
)

// PlanCache keeps plans by a string: a statement, or what statements have in common.
// Finding one takes no lock: every statement of every connection comes here.
//
// It has two generations, each bounded in the size of a statement, in entries and in the
// bytes of their SQL. When the younger one is full the older one goes, and the younger one
// takes its place. What is found in the older one is kept in the younger one too, so that
// a statement that comes at least once while a generation fills is never planned again,
// however many others come and go.
type PlanCache struct {
	mu         sync.Mutex // held to change generations
	young, old atomic.Pointer[generation]
	clears     atomic.Int64
}

// generation is a part of the cache that goes as a whole.
type generation struct {
	plans   sync.Map // by statement
	entries atomic.Int64
	bytes   atomic.Int64
}

// The bounds of a generation are about right, not exact: concurrent writers may go past
// them by one entry each.
const (
	MaxCachedPlans = 4096
	MaxCachedSQL   = 16 << 10 // bytes; a longer statement costs more to run than to plan
	maxCachedBytes = 4 << 20  // of all SQL; what their plans hold is a small multiple of it
)

// Get returns the plan of a statement, nil for none.
func (c *PlanCache) Get(sql string) any {
	young := c.young.Load()
	if young != nil {
		if v, ok := young.plans.Load(sql); ok {
			return v
		}
	}
	old := c.old.Load()
	if old == nil {
		return nil
	}
	v, ok := old.plans.Load(sql)
	if !ok {
		return nil
	}
	c.keep(young, sql, v)
	return v
}

// keep takes a plan of the older generation into the younger one, and nowhere where Clear
// has come in between.
func (c *PlanCache) keep(young *generation, sql string, p any) {
	if young == nil {
		return
	}
	if young.full(sql) {
		now := c.next(young)
		if c.old.Load() != young {
			return
		}
		young = now
	}
	young.put(sql, p)
}

// Put keeps the plan of a statement, unless it is longer than MaxCachedSQL.
func (c *PlanCache) Put(sql string, p any) {
	if len(sql) > MaxCachedSQL {
		return
	}
	young := c.young.Load()
	if young == nil || young.full(sql) {
		young = c.next(young)
	}
	young.put(sql, p)
}

// next returns the generation to fill in place of one that is full, or of none.
func (c *PlanCache) next(full *generation) *generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	young := c.young.Load()
	if young != full && young != nil {
		return young // another caller has been here
	}
	fresh := &generation{}
	c.old.Store(young) // not full where Clear has come in between
	c.young.Store(fresh)
	return fresh
}

func (g *generation) full(sql string) bool {
	return g.entries.Load() >= MaxCachedPlans || g.bytes.Load()+int64(len(sql)) > maxCachedBytes
}

func (g *generation) put(sql string, p any) {
	if _, replaced := g.plans.Swap(sql, p); !replaced {
		g.entries.Add(1)
		g.bytes.Add(int64(len(sql)))
	}
}

// Clear forgets all plans.
func (c *PlanCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clears.Add(1)
	c.young.Store(nil)
	c.old.Store(nil)
}

// Clears returns how often the plans have been forgotten. A plan that was begun before the last time must not be used.
func (c *PlanCache) Clears() int64 { return c.clears.Load() }

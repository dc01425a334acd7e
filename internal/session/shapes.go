package session

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file finds the plan of a statement that has not been seen before among those of its shape:
// see rewrite.SharedPlan.

// shape is what is known of the statements of one shape.
type shape struct {
	mu     sync.Mutex // held to add a plan
	shared atomic.Pointer[sharedPlans]
}

// sharedPlans are the plans of a shape. They are replaced as a whole.
type sharedPlans struct {
	known []bool // the literals by which the planner decides for any of them
	plans map[string]*sharedPlan
	none  bool // there are none to be made
}

// sharedPlan is a plan, with what all of its statements have in common.
type sharedPlan struct {
	*rewrite.SharedPlan
	tally   *counts
	habit   *slots.Habit
	learned *learned
}

// maxSharedPlans bounds the plans of one shape.
const maxSharedPlans = 64

var outlines = sync.Pool{New: func() any { return &lex.Shape{} }}

// planShaped returns the plan of a statement that is in no cache: that of others of its
// shape, or one made now.
func (c *Conn) planShaped(ctx context.Context, query string) (*plan, error) {
	sc, o := c.Schema, outlines.Get().(*lex.Shape)
	defer outlines.Put(o)
	if !rewrite.ScanShape(sc.Planner.Dialect, o, query, sc.MayName) {
		return c.planNow(ctx, query)
	}
	key := string(o.Key)
	sh, _ := sc.Shapes.Get(key).(*shape)
	if sh == nil {
		sc.Shapes.Put(key, &shape{})
		return c.planNow(ctx, query)
	}
	shared, due := sh.find(o)
	if shared != nil {
		made := &struct { // one piece of memory
			plan
			of     rewrite.Plan
			values rewrite.FieldValues
		}{plan: plan{source: query, tally: shared.tally, shadow: c.Shared.shadowOf(query), habit: shared.habit, learned: shared.learned}}
		shared.Fill(o, &made.of, &made.values)
		p := &made.plan
		p.Plan, p.usual = &made.of, usualOf(&made.of)
		if c.Shared.repeats.seenBefore(query) {
			sc.Plans.Put(query, p)
		}
		return p, nil
	}
	p, err := c.planNow(ctx, query)
	if err == nil && due {
		sh.learn(&sc.Planner, o, p)
	}
	return p, err
}

// find returns the shared plan of a statement, nil for none. Due reports whether to make one:
// that costs a few plannings, and waits for a second statement that it would be for.
func (sh *shape) find(o *lex.Shape) (found *sharedPlan, due bool) {
	s := sh.shared.Load()
	if s == nil {
		return nil, true
	}
	var buf [64]byte
	known := o.Known(buf[:0], s.known)
	found, ok := s.plans[string(known)]
	if !ok && !s.none {
		sh.add(s.known, string(known), nil)
	}
	return found, ok && !s.none
}

// learn makes a shared plan from that of a statement.
func (sh *shape) learn(pl *rewrite.Planner, o *lex.Shape, p *plan) {
	shared := pl.Share(o, p.Plan)
	if shared == nil {
		sh.shared.Store(&sharedPlans{none: true})
		return
	}
	known := shared.Known()
	if old := sh.shared.Load(); old != nil && !old.none {
		for i := range known {
			known[i] = known[i] || old.known[i]
		}
	}
	sh.add(known, string(o.Known(nil, known)), &sharedPlan{shared, p.tally, p.habit, p.learned})
}

// add adds a plan, or nil if one is to be made for the next statement with these known literals.
// If the planner has decided by literals by which the existing plans are not told apart, those are
// dropped.
func (sh *shape) add(known []bool, key string, p *sharedPlan) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	next := &sharedPlans{known: known, plans: map[string]*sharedPlan{}}
	if old := sh.shared.Load(); old != nil {
		if old.none {
			return
		}
		if slices.Equal(old.known, known) && len(old.plans) < maxSharedPlans {
			maps.Copy(next.plans, old.plans)
		}
	}
	next.plans[key] = p
	sh.shared.Store(next)
}

// repeats tells statements that are sent again from those that are sent once, which are not worth
// a place in a cache. It forgets, and may mistake one for another.
type repeats struct {
	seed maphash.Seed
	seen [8192]atomic.Uint32
}

// seenBefore reports whether a statement has been sent before.
func (c *repeats) seenBefore(query string) bool {
	if len(query) > catalog.MaxCachedSQL {
		return false
	}
	h := maphash.String(c.seed, query)
	at, mark := &c.seen[h%uint64(len(c.seen))], uint32(h>>32)|1
	return at.Load() == mark || at.Swap(mark) == mark
}

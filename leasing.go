package slotsql

import (
	"context"
	"math/bits"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// lease looks after the process's part when that is due. It runs on a
// connection that is about to be used, on behalf of no statement: whatever goes
// wrong, the process goes on with the slots it has, and tries again later.
func (c *conn) lease(ctx context.Context) {
	p := c.node.places
	due := p.due.Load()
	if due == 0 || time.Now().UnixNano() < due || !c.asConnected() {
		return
	}
	if !p.due.CompareAndSwap(due, time.Now().Add(leaseRenewal).UnixNano()) {
		return // another connection does it
	}
	l, ok := c.shared.dialect.(dialect.Leaser)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	part, err := c.leasePart(ctx, l, p.part)
	for tries := 1; err != nil && tries < maxTries && c.engine.conflict(err); tries++ {
		part, err = c.leasePart(ctx, l, p.part) // another node of a cluster has taken one
	}
	switch {
	case err != nil && c.engine.schemaChanged(err):
		p.due.Store(0) // there is no table
	case err != nil: // which says nothing of who has the part
	case part != p.part && part >= 0:
		p.first.Store(bits.Reverse32(uint32(part)))
		p.part = part
	case part < 0 && p.part >= 0:
		p.first.Store(anywhere())
		p.part = -1
	}
}

// leasePart extends the lease of a part, or takes the first part that is free;
// -1 when there is none.
func (c *conn) leasePart(ctx context.Context, l dialect.Leaser, part int) (int, error) {
	take := func(part int) (bool, error) {
		return l.Lease(ctx, c.session(), partName(part), c.node.places.holder, leaseSeconds)
	}
	if part >= 0 {
		if held, err := take(part); held || err != nil {
			return part, err
		}
	}
	others, err := l.Leased(ctx, c.session())
	if err != nil {
		return -1, err
	}
	tries := 0
	for part := 0; part < maxParts && tries < 4; part++ {
		if others[partName(part)] {
			continue
		}
		tries++ // others may be about to take the same
		if held, err := take(part); held || err != nil {
			return part, err
		}
	}
	return -1, nil
}

// leases has leases taken from now on, in the table that is there or is made
// when the configuration says so.
func (s *shared) leases(ctx context.Context, c *view) {
	l, ok := s.dialect.(dialect.Leaser)
	if !ok {
		return
	}
	if s.config.AutoMigrate() {
		_ = c.migrate(ctx, l.CreateLeases()) // without it there are no leases
	}
	s.placement.lease()
}

// learnNode finds out which node the connection is on.
func (c *conn) learnNode(ctx context.Context) {
	c.node = &c.shared.placement.home
	if name := c.link.learnNode(ctx); name != "" {
		c.node = c.shared.placement.nodeOf(name)
	}
}

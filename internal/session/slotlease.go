package session

import (
	"context"
	"math/bits"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
)

// renewLease takes or renews the lease of the process's part of the slots, if that is due. It runs
// on a connection that is about to be used, but on behalf of no statement: if it fails, the
// process goes on with the slots that it has, and tries again later.
func (c *Conn) renewLease(ctx context.Context) {
	p := c.node.Range
	due := p.Due.Load()
	if due == 0 || time.Now().UnixNano() < due || !c.AsConnected() {
		return
	}
	if !p.Due.CompareAndSwap(due, time.Now().Add(slots.LeaseRenewal).UnixNano()) {
		return // another connection does it
	}
	l, ok := c.Shared.Dialect.(dialect.Leaser)
	if !ok {
		return
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	was := int(p.Part.Load())
	part, err := c.leasePart(ctx, l, was)
	for tries := 1; err != nil && tries < link.MaxTries && c.Engine.Conflict(err); tries++ {
		part, err = c.leasePart(ctx, l, was) // another node of a cluster has taken one
	}
	switch {
	case err != nil && c.Engine.SchemaChanged(err):
		p.Due.Store(0) // there is no table
	case err != nil: // it is not known who has the part
		c.Shared.warnAside(ctx, "a range of slots could not be leased, so other processes may use the same ones", err)
	case part != was && part >= 0:
		p.First.Store(bits.Reverse32(uint32(part)))
		p.Part.Store(int32(part))
	case part < 0 && was >= 0:
		p.First.Store(slots.RandomFirst())
		p.Part.Store(-1)
	}
}

// leasePart extends the lease of a part, or takes the first part that is free. It returns -1 if
// there is none.
func (c *Conn) leasePart(ctx context.Context, l dialect.Leaser, part int) (int, error) {
	take := func(part int) (bool, error) {
		return l.Lease(ctx, c.Own(), slots.PartName(part), c.node.Range.Holder, slots.LeaseSeconds)
	}
	if part >= 0 {
		if held, err := take(part); held || err != nil {
			return part, err
		}
	}
	others, err := l.Leased(ctx, c.Own())
	if err != nil {
		return -1, err
	}
	tries := 0
	for part := 0; part < slots.MaxParts && tries < 4; part++ {
		if others[slots.PartName(part)] {
			continue
		}
		tries++ // others may be about to take the same
		if held, err := take(part); held || err != nil {
			return part, err
		}
	}
	return -1, nil
}

// leases has leases taken from now on, in a table that exists or, if the configuration says so, is
// created.
func (s *Shared) leases(ctx context.Context, c *catalog.View) {
	l, ok := s.Dialect.(dialect.Leaser)
	if !ok {
		return
	}
	if s.Config.AutoMigrate() {
		if err := c.Migrate(ctx, l.CreateLeases()); err != nil {
			s.warnAside(ctx, "the table of leases could not be created, so processes may use the same slots", err)
		}
	}
	s.placement.StartLeasing()
}

// learnNode finds out which node the connection is on.
func (c *Conn) learnNode(ctx context.Context) {
	c.node = &c.Shared.placement.Home
	if name := c.Conn.LearnNode(ctx); name != "" {
		c.node = c.Shared.placement.NodeOf(name)
	}
}

package session

import (
	"context"
	"errors"
	"math/bits"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
)

// firstLeasePatience is how long a connection waits for the first lease of its process.
const firstLeasePatience = 250 * time.Millisecond

// slotLeasePatience bounds the renewal of a lease.
const slotLeasePatience = 10 * time.Second

// renewLease has the lease of the process's part of the slots taken or renewed, if that is due: on
// the side connection, because it is for no statement, and a refused write may end a connection
// (rejectReadOnly). If it fails, the process goes on with the slots that it has, and tries again later. A statement that is planned
// anew, or finds a look due, sees to it. The channel is closed at the end; it is nil if nothing is due.
func (c *Conn) renewLease(ctx context.Context) <-chan struct{} {
	p, s := c.node.Range, c.Shared
	due := p.Due.Load()
	if due == 0 || time.Now().UnixNano() < due || !s.OpensAside {
		return nil
	}
	l, ok := s.Dialect.(dialect.Leaser)
	if !ok || !p.Due.CompareAndSwap(due, time.Now().Add(slots.LeaseRenewal).UnixNano()) {
		return nil // or another connection does it
	}
	ctx = context.WithoutCancel(ctx) // the statement's caller goes on
	n, done := c.node, make(chan struct{})
	go func() {
		defer close(done)
		err := s.Beside(ctx, slotLeasePatience, func(ctx context.Context, v *catalog.View) error { return s.lease(ctx, l, v, n) })
		if err != nil && !errors.Is(err, context.Canceled) { // or the connector is closed
			s.warnAside(ctx, "a range of slots could not be leased, so other processes may use the same ones", err)
		}
	}()
	return done
}

// awaitLease renews the lease for a new connection. The first one waits a moment, so that the process does not begin with slots that
// it then leaves.
func (c *Conn) awaitLease(ctx context.Context) {
	done := c.renewLease(ctx)
	if done == nil || c.node.Range.Part.Load() >= 0 {
		return
	}
	patience := time.NewTimer(firstLeasePatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// lease renews the lease of a node on a connection.
func (s *Shared) lease(ctx context.Context, l dialect.Leaser, v *catalog.View, n *slots.Node) error {
	if unwritable, err := v.Unwritable(ctx); err != nil || unwritable {
		return err
	}
	p := n.Range
	p.Mu.Lock()
	defer p.Mu.Unlock()
	was := int(p.Part.Load())
	part, err := leasePart(ctx, l, v, p.Holder, was)
	if err != nil && v.Engine.SchemaChanged(err) {
		if !s.Config.AutoMigrate() {
			p.Due.Store(0) // there is no table
			return nil
		}
		if err = v.Migrate(ctx, l.CreateLeases()); err == nil {
			part, err = leasePart(ctx, l, v, p.Holder, was)
		}
	}
	for tries := 1; err != nil && tries < link.MaxTries && v.Engine.Conflict(err); tries++ {
		part, err = leasePart(ctx, l, v, p.Holder, was) // another node of a cluster has taken one
	}
	switch {
	case v.Engine.ReadOnly(err):
		return nil
	case err != nil: // it is not known who has the part
		return err
	case part != was && part >= 0:
		p.First.Store(bits.Reverse32(uint32(part)))
		p.Part.Store(int32(part))
	case part < 0 && was >= 0:
		p.First.Store(slots.RandomFirst())
		p.Part.Store(-1)
	}
	return nil
}

// leasePart extends the lease of a part, or takes the first part that is free. It returns -1 if
// there is none.
func leasePart(ctx context.Context, l dialect.Leaser, v *catalog.View, holder string, part int) (int, error) {
	take := func(part int) (bool, error) {
		return l.Lease(ctx, v.Own(), slots.PartName(part), holder, slots.LeaseSeconds)
	}
	if part >= 0 {
		if held, err := take(part); held || err != nil {
			return part, err
		}
	}
	others, err := l.Leased(ctx, v.Own())
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

// learnNode finds out which node the connection is on.
func (c *Conn) learnNode(ctx context.Context) {
	c.node = &c.Shared.placement.Home
	if name := c.Conn.LearnNode(ctx); name != "" {
		c.node = c.Shared.placement.NodeOf(name)
	}
}

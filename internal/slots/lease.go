package slots

import (
	"crypto/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// slotRange is where a process begins with the slots of a row, as a fraction of them in units of
// 2^-32. Each process leases a part, a number from 0 up, and the parts are as far apart as
// possible: at 0, 1/2, 1/4, 3/4, 1/8 and so on. So a few processes have wide ranges, and many have
// narrower ones.
//
// The lease is an optimisation and nothing else: without one, or if another process has the same
// one, increments of two processes meet in a slot more often, and wait for each other there as
// they would have on the row.
type slotRange struct {
	First  atomic.Uint32
	Holder string

	Due  atomic.Int64 // when to renew the lease, in Unix nanoseconds; 0: never
	Mu   sync.Mutex
	Part atomic.Int32 // that is leased; -1: none
}

// The table of leases has MaxParts parts, each leased for LeaseSeconds and renewed
// every LeaseRenewal. Further processes begin at a random slot.
const (
	MaxParts     = 64
	LeaseSeconds = 300
	LeaseRenewal = LeaseSeconds * time.Second / 3
)

func newSlotRange() *slotRange {
	p := &slotRange{Holder: rand.Text()}
	p.Part.Store(-1)
	p.First.Store(RandomFirst())
	return p
}

// RandomFirst returns a random beginning, for a process without a lease.
func RandomFirst() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// Slot returns the process's slot with the given ordinal, of n slots.
func (p *slotRange) Slot(ordinal, n int) int64 {
	first := uint64(p.First.Load()) * uint64(n) >> 32
	return int64((first + uint64(ordinal)) % uint64(n))
}

// PartName returns the name of a part in the table of leases.
func PartName(part int) string { return "slots " + strconv.Itoa(part) }

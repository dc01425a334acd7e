package session

import (
	"time"

	"github.com/slotsql/slotsql/internal/slots"
)

// tickets are the blocks of numbers that a process has leased, and the connections on which
// it leases them beside transactions.
type tickets struct {
	blocks  *slots.Tickets
	holding slots.Holding
	side    *sidePool
}

func newTickets(oneWriter bool) *tickets {
	h := slots.HoldingFor(oneWriter)
	return &tickets{blocks: slots.NewTickets(h.Draw), holding: h, side: newSidePool(maxLeasers, leaserRest)}
}

const (
	maxLeasers    = 4
	leaserRest    = 10 * time.Second
	leasePatience = 2 * time.Second
)

package slotsql

import (
	"sync/atomic"

	"github.com/slotsql/slotsql/dialect"
)

// shared is what the connections of one connector share beside the facts of the
// database: the plans of statements that name no counter table, and what the
// sessions of one process know of each other.
type shared struct {
	*catalog

	untouched planCache // of statements that name no configured table

	rolling atomic.Bool // a roll-up runs inside the application
	made    madeSlots

	shadow shadowing // nil: no table is in shadow

	placement *placement
	coalescer *coalescer
	witness   *witness
	warned    warnings
	observers observers
	habits    habits
	numbers   slotNumbers
}

func sharedOf(d dialect.Dialect, config *Config, tables []TableConfig) *shared {
	s := &shared{catalog: newCatalog(d, config, tables), placement: newPlacement(), witness: newWitness(), coalescer: newCoalescer(), made: madeSlots{wake: make(chan struct{}, 1), journal: make(chan struct{}, 1)}}
	s.newNames = s.untouched.clear
	s.firstRead = s.leases
	return s
}

// close closes the connections that sessions have had opened beside their own.
func (s *shared) close() {
	s.witness.close()
	s.watch.side.close()
	s.observers.close()
}

package session

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Shared is what the connections of one connector share besides the facts of the database: the
// plans of statements that name no counter table, and what the sessions of the process know about
// each other.
type Shared struct {
	*catalog.Catalog

	Untouched catalog.PlanCache // of statements that name no configured table

	Folding Folding
	Made    slots.Made

	begun  sync.Once
	Shadow Shadow // nil: no table is in shadow

	// TraceGroup is called before statements that several executions share; nil for none.
	TraceGroup GroupTracer

	placement *slots.Placement
	coalescer *slots.Coalescer
	heat      *slots.Heat
	portions  *slots.Portions
	sides     sideConns
	warned    warned
	habits    habits
	repeats   repeats
	numbers   slots.Numbers
}

// Folding is who moves slots into base rows: a roll-up worker, or one that Sleep starts.
type Folding struct {
	Rolling atomic.Bool // the connector runs a roll-up worker
	Sleep   slots.Sleep
}

// warned limits what is logged.
type warned struct{ drains, aside warnings }

// sideConns are the connections opened beside the application's.
type sideConns struct {
	witness   *witness
	observers *observers
	movers    *sidePool // of portions, see refill.go
	tickets   *tickets
}

// habits are what the application's statements and transactions have been seen to do.
type habits struct {
	slots.Habits
	level atomic.Int32 // the isolation level of transactions begun without one, once it is known
}

// NewFor returns what the connections of a connector share, for some of the configured tables.
func NewFor(d dialect.Dialect, cfg *config.Config, tables []config.TableConfig) *Shared {
	s := &Shared{
		Catalog:   catalog.NewCatalog(d, cfg, tables),
		placement: slots.NewPlacement(),
		sides:     sideConns{newWitness(), newObservers(), newSidePool(maxMovers, moverRest), newTickets(d.Traits().OneWriter)},
		coalescer: slots.NewCoalescer(),
		heat:      slots.NewHeat(),
		portions:  slots.NewPortions(),
		warned:    warned{drains: warnings{window: time.Second, burst: 10}, aside: warnings{window: time.Minute, burst: 1}},
		repeats:   repeats{seed: maphash.MakeSeed()},
		Made:      slots.Made{Wake: make(chan struct{}, 1), Journal: make(chan struct{}, 1)},
	}
	s.coalescer.RoundTrip = s.Watch.RoundTrip
	s.Hooks.NewNames = s.Untouched.Clear
	s.heat.Queues = s.placement.StartLeasing
	if slices.ContainsFunc(tables, func(t config.TableConfig) bool { return t.Slots > 0 && schema.AlwaysAwake(t.Placement, t.Layout) }) {
		s.Hooks.FirstRead = func(context.Context, *catalog.View) { s.placement.StartLeasing() }
	}
	return s
}

// New returns what the connections of a connector share. It knows the tables with mode on or
// passive, and no others.
func New(d dialect.Dialect, cfg *config.Config) *Shared {
	return NewFor(d, cfg, cfg.TablesOf(config.ModeOn, config.ModePassive))
}

// ForModes returns one for tables of the given modes, which runs none of the application's
// statements. It is on itself if that has all of them.
func (on *Shared) ForModes(modes ...config.Mode) *Shared {
	tables := on.Config.TablesOf(modes...)
	if len(tables) == len(on.Tables) {
		return on
	}
	s := NewFor(on.Dialect, on.Config, tables)
	s.Logger, s.Dial, s.ParentHooks, s.Role.Beside = on.Logger, on.Dial, on.ParentHooks, true
	s.Made.Wake, s.Made.Journal = on.Made.Wake, on.Made.Journal // a roll-up is of both
	return s
}

// HotRows counts the hot rows of each table, by slot table.
func (s *Shared) HotRows(now time.Time) map[string]int { return s.heat.HotRows(now) }

// Trial returns the last trial of slots for a table.
func (s *Shared) Trial(t *schema.Table) TrialStats {
	return TrialStats(s.heat.Trial(t.Counter.Slotted()))
}

// woke notes that a table has slots.
func (s *Shared) woke(t *schema.Table, why slots.Waking) { s.Folding.Sleep.Of(t.Counter).Woke(why) }

// Close closes the side connections.
func (s *Shared) Close() {
	s.end()
	s.sides.witness.close()
	s.Watch.Close()
	s.sides.observers.close()
	s.sides.movers.close()
	s.sides.tickets.side.close()
}

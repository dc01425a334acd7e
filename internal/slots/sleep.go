package slots

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// Sleeps reports whether a table of the counter sleeps by itself: its slots are those of hot rows.
func Sleeps(c *rewrite.Counter) bool {
	return c.Slots > 0 && c.Options.Placement == rewrite.PlacementAdaptive &&
		c.Layout != rewrite.LayoutShared && c.Layout != rewrite.LayoutJournal
}

// A table sleeps while its slot table holds no row. Sleep is what a process knows of that, for tables whose increments go to
// slots only of hot rows. What wakes a table starts a worker, which folds rows that have cooled until the tables sleep again
// (rollup.FoldCooled). Nothing but speed depends on it.
type Sleep struct {
	Start  func() // starts the worker, unless it works already; nil for none
	tables sync.Map
}

// Waking is why a table does not sleep.
type Waking string

// WokenByHeat: increments of a hot row of this process have gone to slots. WokenByOther: slots were found that another process has
// made, or this one before it was started again.
const (
	WokenByHeat  Waking = "a row became hot in this process"
	WokenByOther Waking = "slots of another process were found"
)

// TableSleep is the state of a table.
type TableSleep struct {
	Awake bool
	Since time.Time // zero for a table that the process has never seen awake
	Cause Waking    // of the last time that it woke
}

type sleeper struct {
	stirred atomic.Bool // it has been woken since the worker last looked at it
	awake   atomic.Bool

	mu    sync.Mutex
	state TableSleep
}

func (s *Sleep) of(table string) *sleeper {
	if t, ok := s.tables.Load(table); ok {
		return t.(*sleeper)
	}
	t, _ := s.tables.LoadOrStore(table, &sleeper{})
	return t.(*sleeper)
}

// Woke notes that a table has slots, and starts the worker.
func (s *Sleep) Woke(table string, why Waking) {
	t := s.of(table)
	if !t.stirred.Load() {
		t.stirred.Store(true)
	}
	if !t.awake.Load() {
		t.set(TableSleep{true, time.Now(), why})
	}
	if s.Start != nil {
		s.Start()
	}
}

// Slept notes that the worker has found a table without slots.
func (s *Sleep) Slept(table string) {
	if t := s.of(table); t.awake.Load() {
		t.set(TableSleep{false, time.Now(), t.get().Cause})
	}
}

func (t *sleeper) set(state TableSleep) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = state
	t.awake.Store(state.Awake)
}

func (t *sleeper) get() TableSleep {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Look begins a look at a table. It reports whether the table has been woken since the last one.
func (s *Sleep) Look(table string) (stirred bool) { return s.of(table).stirred.Swap(false) }

// Stirred reports whether some table has been woken since the worker last looked at it.
func (s *Sleep) Stirred() (some bool) {
	s.tables.Range(func(_, t any) bool {
		some = t.(*sleeper).stirred.Load()
		return !some
	})
	return some
}

// State returns the state of a table.
func (s *Sleep) State(table string) TableSleep { return s.of(table).get() }

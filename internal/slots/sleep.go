package slots

import (
	"context"
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

// Sleep is what a process knows of tables that sleep, for those whose increments go to slots only of hot rows: a table sleeps
// while its slot table holds no row. What wakes a table starts a worker, which folds rows that have cooled until the tables sleep again
// (rollup.FoldCooled). Nothing but speed depends on it.
type Sleep struct {
	Start  func() (works bool) // starts the worker, unless it works already; nil for none
	tables sync.Map

	asking sync.Mutex
	asked  chan struct{}   // has a value while the worker is to look at once; nil before it is asked
	waits  []chan struct{} // are closed when it has looked
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

	mu     sync.Mutex
	state  TableSleep
	folded time.Time // when the worker was last asked to fold at once
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

// foldPause is the least time between two folds of a table that are asked for.
const foldPause = time.Second

// foldPatience is how long Fold waits for one.
const foldPatience = time.Second

// Fold has the worker fold all slots of a table now, and reports whether it has looked: not where there is no worker, or where it has
// just done so. It waits for no transaction that counts: the worker skips what is locked.
func (s *Sleep) Fold(ctx context.Context, table string) bool {
	t := s.of(table)
	t.mu.Lock()
	now := time.Now()
	due := now.Sub(t.folded) >= foldPause
	if due {
		t.folded = now
	}
	t.mu.Unlock()
	if !due || s.Start == nil {
		return false
	}
	done := make(chan struct{})
	s.asking.Lock()
	s.waits = append(s.waits, done)
	s.asking.Unlock()
	select {
	case s.Asked() <- struct{}{}:
	default: // it has been asked already
	}
	if !s.Start() {
		s.Answer()
		return false
	}
	patience := time.NewTimer(foldPatience)
	defer patience.Stop()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-patience.C:
	}
	return false
}

// Asked has a value when the worker is to fold at once.
func (s *Sleep) Asked() chan struct{} {
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.asked == nil {
		s.asked = make(chan struct{}, 1)
	}
	return s.asked
}

// Answer tells those who have asked the worker that it has looked, or has ended.
func (s *Sleep) Answer() {
	s.asking.Lock()
	defer s.asking.Unlock()
	for _, w := range s.waits {
		close(w)
	}
	s.waits = nil
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

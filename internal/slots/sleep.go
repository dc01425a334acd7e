package slots

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Sleeps reports whether a table of the counter sleeps by itself: its slots are those of hot rows.
func Sleeps(c *schema.Counter) bool {
	return c.Slots > 0 && !schema.AlwaysAwake(c.Options.Placement, c.Layout)
}

// Sleep is what a process knows of whether its tables sleep: a table sleeps while its slot table holds no row. What wakes a table whose
// increments go to slots only of hot rows starts a worker, which folds rows that have cooled until the tables sleep again
// (rollup.FoldCooled). Nothing but speed depends on it.
type Sleep struct {
	Start  func() (works bool) // starts the worker, unless it works already; nil for none
	tables sync.Map            // tableKey -> *Sleeper

	asking sync.Mutex
	asked  chan struct{}   // has a value while the worker is to look at once; nil before it is asked
	waits  []chan struct{} // are closed when it has looked
}

type tableKey struct{ schema, slotted string }

// Waking is why a table does not sleep.
type Waking string

// WokenByIncrement: an increment of this process has gone to a slot. WokenByOther: slots were found that another process has
// made, or this one before it was Started again.
const (
	WokenByIncrement Waking = "an increment here"
	WokenByOther     Waking = "another process"
)

// TableSleep is the state of a table.
type TableSleep struct {
	Awake bool
	Since time.Time // zero for a table that the process has never seen awake, or whose increments always go to slots
	Cause Waking    // of the last time that it woke
}

// Compare orders states of several tables by how much they tell of all of them: the latest of a table that is awake is the greatest.
func (s TableSleep) Compare(o TableSleep) int {
	if s.Awake == o.Awake {
		return s.Since.Compare(o.Since)
	} else if s.Awake {
		return 1
	}
	return -1
}

// Sleeper is what a process knows of one table.
type Sleeper struct {
	sleep  *Sleep
	always bool // see schema.AlwaysAwake
	folds  bool // the worker folds its slots

	stirred atomic.Bool  // it has been woken since the worker last looked at it
	until   atomic.Int64 // when a query is to ask for slots again, in nanoseconds since Started; 0: asleep

	mu     sync.Mutex
	state  TableSleep
	folded time.Time // when the worker was last asked to fold at once
	found  time.Time // when it was last Started for slots of another process
}

// Started is what Heat.Slow counts time from: the time since then takes one reading of the clock, and time.Now two.
var Started = time.Now()

// AskAgain is how long a table that has slots is taken to have some. It is a variable for tests, which set it before anything runs.
var AskAgain = time.Second

// findPause is the least time between two starts of the worker for slots of another process, which has a worker itself while it lives.
const findPause = 30 * time.Second

// Of returns what is known of a table.
func (s *Sleep) Of(c *schema.Counter) *Sleeper {
	k := tableKey{c.SlotTable.Schema, c.Slotted()}
	if t, ok := s.tables.Load(k); ok {
		return t.(*Sleeper)
	}
	always := schema.AlwaysAwake(c.Options.Placement, c.Layout)
	t, _ := s.tables.LoadOrStore(k, &Sleeper{sleep: s, always: always, folds: Sleeps(c), state: TableSleep{Awake: always}})
	return t.(*Sleeper)
}

// Woke notes that the table has slots, and starts the worker.
func (t *Sleeper) Woke(why Waking) {
	if t.always {
		return
	}
	until := int64(time.Since(Started) + AskAgain)
	woken := false
	if was := t.until.Load(); was == 0 || !t.until.CompareAndSwap(was, until) {
		woken = t.change(until, TableSleep{true, time.Now(), why})
	}
	if !t.folds || why == WokenByOther && !t.due(&t.found, findPause, woken) {
		return
	}
	if !t.stirred.Load() {
		t.stirred.Store(true)
	}
	if t.sleep.Start != nil {
		t.sleep.Start()
	}
}

// Slept notes that the table has no slots.
func (t *Sleeper) Slept() {
	if t.until.Load() != 0 {
		t.change(0, TableSleep{Cause: t.State().Cause, Since: time.Now()})
	}
}

// change sets until, and the state if that is another one now. Nothing else makes until 0, or another value of 0.
func (t *Sleeper) change(until int64, to TableSleep) (changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if changed = (t.until.Swap(until) != 0) != to.Awake; changed {
		t.state = to
	}
	return changed
}

// due reports whether something is due that was last done at the given time, and notes that it is done now.
func (t *Sleeper) due(last *time.Time, pause time.Duration, anyway bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	due := anyway || now.Sub(*last) >= pause
	if due {
		*last = now
	}
	return due
}

// Asks reports whether a query is to ask for slots: the table has none as far as the process knows, or it is time to
// look. One that is to look does so for all.
func (t *Sleeper) Asks() bool {
	if t.always {
		return false
	}
	until := t.until.Load()
	if until == 0 {
		return true
	}
	now := int64(time.Since(Started))
	return now >= until && t.until.CompareAndSwap(until, now+int64(AskAgain))
}

// Awake reports whether the table has slots as far as the process knows.
func (t *Sleeper) Awake() bool { return t.always || t.until.Load() != 0 }

// State returns the state of the table.
func (t *Sleeper) State() TableSleep {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Look begins a look of the worker at the table. It reports whether the table has been woken since the last one.
func (t *Sleeper) Look() (stirred bool) { return t.stirred.Swap(false) }

// foldPause is the least time between two folds of a table that are asked for.
const foldPause = time.Second

// foldPatience is how long Fold waits for one.
const foldPatience = time.Second

// Fold has the worker fold all slots of a table that is awake now, and reports whether it has looked: not where there is no worker, or
// where it has just done so. It waits for no transaction that counts: the worker skips what is locked.
func (t *Sleeper) Fold(ctx context.Context) bool {
	s := t.sleep
	if !t.folds || !t.Awake() || !t.due(&t.folded, foldPause, false) || s.Start == nil {
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

// Stirred reports whether some table has been woken since the worker last looked at it.
func (s *Sleep) Stirred() (some bool) {
	s.tables.Range(func(_, t any) bool {
		some = t.(*Sleeper).stirred.Load()
		return !some
	})
	return some
}

// State returns the state of the tables with these slots, in all namespaces: they are awake if one is.
func (s *Sleep) State(slotted string) (state TableSleep) {
	s.tables.Range(func(k, t any) bool {
		if k.(tableKey).slotted == slotted {
			if s := t.(*Sleeper).State(); s.Compare(state) > 0 {
				state = s
			}
		}
		return true
	})
	return state
}

package slots

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Heat tells which rows are hot: those whose increments have been seen to wait for one another
// where a group cannot help, because transactions hold the row over round trips, or other
// processes count it, and for which slots pay (see payoff). Increments of a hot row go to slots, and those of any other row to the base
// row. Nothing but speed depends on it: an increment on the base row and one in a slot commute. See warmth for the rules.
type Heat struct {
	seed     maphash.Seed
	shards   [heatShards]heatShard
	known    atomic.Int64 // number of rows in all shards: while it is 0 all rows are cold
	payoffs  sync.Map     // by table: *payoff
	counting atomic.Int32 // those that count increments
	crowds   sync.Map     // by table: *crowd
	usual    atomic.Int64 // nanoseconds that updates of cold rows take, on average
	// crowded: some table has been crowded. Until then the clock is not read for it.
	crowded atomic.Bool
}

const (
	heatShards = 32
	// maxWarmRows bounds the rows that a shard remembers while no transaction holds them, but for those that are hot.
	maxWarmRows = 1024
)

type heatShard struct {
	mu   sync.Mutex
	rows map[RowKey]*warmth
	most int      // rows that it may have before it is swept
	_    [32]byte // a cache line of its own
}

const (
	// slowFactor and slowSpare define when an update has waited: it took so many times as long as
	// updates take, and so much longer. On a busy machine all updates are slow.
	slowFactor = 8
	slowSpare  = 5 * time.Millisecond
	// slowWindow is how soon after a slow update the next one must begin to confirm it.
	slowWindow = time.Second
)

// NewHeat returns a Heat for which all rows are cold.
func NewHeat() *Heat { return &Heat{seed: maphash.MakeSeed()} }

func (h *Heat) shard(row RowKey) *heatShard {
	return &h.shards[maphash.String(h.seed, row.Values)%heatShards]
}

// Standing is how hot a row is for an increment.
type Standing struct {
	Hot    bool // it belongs in a slot
	Became bool // the row has just become hot
	Left   bool // the row is not hot, but has been: it may have slots, see Cooled
}

// Hold notes that a transaction counts a row, until Release.
func (h *Heat) Hold(row RowKey) Standing {
	s, now := h.shard(row), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := h.of(s, row, now)
	st := w.come(now)
	w.hold(now)
	return st
}

// Release ends a Hold.
func (h *Heat) Release(row RowKey) {
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.rows[row]; w != nil && w.release(time.Now()) {
		delete(s.rows, row)
		h.known.Add(-1)
	}
}

// Look returns the standing of a row outside transactions.
func (h *Heat) Look(row RowKey) Standing {
	if h.known.Load() == 0 {
		return Standing{}
	}
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	w, now := s.rows[row], time.Now()
	if w == nil {
		if h.counting.Load() > 0 {
			h.payoffOf(row.Table).note(now)
		}
		return Standing{}
	}
	return w.come(now)
}

// Cooled reports, once, whether the row is no longer hot. The caller then folds its slots: the worker skips a row that
// transactions hold all the time.
func (h *Heat) Cooled(row RowKey) bool {
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.rows[row]
	if w == nil || !w.slotted || w.hot(time.Now()) {
		return false
	}
	w.slotted = false
	return true
}

// NoteSlots notes that an increment has met slots of a row that is cold in this process, and reports whether the row is hot now: others
// count it, too, unless the slots are left over from a trial in which slots did not pay.
func (h *Heat) NoteSlots(row RowKey) (hot, became bool) {
	s, now := h.shard(row), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := h.of(s, row, now)
	if w.payoff.leftOver(now) {
		return false, false
	}
	return true, w.heat(now)
}

// NoteWait notes that an increment of the row has met a lock or a conflict, and reports whether the row became hot by that.
func (h *Heat) NoteWait(row RowKey) (became bool) {
	s, now := h.shard(row), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.of(s, row, now).heat(now)
}

// NoteDuration notes that an update of a cold row has taken from began until now, and reports
// whether the row became hot by that.
func (h *Heat) NoteDuration(row RowKey, began time.Time) (became bool) {
	d, usual := time.Since(began), time.Duration(h.usual.Load())
	if usual == 0 {
		usual = d
	}
	slow := d > slowFactor*usual+slowSpare
	h.usual.Store(int64(usual + (min(d, slowFactor*usual+slowSpare)-usual)/32)) // a lost update does no harm
	return slow && h.slow(row, began)
}

// slow notes that an update of the row, begun at a given time, has ended and took long. One cause
// may have delayed all updates that were in flight at the time. So only an update that began after
// another slow one, or the first one after a hot period, makes the row hot.
func (h *Heat) slow(row RowKey, began time.Time) (became bool) {
	s, now := h.shard(row), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.of(s, row, now).slowed(began, now)
}

func (h *Heat) payoffOf(table string) *payoff {
	t, ok := h.payoffs.Load(table)
	if !ok {
		t, _ = h.payoffs.LoadOrStore(table, &payoff{counting: &h.counting})
	}
	return t.(*payoff)
}

// Trial returns the last trial of slots for a table, by the table of its rows' keys.
func (h *Heat) Trial(table string) (t Trial) {
	if p, ok := h.payoffs.Load(table); ok {
		t = p.(*payoff).trial()
	}
	return t
}

// of returns what is known about a row, after making room for it. The lock of its shard is held.
func (h *Heat) of(s *heatShard, row RowKey, now time.Time) *warmth {
	w := s.rows[row]
	if w != nil {
		return w
	}
	if s.rows == nil {
		s.rows = map[RowKey]*warmth{}
	}
	if len(s.rows) >= max(s.most, maxWarmRows) {
		for k, w := range s.rows {
			if w.holders == 0 && !w.hot(now) {
				delete(s.rows, k)
				h.known.Add(-1)
			}
		}
		s.most = 2 * len(s.rows) // so that sweeping in vain costs each new row little
	}
	w = &warmth{payoff: h.payoffOf(row.Table)}
	s.rows[row] = w
	h.known.Add(1)
	return w
}

// HotRows counts the hot rows of each table, by the table of their keys.
func (h *Heat) HotRows(now time.Time) map[string]int {
	hot := map[string]int{}
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.Lock()
		for k, w := range s.rows {
			if w.hot(now) {
				hot[k.Table]++
			}
		}
		s.mu.Unlock()
	}
	return hot
}

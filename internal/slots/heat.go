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
	shards   [heatShards]heatShard
	known    atomic.Int64 // number of rows in all shards: while it is 0 all rows are cold
	payoffs  sync.Map     // by table: *payoff
	counting atomic.Int32 // those that count increments
	nextAsk  atomic.Int64 // Unix nanoseconds: no increment asks about its row until then
	// answer is how long the server takes to answer a question, at least, in nanoseconds, and forgotten at forget: the server may have
	// been busy.
	answer, forget atomic.Int64
	// Queues is called when a row is found to queue, before it has slots.
	Queues func()
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
	// slowSpare is how much longer than two questions an update takes before it may have waited for its row.
	slowSpare = 5 * time.Millisecond
	// askEvery is the least time between two questions of a process, and askPause after one that could not be asked. How long the
	// server takes to answer is remembered as long.
	askEvery = 50 * time.Millisecond
	askPause = 10 * time.Second
)

// NewHeat returns a Heat for which all rows are cold.
func NewHeat() *Heat {
	return &Heat{Queues: func() {}}
}

func (h *Heat) shard(row RowKey) *heatShard {
	return &h.shards[maphash.String(seed, row.Values)%heatShards]
}

// Standing is how hot a row is for an increment.
type Standing struct {
	Hot    bool // it belongs in a slot
	Became bool // the row has just become hot
	Left   bool // the row is not hot, but has been: it may have slots, see Cooled
	Ask    bool // whether another session holds the row is to be asked, before the increment: see NoteHeld
}

// Hold notes that a transaction counts a row, until Release.
func (h *Heat) Hold(row RowKey) Standing {
	s, now := h.shard(row), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := h.of(s, row, now)
	st := w.come(now)
	st.Ask = w.doubtful(now) && h.mayAsk(now)
	w.hold(now)
	return st
}

// Release ends a Hold.
func (h *Heat) Release(row RowKey) {
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.rows[row]; w != nil && w.release(time.Now()) {
		h.drop(s, row)
	}
}

func (h *Heat) drop(s *heatShard, row RowKey) {
	delete(s.rows, row)
	h.known.Add(-1)
}

// Look returns the standing of a row outside transactions.
func (h *Heat) Look(row RowKey) Standing {
	if h.known.Load() == 0 {
		return Standing{}
	}
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.rows[row]
	if w == nil {
		if h.counting.Load() > 0 {
			h.payoffOf(row.Table).note(time.Now())
		}
		return Standing{}
	}
	now := time.Now()
	st := w.come(now)
	if st.Ask = w.doubtful(now) && h.mayAsk(now); w.forgettable(now) {
		h.drop(s, row)
	}
	return st
}

// mayAsk reports whether an increment may ask about its row: one at a time, so that questions cost the server next to nothing.
func (h *Heat) mayAsk(now time.Time) bool {
	next := h.nextAsk.Load()
	return now.UnixNano() >= next && h.nextAsk.CompareAndSwap(next, now.Add(askEvery).UnixNano())
}

// NoteHeld notes whether another session holds the row, as an increment has found out before it came to the row itself, and how long
// that took. If it could not find out, what updates of the row have taken has to do.
func (h *Heat) NoteHeld(row RowKey, held bool, took time.Duration, err error) {
	s, now := h.shard(row), time.Now()
	switch was := h.answers(now); {
	case err != nil:
		h.nextAsk.Store(now.Add(askPause).UnixNano())
	case was == 0:
		h.answer.Store(int64(took))
		h.forget.Store(now.Add(askPause).UnixNano())
	case took < was:
		h.answer.Store(int64(took))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.of(s, row, now).answer(held || err != nil)
}

// answers returns how long the server takes to answer a question; 0 if that is not known.
func (h *Heat) answers(now time.Time) time.Duration {
	if now.UnixNano() >= h.forget.Load() {
		return 0
	}
	return time.Duration(h.answer.Load())
}

// Cooled reports, once, whether the row is no longer hot, and has not become hot again at once. The caller then folds its slots: the
// worker skips a row that transactions hold all the time.
func (h *Heat) Cooled(row RowKey) bool {
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.rows[row]
	return w != nil && w.cooled(time.Now())
}

// NoteSlots notes that an increment has met slots of a row that is cold in this process, and reports whether the row is hot now: others
// count it, too, unless the slots are left over from when it was hot here. Then the caller folds them.
func (h *Heat) NoteSlots(row RowKey) (hot, became bool) {
	s, now := h.shard(row), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := h.of(s, row, now)
	if !w.payoff.follow(now, w.slotted) {
		w.slotted = false
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

// Slow reports whether an update of a cold row has taken so long, from a time since Started until now, that NoteDuration is to know.
func (h *Heat) Slow(began time.Duration) bool { return time.Since(Started)-began > slowSpare }

// NoteDuration notes that an update of a cold row has taken from began until now, and reports whether the row became hot by that.
func (h *Heat) NoteDuration(row RowKey, began time.Time) (became bool) {
	now := time.Now()
	d := now.Sub(began)
	if d <= slowSpare || d <= slowSpare+2*h.answers(now) {
		return false
	}
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.of(s, row, now).slow(d, began, now)
}

func (h *Heat) payoffOf(table string) *payoff {
	t, ok := h.payoffs.Load(table)
	if !ok {
		t, _ = h.payoffs.LoadOrStore(table, &payoff{counting: &h.counting, queues: h.Queues})
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
				h.drop(s, k)
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

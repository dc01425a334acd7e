package slots

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Heat tells which rows are hot: those whose increments have been seen to wait for one another
// where a group cannot help, because transactions hold the row over round trips, or other
// processes count it. Increments of a hot row go to slots, and those of any other row to the base
// row. Nothing but speed depends on it: an increment on the base row and one in a slot commute.
//
// A row becomes hot when an increment finds it held by a transaction of this process, when two
// updates of it in succession took much longer than such updates take, or when one failed because
// of a lock or a conflict. A single slow update proves nothing: a disk that is slow to sync delays
// the updates of all rows. The row stays hot for a period, which begins again whenever its
// increments overlap in transactions. The next increment is then one on the base row; if that
// waits again, the row is hot for a longer period.
type Heat struct {
	seed   maphash.Seed
	shards [heatShards]heatShard
	known  atomic.Int64 // number of rows in all shards: while it is 0 all rows are cold
	crowds sync.Map     // by table: *crowd
	usual  atomic.Int64 // nanoseconds that updates of cold rows take, on average
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

// warmth is what is known about one row.
type warmth struct {
	holders int           // transactions that have counted it and are still open
	until   time.Time     // it is hot
	period  time.Duration // that it was last hot for
	slow    time.Time     // the last update of it that took long has ended
}

const (
	shortestPeriod = 2 * time.Second
	longestPeriod  = 6 * time.Second // and two looks later the table sleeps, see rollup.FoldCooled
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

// Hold notes that a transaction counts a row, until Release. It reports whether the row is hot, so
// that the increment belongs in a slot, and whether it has just become hot.
func (h *Heat) Hold(row RowKey) (hot, became bool) {
	s, now := h.shard(row), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := h.of(s, row, now)
	if w.holders > 0 {
		became = w.heat(now)
	}
	w.holders++
	return now.Before(w.until), became
}

// Release ends a Hold.
func (h *Heat) Release(row RowKey) {
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.rows[row]; w != nil {
		if w.holders--; w.holders == 0 && w.until.IsZero() && w.slow.IsZero() {
			delete(s.rows, row)
			h.known.Add(-1)
		}
	}
}

// Hot reports whether an increment outside transactions belongs in a slot, and whether the row has
// just become hot.
func (h *Heat) Hot(row RowKey) (hot, became bool) {
	if h.Crowded(row.Table) {
		return true, false
	}
	return h.HotRow(row)
}

// HotRow is Hot for the row itself, even if its table is crowded.
func (h *Heat) HotRow(row RowKey) (hot, became bool) {
	if h.known.Load() == 0 {
		return false, false
	}
	s := h.shard(row)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.rows[row]
	if w == nil {
		return false, false
	}
	now := time.Now()
	if w.holders > 0 {
		became = w.heat(now)
	}
	return now.Before(w.until), became
}

// NoteWait notes that an increment of the row has waited for others, and reports whether the row
// became hot by that.
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
	w := h.of(s, row, now)
	again := !w.until.IsZero() && began.Sub(w.until) <= 2*w.period
	confirms := !w.slow.IsZero() && !began.Before(w.slow) && began.Sub(w.slow) <= slowWindow
	if again || confirms {
		return w.heat(now)
	}
	w.slow = now
	return false
}

// heat makes the row hot, or keeps it hot. The lock of its shard is held.
func (w *warmth) heat(now time.Time) (became bool) {
	switch {
	case now.Before(w.until):
	case w.period == 0 || now.Sub(w.until) > 2*w.period:
		w.period, became = shortestPeriod, true
	default: // the first try on the base row has waited again
		w.period, became = min(2*w.period, longestPeriod), true
	}
	w.until = now.Add(w.period)
	return became
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
			if w.holders == 0 && now.After(w.until) {
				delete(s.rows, k)
				h.known.Add(-1)
			}
		}
		s.most = 2 * len(s.rows) // so that sweeping in vain costs each new row little
	}
	w = &warmth{}
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
			if now.Before(w.until) {
				hot[k.Table]++
			}
		}
		s.mu.Unlock()
	}
	return hot
}

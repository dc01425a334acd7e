package slots

import (
	"sync"
	"sync/atomic"
	"time"
)

// A crowd is what is known of the hot rows of one table. If increments of several rows share
// statements at the same time, each row by itself, one statement for many rows does better than
// one for each: they share it while the table is crowded, which it is for a period.
type crowd struct {
	until   atomic.Int64 // Unix nanoseconds
	mu      sync.Mutex
	grouped map[string]time.Time // the rows of which a group had several members, and when
	period  time.Duration
}

const (
	crowdRows   = 4           // so many rows are a crowd
	crowdWindow = time.Second // within this time
)

// NoteGrouped notes that several increments of a row have shared a statement on the base row.
func (h *Heat) NoteGrouped(row RowKey) {
	found, ok := h.crowds.Load(row.Table)
	if !ok {
		found, _ = h.crowds.LoadOrStore(row.Table, &crowd{grouped: map[string]time.Time{}})
	}
	if found.(*crowd).note(row.Values, time.Now()) {
		h.crowded.Store(true)
	}
}

// note notes a row, and reports whether the table has become crowded by that.
func (c *crowd) note(row string, now time.Time) (became bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grouped[row] = now
	if len(c.grouped) < crowdRows {
		return false
	}
	for other, at := range c.grouped {
		if now.Sub(at) > crowdWindow {
			delete(c.grouped, other)
		}
	}
	if until := time.Unix(0, c.until.Load()); len(c.grouped) < crowdRows || now.Before(until) {
		return false
	} else if c.period == 0 || now.Sub(until) > 2*c.period {
		c.period = shortestPeriod
	} else {
		c.period = min(2*c.period, longestPeriod)
	}
	c.until.Store(now.Add(c.period).UnixNano())
	clear(c.grouped)
	return true
}

// Crowded reports whether a table is crowded.
func (h *Heat) Crowded(table string) bool {
	if !h.crowded.Load() {
		return false
	}
	c, ok := h.crowds.Load(table)
	return ok && time.Now().UnixNano() < c.(*crowd).until.Load()
}

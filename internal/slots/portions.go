package slots

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Portions remembers how much the process believes its slots to hold of counters with bounds, and
// which rows are so close to a bound that their base rows decide at once. Nothing but speed
// depends on it: the statement that takes from a slot checks for itself.
//
// A portion is a share of what is left in the base row, so portions shrink as the row comes close
// to its bound. If a share would only be enough for a few statements, none is moved for a while:
// then what is left is in one place, and no session has to look for it in all slots.
type Portions struct {
	mu    sync.Mutex
	rows  map[RowKey]*portionedRow
	known atomic.Int64 // len(rows)
}

// portionedRow is what is known about one row.
type portionedRow struct {
	holds map[held]int64
	place string        // the server that they are on
	until time.Time     // until then no portion is moved
	pause time.Duration // the last pause
	turn  chan struct{} // holds a token while no portion of the row is moved
}

// held identifies one counter of a slot.
type held struct {
	slot   int64
	column string
}

const (
	maxPortioned = 1024
	// fewest is how many slots a portion leaves at least as much for.
	fewest = 8
	// worthwhile is for how many statements a portion must be enough, with as much again for each
	// of the other slots.
	worthwhile  = 2
	shortestNap = 100 * time.Millisecond
	longestNap  = 3 * time.Second
)

// NewPortions returns a Portions that knows of none.
func NewPortions() *Portions { return &Portions{rows: map[RowKey]*portionedRow{}} }

// of returns what is known about a row, after making room for it. The lock is held.
func (p *Portions) of(row RowKey) *portionedRow {
	w := p.rows[row]
	if w != nil {
		return w
	}
	if len(p.rows) >= maxPortioned {
		clear(p.rows)
	}
	w = &portionedRow{holds: map[held]int64{}, turn: make(chan struct{}, 1)}
	w.turn <- struct{}{}
	p.rows[row] = w
	p.known.Store(int64(len(p.rows)))
	return w
}

// Holds returns how much a slot is believed to hold of a counter. Paused reports whether no
// portion is to be moved to it now.
func (p *Portions) Holds(r SlotRow, column string) (n int64, paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.of(r.Row)
	return w.holds[held{r.Slot, column}], time.Now().Before(w.until)
}

// Place returns the server that a row's portions are on.
func (p *Portions) Place(row RowKey) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of(row).place
}

// NoteTaken notes that something was taken from a slot.
func (p *Portions) NoteTaken(r SlotRow, column string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, k := p.of(r.Row), held{r.Slot, column}
	if has, ok := w.holds[k]; ok {
		w.holds[k] = max(has-n, 0)
	}
}

// NoteShort notes that a slot does not hold what it was believed to.
func (p *Portions) NoteShort(r SlotRow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.of(r.Row)
	for k := range w.holds {
		if k.slot == r.Slot {
			delete(w.holds, k)
		}
	}
}

// Turn waits until no other portion of the row is being moved, and makes others wait until back is
// called.
func (p *Portions) Turn(ctx context.Context, row RowKey) (back func(), err error) {
	p.mu.Lock()
	turn := p.of(row).turn
	p.mu.Unlock()
	select {
	case <-turn:
		return func() { turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Size returns how much of what the base row has to spare (spare) becomes the portion of one more
// slot, for a statement that needs that much (need); 0 for none.
func (p *Portions) Size(r SlotRow, column string, spare, need, most int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for k := range p.of(r.Row).holds {
		if k.column == column {
			n++
		}
	}
	share := spare / int64(2*max(n, fewest))
	if share = min(share, most); share < worthwhile*need {
		return 0
	}
	return share
}

// NoteMoved notes that a portion has been moved to a slot.
func (p *Portions) NoteMoved(r SlotRow, column string, n int64, place string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.of(r.Row)
	w.holds[held{r.Slot, column}] += n
	w.place, w.until, w.pause = place, time.Time{}, 0
}

// Pause notes that no portion of a row could be moved: none is tried for a while.
func (p *Portions) Pause(row RowKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.of(row)
	w.pause = min(max(2*w.pause, shortestNap), longestNap)
	w.until = time.Now().Add(w.pause)
}

// Any reports whether any portion has been moved.
func (p *Portions) Any() bool { return p.known.Load() > 0 }

// Forget notes that portions have been folded: those of the row or, if it is not known which, of
// all rows of the table. Whether and how much to move again is found out afresh.
func (p *Portions) Forget(row RowKey, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, w := range p.rows {
		if k.Table == row.Table && (!known || k.Values == row.Values) {
			clear(w.holds)
		}
	}
}

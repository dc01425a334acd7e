package slots

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// In a journal no increment meets another: each inserts a slot row of its own, with a number that
// no other row has. All that is left of placement is to find such numbers, and of the roll-up's
// timing, that rows whose number nothing bounds are moved soon. See docs/design/journal.md.

// journalNumbers gives out the numbers of a process: consecutive ones from a random start, so that
// two processes do not meet and the rows of a key are in the index in the order in which they
// came. Exactness does not depend on it: two increments with the same number would share one row.
// Slots of other layouts have lower numbers.
type journalNumbers struct{ last atomic.Int64 }

// LowestJournalNumber is the lowest slot number of a journal's row; slots of other
// layouts have lower ones.
const (
	LowestJournalNumber  = 1 << 20
	highestJournalNumber = 1 << 61 // to begin from: the rest is more than can be used up
)

func (j *journalNumbers) begin() {
	j.last.Store(LowestJournalNumber + rand.Int64N(highestJournalNumber-LowestJournalNumber))
}

// Next returns a number that no other increment of the process gets.
func (j *journalNumbers) Next() int64 { return j.last.Add(1) }

// journalPause is how long a roll-up that was woken by rows of a journal lets others come in
// before it looks, so that they are moved together. It is busy for at most a fifth of the time.
const journalPause = 100 * time.Millisecond

// ManyJournalRows is how many rows a look at the journals must move for another look to follow.
const ManyJournalRows = 200

// JournalWait returns how long to wait before the next look at the journals, given how long the
// last one took.
func JournalWait(took time.Duration) time.Duration { return max(journalPause, 4*took) }

// Made counts the slot rows that the process may have created.
type Made struct {
	n             atomic.Int64
	Wake, Journal chan struct{}
}

// Add counts one, and wakes the roll-up worker if there are many.
func (m *Made) Add() {
	if m.n.Add(1)%ManyRows == 0 {
		signal(m.Wake)
	}
}

// WakeJournal wakes the roll-up worker for committed rows of a journal.
func (m *Made) WakeJournal() { signal(m.Journal) }

// signal wakes the receiver, now or when it next waits.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// ManyRows is how many slot rows are too many to wait for the next pass: a pass that has moved so
// many is followed by another one at once, and a process that has created so many wakes its
// worker.
const ManyRows = 10000

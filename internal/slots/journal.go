package slots

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// In a journal no increment meets another one: each makes a slot row of its own,
// under a number that no other row has. What is left of placement is to find such
// numbers, and of the roll-up's timing that rows which nothing bounds are moved
// soon. See docs/design/journal.md.

// journalNumbers gives out the numbers of a process: one after the other, from a
// random place on, so that two processes do not meet and rows of a key lie in the
// index in the order in which they came. Nothing depends on it: two rows of one
// number would be one row that holds both increments. The numbers of other layouts'
// slots are below.
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

// journalPause is how long a roll-up that a journal's rows have woken lets others
// come before it looks: they are moved together. It takes at most a fifth of the
// time.
const journalPause = 100 * time.Millisecond

// ManyJournalRows is how many rows a look at the journals moves that has another one
// follow.
const ManyJournalRows = 200

// JournalWait returns how long to wait before the next look at the journals, when
// the last one took so long.
func JournalWait(took time.Duration) time.Duration { return max(journalPause, 4*took) }

// Made counts the slot rows that the process may have made.
type Made struct {
	n             atomic.Int64
	Wake, Journal chan struct{}
}

// Add counts one, and wakes the worker when there are many.
func (m *Made) Add() {
	if m.n.Add(1)%ManyRows == 0 {
		signal(m.Wake)
	}
}

// WakeJournal wakes the worker for rows of a journal that have been committed.
func (m *Made) WakeJournal() { signal(m.Journal) }

// signal wakes the receiver, now or when it next waits.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// ManyRows is how many slot rows are too many to wait for the next pass: after a
// pass that has moved so many the next one follows at once, and a process that has
// made so many slot rows wakes its worker.
const ManyRows = 10000

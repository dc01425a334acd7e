package slotsql

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// In a journal no increment meets another one: each makes a slot row of its own,
// under a number that no other row has. What is left of placement is to find such
// numbers, and of the roll-up's timing that rows which nothing bounds are moved
// soon. See docs/design/journal.md.

// journalNumbers gives out the numbers of a process: even ones, one after the
// other, from a random place on, so that two processes do not meet and rows of a
// key lie in the index in the order in which they came. Nothing depends on it: two
// rows of one number would be one row that holds both increments.
//
// The numbers of other layouts' slots are below, and odd ones are MySQL's drain's.
type journalNumbers struct{ last atomic.Int64 }

const (
	lowestJournalNumber  = 1 << 20
	highestJournalNumber = 1 << 61 // to begin from: the rest is more than can be used up
)

func (j *journalNumbers) begin() {
	j.last.Store((lowestJournalNumber + rand.Int64N(highestJournalNumber-lowestJournalNumber)) &^ 1)
}

func (j *journalNumbers) next() int64 { return j.last.Add(2) }

// journalPause is how long a roll-up that a journal's rows have woken lets others
// come before it looks: they are moved together. It takes at most a fifth of the
// time.
const journalPause = 100 * time.Millisecond

// manyJournalRows is how many rows a look at the journals moves that has another one
// follow.
const manyJournalRows = 200

func journalWait(took time.Duration) time.Duration { return max(journalPause, 4*took) }

// madeSlots counts the slot rows that the process may have made.
type madeSlots struct {
	n             atomic.Int64
	wake, journal chan struct{}
}

// add counts one, and wakes the worker when there are many.
func (m *madeSlots) add() {
	if m.n.Add(1)%manyRows == 0 {
		signal(m.wake)
	}
}

// journaled wakes the worker for rows of a journal that have been committed.
func (m *madeSlots) journaled() { signal(m.journal) }

// signal wakes who waits, or is about to.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// manyRows is how many slot rows are too many to wait for the next pass: after a
// pass that has moved so many the next one follows at once, and a process that has
// made so many slot rows wakes its worker.
const manyRows = 10000

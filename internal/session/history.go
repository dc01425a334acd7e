package session

import (
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// history is what is remembered of the transaction that is open: how it was begun, and
// what it has done to counter tables. It ends with the transaction; see txend.go. Where
// the engine alone knows whether that has ended, what has been read and changed stays
// remembered, and nothing counts as locked.
type history struct {
	begun  driver.IsolationLevel // the level that BeginTx was given; 0: the session's, or that of a statement
	access access
	level  level // whether it sees a snapshot, see conflicts.go

	changes    map[slots.RowKey]rowChange // the rows that it has changed, see rowchange.go
	lastChange int                        // the number of the last change
	marks      []mark                     // its savepoints, see savepoint.go
	// bareRows are the rows that have no slots until the transaction ends, each with the
	// number of the last change when that was found, see lockedrows.go.
	bareRows   map[bareRow]int
	readTables map[string]bool // slot tables whose counters it has read, see conflicts.go
	untied     map[string]bool // slot tables whose base rows it has deleted
	folded     map[string]bool // slot tables of which it has drained rows
	// bareTables are slot tables without slots, which a READ ONLY transaction keeps so.
	bareTables []string

	counting map[slots.RowKey]bool // rows that it counts, and whether they are hot; see adaptive.go

	held   map[slots.RowKey]int // slots held until it ends, see place.go
	trials slots.Trials         // its first increments of their forms
	made   journalRows

	tickets touchedTickets // whether it may have rows of tables with tickets
}

// access is whether a transaction may write, as it was begun.
type access byte

const (
	readWrite access = iota
	readOnly
	// drainedFirst: it drained what it had changed just before it became READ ONLY, see
	// readonly_become.go.
	drainedFirst
)

// journalRows is whether a transaction has made rows of a journal.
type journalRows byte

const (
	noJournalRows journalRows = iota
	madeJournalRows
)

// begin notes that BeginTx has begun a transaction.
func (h *history) begin(opts driver.TxOptions) {
	h.begun, h.access = opts.Isolation, readWrite
	if opts.Isolation == 0 {
		h.level = levelOfOthers
	}
	if opts.ReadOnly {
		h.access = readOnly
	}
}

// beginBySQL notes that a statement has begun one, or given another level to the one that
// is open.
func (h *history) beginBySQL(e rewrite.TxEvent) {
	h.begun, h.level, h.access = 0, levelUnknown, readWrite
	if e.ReadOnly {
		h.access = readOnly
	}
}

// restrict notes that the transaction may not write from now on.
func (h *history) restrict() { h.access = max(h.access, readOnly) }

// relevel notes that the transaction may be another one, of another level.
func (h *history) relevel() { h.level = levelUnknown }

// giveUpLocks notes that locks may have been given up.
func (h *history) giveUpLocks() {
	for k, ch := range h.changes {
		ch.drained, ch.locked = false, false
		h.changes[k] = ch
	}
}

// unlock notes that the transaction may have lost its locks: a server may be set to roll it back when
// it has waited for a lock for too long.
func (h *history) unlock() {
	clear(h.bareRows)
	for k, ch := range h.changes {
		ch.locked = false
		h.changes[k] = ch
	}
}

// doubt notes that the transaction may have ended.
func (h *history) doubt() {
	clear(h.bareRows)
	h.level = levelUnknown
	for k, ch := range h.changes {
		ch.drained, ch.locked = false, false
		if ch.how >= afterDrain {
			ch.how = inSlot // its rows may be another's by now
		}
		h.changes[k] = ch
	}
}

// forget notes that no transaction is open in which anything was changed or read.
func (h *history) forget() {
	clear(h.changes)
	clear(h.bareRows)
	clear(h.readTables)
	clear(h.untied)
	clear(h.folded)
	h.trials.End()
	h.marks, h.lastChange, h.level = h.marks[:0], 0, levelUnknown
	h.tickets = ticketsUntouched
}

// end notes that the transaction has ended. What it held is given to give, and journaled
// reports whether it has made rows of a journal.
func (h *history) end(give func(slots.RowKey, int), release func(slots.RowKey)) (journaled bool) {
	for k := range h.counting {
		release(k)
	}
	clear(h.counting)
	for k, i := range h.held {
		give(k, i)
	}
	clear(h.held)
	journaled = h.made == madeJournalRows
	h.begun, h.access, h.bareTables, h.made = 0, readWrite, nil, noJournalRows
	h.forget()
	return journaled
}

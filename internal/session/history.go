package session

import (
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// history is what is remembered of the open transaction: how it was begun, and what it has done to
// counter tables. It is cleared when the transaction ends; see tx.go. If only the server knows
// whether the transaction has ended, what it has read and changed stays remembered, but nothing
// counts as locked.
type history struct {
	begun    driver.IsolationLevel // the level that BeginTx was given; 0: the session's, or set by a statement
	readOnly bool                  // it was begun READ ONLY, or became so
	level    level                 // whether its changes are checked against its snapshot, see conflicts.go

	changes    map[slots.RowKey]rowChange // rows that it has changed; call Conn.changed, which adds those of late
	late       []lateChange               // in their order
	lastChange int                        // the number of the last change
	marks      []mark                     // its savepoints, see savepoint.go
	// slotlessRows are the rows that have no slots until the transaction ends, each with the number of
	// the last change when that was found; see lockedrows.go.
	slotlessRows map[slotlessRow]int
	readTables   map[string]bool // slot tables whose counters it has read, see conflicts.go
	untied       map[string]bool // slot tables of whose base rows it has deleted some
	folded       map[string]bool // slot tables of whose base rows it has drained some

	counting map[slots.RowKey]bool // rows that it has counted, and whether they were hot; see Run.holdsHot

	held   map[slots.RowKey]int // slots that it holds, see Conn.holdSlot
	trials slots.Trials         // see slots.Habit
	made   journalRows

	tickets touchedTickets // whether it may have rows of tables with tickets
}

// journalRows is whether a transaction has inserted rows of a journal.
type journalRows byte

const (
	noJournalRows journalRows = iota
	madeJournalRows
)

// blank reports whether nothing is remembered that end would forget.
func (h *history) blank() bool {
	rows := len(h.changes) + len(h.late) + len(h.slotlessRows) + len(h.counting) + len(h.held)
	return rows+len(h.readTables)+len(h.untied)+len(h.folded)+len(h.marks) == 0 &&
		h.begun == 0 && !h.readOnly && h.level == levelUnknown && h.made == noJournalRows && h.tickets == ticketsUntouched && h.trials.None()
}

// begin notes that BeginTx has begun a transaction.
func (h *history) begin(opts driver.TxOptions) {
	h.begun, h.readOnly = opts.Isolation, opts.ReadOnly
	if opts.Isolation == 0 {
		h.level = levelOfOthers
	}
}

// beginBySQL notes that a statement has begun a transaction, or changed the level of the open one.
func (h *history) beginBySQL(e lex.TxEvent) {
	h.begun, h.level, h.readOnly = 0, levelUnknown, e.ReadOnly
}

// restrict notes that the transaction may not write any more.
func (h *history) restrict() { h.readOnly = true }

// relevel notes that the isolation level is no longer known.
func (h *history) relevel() { h.level = levelUnknown }

// giveUpLocks notes that the transaction may have lost its locks, and what it has drained is no
// longer its own.
func (h *history) giveUpLocks() {
	h.unlockLate()
	for k, ch := range h.changes {
		ch.drained, ch.locked = false, false
		h.changes[k] = ch
	}
}

// unlock notes that the transaction may have been rolled back: a server may be set to do so after
// a lock timeout.
func (h *history) unlock() {
	clear(h.slotlessRows)
	h.unlockLate()
	for k, ch := range h.changes {
		ch.locked = false
		h.changes[k] = ch
	}
}

func (h *history) unlockLate() {
	for i := range h.late {
		h.late[i].locked = false
	}
}

// doubt notes that the transaction may have ended.
func (h *history) doubt() {
	clear(h.slotlessRows)
	h.unlockLate()
	h.level = levelUnknown
	for k, ch := range h.changes {
		ch.drained, ch.locked = false, false
		if ch.how >= changedAfterDrain {
			ch.how = changedInSlot // other sessions may have changed the rows since
		}
		h.changes[k] = ch
	}
}

// forget notes that no transaction is open that has read or changed anything.
func (h *history) forget() {
	clear(h.changes)
	clear(h.slotlessRows)
	clear(h.readTables)
	clear(h.untied)
	clear(h.folded)
	clear(h.late)
	h.late = h.late[:0]
	h.trials.End()
	h.marks, h.lastChange, h.level = h.marks[:0], 0, levelUnknown
	h.tickets = ticketsUntouched
}

// end notes that the transaction has ended. It calls give for each slot that the transaction held,
// and release for each row that it counted. Journaled reports whether it has inserted rows of a
// journal.
func (h *history) end(give func(slots.RowKey, int), release func(slots.RowKey)) (journaled bool) {
	for k := range h.counting {
		release(k)
	}
	h.counting = emptied(h.counting)
	for k, i := range h.held {
		give(k, i)
	}
	h.held = emptied(h.held)
	journaled = h.made == madeJournalRows
	h.begun, h.readOnly, h.made = 0, false, noJournalRows
	h.forget()
	return journaled
}

// emptied returns the map without its entries, for the next transaction, or none if it has grown large: emptying takes time
// for all that it has ever held.
func emptied[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > 256 {
		return nil
	}
	clear(m)
	return m
}

package session

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// ROLLBACK TO SAVEPOINT undoes changes of the transaction. What was remembered of those
// (rowchange.go) is forgotten, and no row counts as locked or drained any more. If a savepoint is
// not found, or mistaken for another, too much stays remembered, which costs locks only.

// A mark is a savepoint, and the number of the last change before it.
type mark struct {
	name       string
	lastChange int
}

// maxMarks bounds the savepoints that are remembered: the newest ones.
const maxMarks = 256

// mark notes that a savepoint has been set, released or rolled back to.
func (h *history) mark(e lex.TxEvent) {
	switch e.Kind {
	case lex.TxSavepoint:
		if len(h.marks) >= maxMarks {
			h.marks = append(h.marks[:0], h.marks[1:]...)
		}
		h.marks = append(h.marks, mark{e.Name, h.lastChange})
	case lex.TxRelease:
		if i := h.markOf(e.Name); i >= 0 {
			h.marks = h.marks[:i]
		}
	case lex.TxRollbackTo:
		i := h.markOf(e.Name)
		if i < 0 {
			h.doubt()
			return
		}
		clear(h.slotlessRows)
		h.giveUpLocks()
		for k, ch := range h.changes {
			if ch.at > h.marks[i].lastChange {
				delete(h.changes, k)
			}
		}
		h.late = slices.DeleteFunc(h.late, func(l lateChange) bool { return l.at > h.marks[i].lastChange })
		h.marks = h.marks[:i+1]
	}
}

// markOf returns the index of the newest savepoint with a name, -1 if there is none.
func (h *history) markOf(name string) int {
	for i := len(h.marks) - 1; i >= 0; i-- {
		if h.marks[i].name == name {
			return i
		}
	}
	return -1
}

package session

import "github.com/slotsql/slotsql/rewrite"

// A ROLLBACK TO SAVEPOINT undoes changes: what they have changed is as others
// have left it, and no longer the transaction's own. What has been remembered of
// them (rowchange.go) is forgotten. A savepoint that is not found, or not the one
// meant, leaves too much remembered, which costs locks only. So none of it counts as locked, or as drained.

// A mark is a savepoint and the number of the last change before it.
type mark struct {
	name       string
	lastChange int
}

// maxMarks is how many savepoints are remembered, the newest.
const maxMarks = 256

// mark notes a savepoint that has been set, released or rolled back to.
func (h *history) mark(e rewrite.TxEvent) {
	switch e.Kind {
	case rewrite.TxSavepoint:
		if len(h.marks) >= maxMarks {
			h.marks = append(h.marks[:0], h.marks[1:]...)
		}
		h.marks = append(h.marks, mark{e.Name, h.lastChange})
	case rewrite.TxRelease:
		if i := h.markOf(e.Name); i >= 0 {
			h.marks = h.marks[:i]
		}
	case rewrite.TxRollbackTo:
		i := h.markOf(e.Name)
		if i < 0 {
			h.doubt()
			return
		}
		clear(h.bareRows)
		h.giveUpLocks()
		for k, ch := range h.changes {
			if ch.at > h.marks[i].lastChange {
				delete(h.changes, k)
			}
		}
		h.marks = h.marks[:i+1]
	}
}

// markOf returns the newest savepoint of a name, -1 when there is none.
func (h *history) markOf(name string) int {
	for i := len(h.marks) - 1; i >= 0; i-- {
		if h.marks[i].name == name {
			return i
		}
	}
	return -1
}

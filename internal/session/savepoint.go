package session

import "github.com/slotsql/slotsql/rewrite"

// A ROLLBACK TO SAVEPOINT undoes changes: what they have changed is as others
// have left it, and no more the transaction's own. What has been remembered of
// them (own.go) is forgotten. A savepoint that is not found, or not the one
// meant, leaves too much remembered, which costs locks only.

// A mark is a savepoint and the number of the last change before it.
type mark struct {
	name    string
	changes int
}

// maxMarks is how many savepoints are remembered, the newest.
const maxMarks = 256

// mark notes a savepoint that has been set, released or rolled back to.
func (c *Conn) mark(e rewrite.TxEvent) {
	switch e.Kind {
	case rewrite.TxSavepoint:
		if len(c.marks) >= maxMarks {
			c.marks = append(c.marks[:0], c.marks[1:]...)
		}
		c.marks = append(c.marks, mark{e.Name, c.changes})
	case rewrite.TxRelease:
		if i := c.markOf(e.Name); i >= 0 {
			c.marks = c.marks[:i]
		}
	case rewrite.TxRollbackTo:
		i := c.markOf(e.Name)
		if i < 0 {
			return
		}
		for k, own := range c.own {
			if own.at > c.marks[i].changes {
				delete(c.own, k)
			}
		}
		c.marks = c.marks[:i+1]
	}
}

// markOf returns the newest savepoint of a name, -1 when there is none.
func (c *Conn) markOf(name string) int {
	for i := len(c.marks) - 1; i >= 0; i-- {
		if c.marks[i].name == name {
			return i
		}
	}
	return -1
}

package slotsql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

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

// marked notes savepoints that a text has set, released or rolled back to, and
// that a new transaction begins, which ends the one before (MySQL; where the
// parent tells, nothing is remembered outside of one).
func (c *conn) marked(text string) {
	if len(text) > maxCachedText {
		return
	}
	var words []string
	for _, t := range rewrite.Tokens(c.shared.dialect.Lexis(), text) {
		if t.Kind == rewrite.Operator {
			continue
		}
		if len(words) == 5 {
			return
		}
		words = append(words, text[t.Start:t.End])
	}
	if len(words) > 0 && c.engine.watcher == nil && (strings.EqualFold(words[0], "BEGIN") || strings.EqualFold(words[0], "START")) {
		c.forget()
	}
	if len(words) < 2 {
		return
	}
	name := strings.ToLower(strings.Trim(words[len(words)-1], "`\""))
	switch strings.ToUpper(words[0]) {
	case "SAVEPOINT":
		if len(words) != 2 {
			return
		}
		if len(c.marks) >= maxMarks {
			c.marks = append(c.marks[:0], c.marks[1:]...)
		}
		c.marks = append(c.marks, mark{name, c.changes})
	case "RELEASE":
		if i := c.markOf(name); i >= 0 {
			c.marks = c.marks[:i]
		}
	case "ROLLBACK":
		i := c.markOf(name)
		if i < 0 || !strings.EqualFold(words[1], "TO") && !strings.EqualFold(words[min(2, len(words)-1)], "TO") {
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
func (c *conn) markOf(name string) int {
	for i := len(c.marks) - 1; i >= 0; i-- {
		if c.marks[i].name == name {
			return i
		}
	}
	return -1
}

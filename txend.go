package slotsql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// However a transaction ends, there is one place for it: ended. What leads there
// is a driver.Tx, a statement sent as text in whatever spelling, PREPARE
// TRANSACTION, the implicit commit of DDL on MySQL, an error that leaves nothing
// of the transaction, and the reset of a session. What is remembered of a
// transaction must not outlive it: its isolation level, the rows that it has
// changed and locked, the counters that it has read.
//
// Where only the server knows, nothing is taken for certain (doubted): what has
// been read and changed stays remembered, which costs locks at most, but no row
// counts as locked, and no level as known, until that has been looked at again.
// A transaction that has begun meanwhile is so held to more than it has done,
// and never to less.

// ended notes that no transaction is open, or another one than before.
func (c *conn) ended() {
	c.readOnly, c.bare = false, nil
	c.release()
	c.begun = 0
	c.settleFacts(true)
}

// doubted notes that the transaction may have ended.
func (c *conn) doubted() {
	c.level = levelUnknown
	for k, own := range c.own {
		own.settled = false
		if own.how >= afterDrain {
			own.how = inSlot // its rows may be another's by now
		}
		c.own[k] = own
	}
	c.settleFacts(false)
}

// finished notes what a driver.Tx has returned for its end.
func (c *conn) finished(err error) {
	c.tx, c.lasting = txState{byText: err != nil}, false
	if err == nil || c.idle() {
		c.ended()
		return
	}
	c.doubted()
}

// transacted notes what the text of a plan may have done to the transaction.
func (c *conn) transacted(plan *rewrite.Plan, err error) {
	c.tx.known = false
	text, events := plan.Text, plan.TxEvents
	if events == nil {
		events = rewrite.TxEvents(c.dialect().Lexis(), text)
	}
	for _, e := range events {
		if e.Kind == rewrite.TxPrepared {
			c.shared.expire() // it may have changed the schema
		}
	}
	switch {
	case c.idle():
		c.tx.byText, c.lasting = false, false
		c.ended()
		return
	case err != nil:
		c.tx.byText, c.lasting = true, true
		c.doubted()
		return
	}
	byText, lasting := c.tx.byText, c.lasting
	for _, e := range events {
		if e.Kind == rewrite.TxEnds && commits(c.shared.dialect.Lexis(), text) {
			c.trials.acquit()
		}
		c.apply(e)
	}
	if c.shared.traits.OneWriter && len(events) == 1 && events[0].Kind == rewrite.TxMayEnd && single(text) {
		// SQLite has no routines: such a statement, ALTER or DROP, leaves the
		// transaction as it is.
		c.tx.byText, c.lasting = byText, lasting
	}
	c.unsettle()
	c.settleFacts(false)
}

// single reports whether a text is certainly one statement, and was read as such.
func single(text string) bool {
	return len(text) < 1<<10 && strings.IndexByte(strings.TrimRight(text, "; \t\r\n"), ';') < 0
}

// apply notes what one statement has done.
func (c *conn) apply(e rewrite.TxEvent) {
	watched := c.engine.watcher != nil
	byText, lasting := c.tx.byText, c.lasting
	c.tx.byText, c.lasting = !watched, true
	switch e.Kind {
	case rewrite.TxBegins:
		if !watched {
			c.ended() // MySQL commits the one before
		}
		c.level = levelUnknown // the one that is open may have been given another one
		c.readOnly = e.ReadOnly
	case rewrite.TxEnds:
		c.ended()
		c.tx.byText = e.Chained && !watched
	case rewrite.TxChanges:
		if c.shared.traits.DDLCommits {
			c.ended()
			c.tx.byText = false
		} else if !watched {
			c.tx.byText, c.lasting = byText, lasting // SQLite: DDL begins and ends none
		}
	case rewrite.TxReadOnly:
		c.tx.byText, c.lasting = byText, lasting
		c.readOnly = c.readOnly || watched // the server is asked
		c.mayRefuse = true
	case rewrite.TxMayEnd:
		if !watched {
			c.doubted()
		}
		c.level = levelUnknown
	default:
		c.mark(e)
	}
}

// failed notes an error of any statement, which may have undone the transaction.
func (c *conn) failed(err error) {
	c.tx.known = false
	if c.engine.txEnded(err) {
		c.ended()
	}
}

package session

import (
	"database/sql/driver"
	"strings"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// However a transaction ends, there is one place for it: ended. What leads there
// is a driver.Tx, a statement sent as SQL in whatever spelling, PREPARE
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

// noteTxEnd notes that no transaction is open, or another one than before.
func (c *Conn) noteTxEnd() {
	c.release()
	c.SettleFacts(true)
}

// noteTxDoubt notes that the transaction may have ended.
func (c *Conn) noteTxDoubt() {
	c.doubt()
	c.SettleFacts(false)
}

// noteTxFinish notes what a driver.Tx has returned for its end.
func (c *Conn) noteTxFinish(err error) {
	c.noteConflict(err)
	mayBeOpen := err != nil && !c.Idle()
	c.Tx.Finish(mayBeOpen)
	if mayBeOpen {
		c.noteTxDoubt()
	} else {
		c.noteTxEnd()
	}
}

// noteTxControl notes what the statement of a plan may have done to the transaction.
func (c *Conn) noteTxControl(plan *rewrite.Plan, err error) {
	c.Tx.Doubt()
	query, events := plan.SQL, plan.TxEvents
	if events == nil {
		events = rewrite.TxEvents(c.Dialect().Lexis(), query)
	}
	for _, e := range events {
		if e.Kind == rewrite.TxPrepared {
			c.Shared.Expire() // it may have changed the schema
		}
	}
	switch {
	case c.Idle():
		c.Tx.Close()
		c.noteTxEnd()
		return
	case err != nil:
		c.Tx.Fail()
		c.noteTxDoubt()
		return
	}
	before := c.Tx
	ddl := plan.Effects&rewrite.SchemaChange != 0 && plan.Effects&rewrite.SessionChange == 0 && single(query)
	for _, e := range events {
		if e.Kind == rewrite.TxEnds && slots.Commits(c.Shared.Dialect.Lexis(), query) {
			c.trials.Committed()
		}
		c.noteTxEvent(e, ddl)
	}
	if c.Shared.Traits.OneWriter && len(events) == 1 && events[0].Kind == rewrite.TxMayEnd && single(query) {
		// SQLite has no routines: such a statement, ALTER or DROP, leaves the
		// transaction as it is.
		c.Tx = before
	}
	c.giveUpLocks()
	c.SettleFacts(false)
}

// single reports whether SQL is certainly one statement, and was read as such.
func single(query string) bool {
	return len(query) < 1<<10 && strings.IndexByte(strings.TrimRight(query, "; \t\r\n"), ';') < 0
}

// noteTxEvent notes what one statement has done.
func (c *Conn) noteTxEvent(e rewrite.TxEvent, ddl bool) {
	watched := c.Engine.Watcher != nil
	c.NoteTx(e, ddl)
	switch e.Kind {
	case rewrite.TxBegins:
		if !watched {
			c.noteTxEnd() // MySQL commits the one before
		}
		c.beginBySQL(e)
	case rewrite.TxEnds:
		c.noteTxEnd()
	case rewrite.TxChanges:
		if c.Shared.Traits.DDLCommits {
			c.noteTxEnd()
		}
	case rewrite.TxReadOnly:
		if watched {
			c.restrict() // the server is asked
		}
		c.mayRefuse = true
	case rewrite.TxMayEnd:
		if !watched {
			c.noteTxDoubt()
		}
		c.relevel()
	default:
		c.mark(e)
	}
}

// noteError notes an error of any statement, which may have undone the transaction.
func (c *Conn) noteError(err error) {
	c.Tx.Doubt()
	c.noteConflict(err)
	switch {
	case err == driver.ErrSkip: // nothing has been sent
	case c.Engine.TxEnded(err):
		c.noteTxEnd()
	default:
		c.unlock()
	}
}

// failsTx reports whether an error of one of slotsql's own statements has ended the application's transaction, or
// left it with nothing to run but its end. The statement that follows would get another error (25P02), or none, and the
// application would not know that it has to retry the transaction.
func (c *Conn) failsTx(err error) bool {
	return err != nil && (c.Engine.TxEnded(err) || c.Shared.Traits.ErrorAborts && !c.InAutocommit())
}

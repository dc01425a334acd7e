package session

import (
	"strings"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// However a transaction ends, noteTxEnd is called: for a driver.Tx, a statement sent as SQL in any
// spelling, PREPARE TRANSACTION, the implicit commit of DDL on MySQL, an error that leaves nothing
// of the transaction, and the reset of a session. What is remembered of a transaction must not
// outlive it: its isolation level, the rows that it has changed and locked, the counters that it
// has read.
//
// If only the server knows whether it has ended (noteTxDoubt), what was read and changed stays
// remembered, which costs locks at most; but no row counts as locked, and no level as known, until
// that has been checked. So a transaction that has begun meanwhile is treated as if it had done
// more than it has, never less.

// noteTxEnd notes that no transaction is open, or a new one.
func (c *Conn) noteTxEnd() {
	c.release()
	if c.SettleFacts(true); c.Tx.None() {
		c.Rare.Clear(link.TxNoted)
	}
}

// noteTxDoubt notes that the transaction may have ended.
func (c *Conn) noteTxDoubt() {
	c.doubt()
	c.SettleFacts(false)
}

// noteTxFinish notes the end of a transaction by a driver.Tx, with the error that this has
// returned.
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

// noteTxControl notes what a statement may have done to the transaction.
func (c *Conn) noteTxControl(plan *rewrite.Plan, err error) {
	c.Tx.Doubt()
	query, events := plan.SQL, plan.TxEvents
	if events == nil {
		events = lex.TxEvents(c.Dialect().LexRules(), query)
	}
	for _, e := range events {
		if e.Kind == lex.TxPrepared {
			c.Shared.Expire() // it may have changed the schema
		}
	}
	switch {
	case c.Idle():
		c.Tx.Close()
		c.noteTxEnd()
		return
	case err != nil:
		if !c.keepsTx(query) {
			c.Tx.Fail()
		}
		c.noteTxDoubt()
		return
	}
	before := c.Tx
	ddl := plan.Effects&rewrite.SchemaChange != 0 && plan.Effects&rewrite.SessionChange == 0 && single(query)
	for _, e := range events {
		if e.Kind == lex.TxEnds && slots.Commits(c.Shared.Dialect.LexRules(), query) {
			c.trials.Committed()
		}
		c.noteTxEvent(e, ddl)
	}
	if c.keepsTx(query) {
		c.Tx.Keep(before)
	}
	c.giveUpLocks()
	c.SettleFacts(false)
}

// keepsTx reports whether each statement of a call leaves the session in a transaction if, and only if, it was in one, also
// if it fails: every statement but those that control transactions, where DDL is part of transactions, and blocks of code and
// procedures may only end transactions of their own.
func (c *Conn) keepsTx(query string) bool {
	t := c.Shared.Traits
	if t.DDLCommits || !t.RoutinesKeepTx && !t.OneWriter || c.ReadsOtherwise() || len(query) > lex.MaxTxSQL {
		return false
	}
	tokens, exec := lex.Scan(c.Dialect().LexRules(), query)
	for _, span := range lex.Split(query, tokens, exec) {
		for len(tokens) > 0 && tokens[0].Start < span.Start {
			tokens = tokens[1:]
		}
		switch strings.ToUpper(query[tokens[0].Start:tokens[0].End]) {
		case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "PREPARE", "SAVEPOINT", "RELEASE":
			return false
		}
	}
	return true
}

// single reports whether SQL is certainly one statement.
func single(query string) bool {
	return len(query) < 1<<10 && strings.IndexByte(strings.TrimRight(query, "; \t\r\n"), ';') < 0
}

// noteTxEvent notes what one statement has done to the transaction.
func (c *Conn) noteTxEvent(e lex.TxEvent, ddl bool) {
	watched := c.Engine.Watcher != nil
	c.NoteTx(e, ddl)
	switch e.Kind {
	case lex.TxBegins:
		if !watched {
			c.noteTxEnd() // MySQL commits the previous one
		}
		c.beginBySQL(e)
	case lex.TxEnds:
		c.noteTxEnd()
	case lex.TxChanges:
		if c.Shared.Traits.DDLCommits {
			c.noteTxEnd()
		}
	case lex.TxReadOnly:
		if watched {
			c.restrict() // the server is asked
		}
	case lex.TxMayEnd:
		if !watched {
			c.noteTxDoubt()
		}
		c.relevel()
	default:
		c.mark(e)
	}
}

// noteError notes an error of any statement, which may have rolled back the transaction.
func (c *Conn) noteError(err error) {
	c.Tx.Doubt()
	c.noteConflict(err)
	switch {
	case c.Engine.TxEnded(err):
		c.noteTxEnd()
	default:
		c.unlock()
	}
}

// failsTx reports whether an error of one of slotsql's own statements has ended the application's
// transaction, or left it able only to roll back. Then the application must get this error: its
// own statement would get another one (25P02), or none, and it would not know that it has to retry
// the transaction.
func (c *Conn) failsTx(err error) bool {
	return err != nil && (c.Engine.TxEnded(err) || c.Shared.Traits.ErrorAborts && !c.InAutocommit())
}

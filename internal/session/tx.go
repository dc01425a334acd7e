package session

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

var (
	_ driver.ConnBeginTx = (*Conn)(nil)
	_ driver.Tx          = (*tx)(nil)
)

// Begin implements driver.Conn.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.Rare.Any(link.Detached) {
		if err := c.detached.await(ctx); err != nil {
			return nil, err
		}
	}
	if !c.Ready() {
		c.LookHereIfDue(ctx)
	}
	goesOn := c.Engine.Watcher != nil && c.Engine.Watcher.ConnInTransaction(c.Parent) // BEGIN sent as SQL: PostgreSQL only warns
	asked := opts
	if opts.Isolation != 0 {
		asked = c.levelFor(opts)
	}
	t, err := c.ParentBegin(ctx, asked)
	if err != nil {
		return nil, err
	}
	if !goesOn {
		c.noteTxEnd() // of the transaction before, however it ended
	}
	c.Tx.Begin()
	c.begin(opts)
	if goesOn {
		c.relevel()
	}
	return &tx{conn: c, parent: t}, nil
}

// tx is a transaction begun through BeginTx.
type tx struct {
	conn   *Conn
	parent driver.Tx
}

// Commit implements driver.Tx. It leaves the state of the transaction unknown: after a failed
// commit one may still be open, and the session may have autocommit off.
func (t *tx) Commit() error {
	if t.conn.Rare.Any(link.Broken) {
		_ = t.Rollback()
		return link.ErrRolledBack
	}
	err := t.parent.Commit()
	if err == nil {
		t.conn.trials.Committed()
	}
	t.conn.noteTxFinish(err)
	return err
}

// Rollback implements driver.Tx.
func (t *tx) Rollback() error {
	err := t.parent.Rollback()
	t.conn.noteTxFinish(err)
	return err
}

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
	if !c.Facts.Settled() {
		c.SettleFacts(true)
	}
	if c.Tx.None() {
		c.Rare.Clear(link.TxNoted)
	}
}

// release gives back what the transaction held, which has ended, and forgets what it has done.
func (c *Conn) release() {
	if c.end(c.Shared.placement.Give, c.Shared.heat.Release) {
		c.Shared.Made.WakeJournal()
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
	mayBeOpen := false
	if err != nil {
		c.noteConflict(err)
		mayBeOpen = !c.Idle()
	}
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

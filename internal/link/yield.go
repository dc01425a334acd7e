package link

import (
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// On MySQL and MariaDB a statement that writes first takes locks that end with it. FLUSH TABLES WITH READ LOCK, with which a
// backup begins, and SET GLOBAL read_only, with which a failover does, wait for such statements to end, and new ones wait behind
// them. So a transaction that holds a row, and is about to send its next statement, may have to wait for a session that waits for
// a statement that waits for the row. The server does not see that circle, since one of the locks is InnoDB's: it ends with
// innodb_lock_wait_timeout. A plain statement cannot be part of it: it has all its locks before it waits for a row.
//
// So no statement of a drain's transaction but the first, before which the transaction holds nothing, waits for these locks. If one
// is not granted, all is rolled back, which lets the others go on, and the drain begins again: its first statement waits.

// yielding is how a transaction of slotsql's own avoids such waits.
type yielding struct {
	by      dialect.Yielder // nil while statements wait as usual
	first   string          // the first statement
	beyond  bool            // others have been sent
	sent    time.Time       // when the last one was
	within  time.Duration   // by then it has failed if such a lock is not granted; negative if it waits as usual
	refused bool            // one has failed in this way
	times   int             // how often in a row
}

// maxRefused bounds how often a drain begins again, and refusedPause is the longest pause before it does. It may not be its
// first statement that has to wait, but one that uses another table, whose definition is being changed.
const (
	maxRefused   = 1000
	refusedPause = 100 * time.Millisecond
)

// rowWait is less than the shortest time limit for row locks, whose error is the same.
const rowWait = 900 * time.Millisecond

// Yield has the statements of a transaction of slotsql's own, which has just begun, yield to others until Insist.
func (c *Conn) Yield() {
	d, ok := c.DB.Dialect.(dialect.Yielder)
	if c.yield.by = nil; ok && c.Tx.Own() {
		c.yield = yielding{by: d, within: -1, times: c.yield.times}
	}
}

// Insist has statements wait as usual again. If err, with which the last one may have failed, is that of a lock that the
// transaction was not to wait for, Retry reports true for it.
func (c *Conn) Insist(err error) {
	y := &c.yield
	// An error of the time limit for a statement is not Retryable.
	y.refused = y.by != nil && err != nil && y.within >= 0 && time.Since(y.sent) < y.within+rowWait &&
		c.Engine.LockTimeout(err) && c.Engine.Retryable(err)
	y.by = nil
}

// Yields reports whether a statement is to be sent in another form than its own.
func (c *Conn) Yields() bool { return c.yield.by != nil }

// yieldingSQL returns the SQL with which a statement is sent.
func (c *Conn) yieldingSQL(sql string) string {
	y := &c.yield
	if y.by == nil {
		return sql
	}
	if y.first == "" {
		y.first = sql
	}
	if y.beyond = y.beyond || sql != y.first; !y.beyond {
		return sql
	}
	y.sent = time.Now()
	sql, y.within = y.by.Yielding(sql)
	return sql
}

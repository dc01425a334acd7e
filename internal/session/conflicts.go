package session

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/slotsql/slotsql/rewrite"
)

// At PostgreSQL's REPEATABLE READ and SERIALIZABLE a transaction that changes a
// row which others have changed since its snapshot fails (40001), and so it does on MariaDB
// with innodb_snapshot_isolation (1020). Programs
// rely on it: two that read a counter, find it under their limit and increment
// it never pass the limit, because one of them fails. Slots would let both
// increment: a transaction that only counts needs no such thing, since what it
// has added is right whatever else is added, and what it sees does not depend on
// it. One that has read the counters does.
//
// So a transaction of such a level that has read counters of a table drains the
// rows that it changes of it from then on; and rowchange.go has it drain those that it
// has changed before it reads. Either way the drain meets every slot row that is
// newer than the snapshot, and fails as the plain statement (see
// docs/design/locks.md), and its lock keeps out what others add later, as the
// plain statement's. It comes before the change, in the plain order of locks,
// where the change certainly touches the rows that are drained; else after it,
// if it has touched any: a row that is newer and is not touched is no conflict.
//
// At SERIALIZABLE the engine itself would find the conflict of two such
// transactions; but not that with one of a lower level.

// level is whether the open transaction sees a snapshot that its changes are
// held to.
type level byte

const (
	levelUnknown  level = iota
	levelOfOthers       // that of all transactions which BeginTx begins without one
	levelSnapshot
	levelStatement
)

// noteRead notes that the statement reads counters in a transaction.
func (r *Run) noteRead() {
	c := r.conn
	if c.Engine.Snapshots == nil || c.InAutocommit() {
		return
	}
	for _, t := range r.Plan.Touched {
		if c.readTables == nil {
			c.readTables = map[string]bool{}
		}
		c.readTables[t.Counter.Slotted()] = true
	}
}

// conflicts reports whether a change of a table is to be held to what others have
// done since the transaction has read.
func (c *Conn) conflicts(ctx context.Context, t *rewrite.Table) (bool, error) {
	if !c.readTables[t.Counter.Slotted()] {
		return false, nil
	}
	return c.atSnapshot(ctx)
}

// atSnapshot reports whether a transaction is open whose changes are held to its
// snapshot. It asks once.
func (c *Conn) atSnapshot(ctx context.Context) (bool, error) {
	if c.level == levelUnknown || c.level == levelOfOthers {
		if open, err := c.InTransaction(ctx); err != nil || !open {
			return false, err
		}
		answer, err := c.Session().Query(ctx, c.Engine.Snapshots.IsolationQuery())
		if err != nil {
			return false, c.Lost(err)
		}
		c.level = levelStatement
		if len(answer) == 1 && c.Engine.Snapshots.Conflicts(c.levelOf(fmt.Sprintf("%s", answer[0][0]))) {
			c.level = levelSnapshot
		}
	}
	return c.level == levelSnapshot, nil
}

// levelOf is the level of the transaction that is open, by what the engine has answered. If that is
// empty, no level holds changes to a snapshot, whatever BeginTx was given.
func (c *Conn) levelOf(answer string) string {
	if c.Engine.SessionLevel && answer != "" {
		return c.isolation(answer)
	}
	return answer
}

// heldToSnapshot is atSnapshot for a transaction that need not have read anything yet. It asks
// once for all transactions that take the level of the connection.
func (c *Conn) heldToSnapshot(ctx context.Context) (bool, error) {
	asDefault := c.level == levelOfOthers && c.Tx.KeepsLocks()
	if c.Engine.Snapshots == nil || c.level > levelOfOthers || c.begun != 0 {
		return c.snapshotBegun(), nil
	}
	known := &c.Shared.habits.level
	if l := level(known.Load()); asDefault && l != levelUnknown {
		return l == levelSnapshot, nil
	}
	held, err := c.atSnapshot(ctx)
	if err == nil && asDefault && c.level != levelOfOthers {
		known.Store(int32(c.level))
	}
	return held, err
}

// snapshotBegun reports whether the transaction was begun at a level that holds it to a
// snapshot, or is known to be held to one.
func (c *Conn) snapshotBegun() bool {
	return c.Engine.Snapshots != nil && (c.level == levelSnapshot || sql.IsolationLevel(c.begun) > sql.LevelReadCommitted)
}

package session

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// At PostgreSQL's REPEATABLE READ and SERIALIZABLE, and on MariaDB with innodb_snapshot_isolation,
// a transaction fails if it changes a row that others have changed since its snapshot (40001, or
// 1020). Programs rely on that: of two that read a counter, find it under their limit and
// increment it, one fails, so together they never exceed the limit. In slots both would succeed. A
// transaction that only counts loses nothing by that: what it adds is right whatever others add.
// One that has read the counter does.
//
// So a transaction of such a level that has read counters of a table drains the rows of the table
// that it changes from then on; and rowchange.go has it drain the rows that it has changed before
// it reads. The drain meets every slot row that is newer than the snapshot, and fails as the plain
// statement would (see docs/design/transactions.md); its lock keeps out later increments, as the plain
// statement's does. If the change certainly touches the rows that are drained, the drain comes
// before it, in the plain order of locks. Otherwise it comes after it, if the change has touched
// any row: a newer row that is not touched is no conflict.
//
// At SERIALIZABLE the engine would itself find the conflict of two such transactions, but not that
// with a transaction of a lower level.

// level is whether the changes of the open transaction are checked against its snapshot.
type level byte

const (
	levelUnknown  level = iota
	levelOfOthers       // that of all transactions that BeginTx begins without a level
	levelSnapshot
	levelStatement
)

// noteRead notes that the transaction reads counters of the tables.
func noteRead(c *Conn, tables []*schema.Table) {
	if c.Engine.Snapshots == nil || c.InAutocommit() {
		return
	}
	for _, t := range tables {
		if c.readTables == nil {
			c.readTables = map[string]bool{}
		}
		c.readTables[t.Counter.Slotted()] = true
	}
}

// conflicts reports whether a change of a table has to be checked against what others have done
// since the transaction read its counters.
func (c *Conn) conflicts(ctx context.Context, t *schema.Table) (bool, error) {
	if !c.readTables[t.Counter.Slotted()] {
		return false, nil
	}
	return c.atSnapshot(ctx)
}

// atSnapshot reports whether a transaction is open whose changes are checked against its snapshot.
// It asks the server once.
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

// levelOf returns the level of the open transaction, given what the engine has answered. If the
// answer is empty, no level checks changes against a snapshot, whatever BeginTx was given.
func (c *Conn) levelOf(answer string) string {
	if c.Engine.SessionLevel && answer != "" {
		return c.isolation(answer)
	}
	return answer
}

// heldToSnapshot is atSnapshot for a transaction that need not have read anything yet. It asks
// once for all transactions that have the level of the connection.
func (c *Conn) heldToSnapshot(ctx context.Context) (bool, error) {
	asDefault := c.level == levelOfOthers && c.Rare.Any(link.TxOpen)
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

// snapshotBegun reports whether the transaction was begun at a level that checks its changes
// against a snapshot, or is known to be at such a level.
func (c *Conn) snapshotBegun() bool {
	return c.Engine.Snapshots != nil && (c.level == levelSnapshot || sql.IsolationLevel(c.begun) > sql.LevelReadCommitted)
}

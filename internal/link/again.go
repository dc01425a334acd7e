package link

import (
	"context"
	"math/rand/v2"
	"time"
)

// What the engine has undone as a whole because others were in its way, such
// as a deadlock's victim, or a row that another node of a cluster has written
// at the same time, may run again. Of an increment outside a transaction no caller
// can tell that it has run twice: the first time nothing came of it, and the
// second is one that came a little later. That goes for one that adds for
// several, too. The plain increment of a row may meet such an error as well, but
// slots are there so that it need not, and they make for some that it cannot meet:
// the upsert has the base row and the slot row.
//
// So may the queries by which slotsql looks at the database, outside a
// transaction too: on a Galera cluster DDL that another node has run undoes
// even those.
//
// A statement that drains outside a transaction has one of slotsql's own, which
// begins with it, ends with it, and is undone as a whole, the application's SQL
// included. So it may run again, too. It needs to: the plain statement locks a row
// once, where the drain locks the row and its slots, and so may meet others from
// the other side. And so may a statement that changes rows of a counter table as
// they are: a DELETE meets their slots, too, and on a Galera cluster those that
// other nodes are making. A query that does either is not among these: some of its
// rows may have been given out.
//
// In a transaction of the application's the statements before it are gone as
// well, and only the application knows them: there the error is the
// application's, as with the plain driver.

// MaxTries bounds how often, and maxPatience how long to wait before a try, by
// chance and growing with their number: those who have met are to part. The
// first one follows at once.
//
// Nodes of a cluster do not queue for a row that several of them write, as sessions of
// one server do: one of them wins, the others fail. Where processes of many nodes
// decrement one bounded counter, four tries in five fail. So on a cluster there are
// many more of them.
const (
	MaxTries        = 16
	MaxClusterTries = 100
	maxPatience     = 20 * time.Millisecond
	maxTimeouts     = 3 // lock timeouts in a row: each takes as long as the server is set to wait
)

// Deadlocked reports whether a statement was undone because it and others waited for each other.
// In a cluster that may be a lock timeout: nothing else finds out that an applier waits for a
// lock whose holder waits for the applier.
func (c *Conn) Deadlocked(err error) bool {
	return c.Engine.Conflict(err) || c.Cluster && c.Engine.LockTimeout(err)
}

// Retry reports whether what has failed, of which nothing is left, is to run once
// more, after that many tries.
func (c *Conn) Retry(ctx context.Context, tries int, err error) bool {
	most := MaxTries
	if c.Cluster {
		most = MaxClusterTries
	}
	if tries <= 1 {
		c.timeouts = 0
	}
	if err != nil && c.Engine.LockTimeout(err) {
		c.timeouts++
	}
	if err == nil || tries >= most || c.timeouts > maxTimeouts || !c.Deadlocked(err) {
		return false
	}
	if tries > 1 {
		select {
		case <-time.After(rand.N(min(time.Duration(tries)*2*time.Millisecond, maxPatience))):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// InAutocommit reports whether the next statement is certainly committed, or undone,
// by itself.
func (c *Conn) InAutocommit() bool {
	if c.Engine.Watcher != nil {
		return !c.Engine.Watcher.ConnInTransaction(c.Parent)
	}
	return c.DB.Sharing && !c.Origin.Dirty() && c.Tx.None()
}

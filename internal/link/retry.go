package link

import (
	"context"
	"math/rand/v2"
	"time"
)

// What the engine has rolled back as a whole because of a conflict, such as a deadlock or a row
// that another node of a cluster has written at the same time, may run again. No caller can tell
// that an increment outside a transaction has run twice: nothing came of the first run, and the
// second is one that came a little later. That also holds for a statement that adds for several
// callers. The plain increment of a row may fail like that, too, but slots exist so that it need
// not, and they add conflicts that it cannot have: the upsert locks the base row and the slot row.
//
// The same goes for slotsql's own queries, even outside transactions: on a Galera cluster DDL on
// another node rolls back even those.
//
// A statement that drains outside a transaction runs in one of slotsql's own, which is rolled back
// as a whole, the application's SQL included. So it may run again as well. It has to: the plain
// statement locks a row once, but the drain locks the row and its slots, and may meet others that
// lock them in another order. So may a statement that changes rows of a counter table as they are:
// a DELETE also meets their slots and, on a Galera cluster, those that other nodes are creating. A
// query that does either does not run again: some of its rows may have been returned already.
//
// In a transaction of the application the statements before it are rolled back as well, and only
// the application knows them. There the application gets the error, as with the plain driver.

// MaxTries bounds how often something is tried, and maxPatience how long to wait before a try: a
// random time that grows with the number of tries, so that those in conflict come apart. The first
// retry follows at once.
//
// Nodes of a cluster do not queue for a row that several of them write, as the sessions of one
// server do: one of them wins, the others fail. If processes on many nodes decrement one bounded
// counter, four tries in five fail. So a cluster gets many more tries.
const (
	MaxTries        = 16
	MaxClusterTries = 100
	maxPatience     = 20 * time.Millisecond
	maxTimeouts     = 3 // lock timeouts in a row: each takes as long as the server is set to wait
)

// Deadlocked reports whether a statement was rolled back because it and others waited for each
// other. On a cluster that may be a lock timeout: nothing detects that an applier waits for a lock
// whose holder waits for the applier.
func (c *Conn) Deadlocked(err error) bool {
	return c.Engine.Conflict(err) || c.Cluster && c.Engine.LockTimeout(err)
}

// Retry reports whether something that has failed without effect is to run once more, after so
// many tries. It waits before it returns true.
func (c *Conn) Retry(ctx context.Context, tries int, err error) bool {
	most := MaxTries
	if c.Cluster {
		most = MaxClusterTries
	}
	if tries <= 1 {
		c.timeouts, c.yield.times = 0, 0
	}
	refused, patience := c.yield.refused, maxPatience
	switch c.yield.refused = false; {
	case err == nil:
		return false
	case refused:
		patience = refusedPause
		if c.yield.times++; c.yield.times > maxRefused {
			return false
		}
	case c.Engine.LockTimeout(err):
		c.timeouts++
	}
	if !refused && (tries-c.yield.times >= most || c.timeouts > maxTimeouts || !c.Deadlocked(err)) {
		return false
	}
	if tries > 1 {
		select {
		case <-time.After(rand.N(min(time.Duration(tries)*2*time.Millisecond, patience))):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

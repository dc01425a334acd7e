package link

import "time"

// A connection of slotsql's own is used no longer than any pool of the application would use one, because database/sql
// does not tell a driver the limits of its pool: what stands between the process and its server (a balancer, a
// firewall) may drop connections without a word that have idled for a while, or are old, and a statement on a dead
// connection waits for an answer until it times out. So the age is asked of the clock before each use, which costs no
// round trip.
const (
	OwnIdle = 5 * time.Second // such a connection is not used again after it has idled for so long
	OwnLife = time.Minute     // nor when it was opened so long ago
)

// Age is that of a connection of slotsql's own. The zero Age is over.
type Age struct{ opened, used time.Time }

// Begin notes that the connection has been opened.
func (a *Age) Begin() {
	now := time.Now()
	*a = Age{now, now}
}

// Use notes that the connection has just been used.
func (a *Age) Use() { a.used = time.Now() }

// Left returns for how long the connection may still be used if it is not until then.
func (a *Age) Left() time.Duration {
	now := time.Now()
	return min(OwnIdle-now.Sub(a.used), OwnLife-now.Sub(a.opened))
}

// Over reports whether the connection must not be used again.
func (a *Age) Over() bool { return a.Left() <= 0 }

package link

import "sync/atomic"

// Rare is what is rare about a session, as one word of bits. Each statement, and each use that the pool makes of the session, compares it
// once, and examines single facts only if a bit is set.
//
// No event is missed, because a fact has one home: most are nothing but their bit, and the others (see Tx, Settings, and package session)
// are written by one method, which writes the bit as well.
//
// A session's goroutine writes the word. The goroutine of a shared statement that has outlived its caller may read it meanwhile.
type Rare uint32

// The bits.
const (
	Broken   Rare = 1 << iota // the connection is never to be used again: see Conn.Lost
	Lent                      // code has been given the parent's connection, and may use it whenever no statement runs
	RowsOpen                  // rows of a query may be open
	Detached                  // a statement has outlived its caller

	ChangedSettings // settings may be others than those with which the connector opens connections
	RoleSet         // the role may be another than the session began with
	RoleUnknown     // nor are the rights of that one known
	Unshared        // its database may be no other session's

	TxOpen     // a statement may run in a transaction, so that its locks may outlive it
	TxDangling // none is in use, but one may be open
	TxNoted    // since the connection was taken from the pool one may have been, and something may be remembered of it

	InsertIDOwed   // a number that the session has drawn has to be set before LAST_INSERT_ID is asked for
	InsertIDPooled // so it was when the connection went back to the pool

	FactsOld        // the namespace or its tables may be others than when the facts were read
	FactsOwn        // the facts are the session's own, until its transaction has ended
	TempTables      // it may have temporary tables, so they are its own for good, and read again when that may have changed
	SchemaAltered   // the open transaction may have changed tables that other sessions know
	OthersAltered   // tables about which no facts are known
	OwnPending      // the session's own tables
	NamespaceAdrift // the namespace, or the facts of its tables, may change back with the end of the open transaction

	HookedResets // the parent's connector has code that may change the session each time the pool gives it out
	CatchesUp    // tables are in shadow
)

// Any reports whether one of some bits is set.
func (r *Rare) Any(bits Rare) bool { return Rare(atomic.LoadUint32((*uint32)(r)))&bits != 0 }

// Set sets bits.
func (r *Rare) Set(bits Rare) { atomic.OrUint32((*uint32)(r), uint32(bits)) }

// Clear clears bits.
func (r *Rare) Clear(bits Rare) { atomic.AndUint32((*uint32)(r), ^uint32(bits)) }

// Put sets bits, or clears them.
func (r *Rare) Put(bits Rare, on bool) {
	if on {
		r.Set(bits)
	} else {
		r.Clear(bits)
	}
}

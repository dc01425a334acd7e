package link

import (
	"github.com/slotsql/slotsql/rewrite/lex"
)

// Tx is what is known about a session's transaction: which one may be open, what the engine last
// answered about that, and whether anything has run in it.
//
// Everything that happens to a transaction is one of its methods. None of them queries the
// database: if only that knows, the state says so.
type Tx struct {
	rare     *Rare
	phase    TxPhase
	answer   txAnswer
	unused   bool // nothing has run since a transaction was begun
	unread   bool // BeginTx has begun one, in which nothing has run that may have opened a snapshot
	locking  bool // the statement that runs reads nothing but what it locks
	implicit bool // a statement may have switched autocommit off
	own      ownTx
}

// TxPhase is which transaction of the application may be open.
type TxPhase byte

// The phases.
const (
	// TxNone: none is open, unless the session was opened with autocommit off.
	TxNone TxPhase = iota
	// TxBegun: one is open that was begun through BeginTx, or that the parent reports.
	TxBegun
	// TxBySQL: a statement has begun one, or may have.
	TxBySQL
	// TxImplicit: the last one has ended, and any statement may have begun the next one, because
	// autocommit may be off.
	TxImplicit
	// TxLeftOpen: none is in use, but one may be open: its COMMIT has failed, or the session was
	// reset while a transaction begun by a statement was open.
	TxLeftOpen
)

// txAnswer is what the engine last answered when asked whether a transaction is open, and whether
// that still holds. It does not after a statement that may have begun or ended one, after an
// error, with which an engine may have rolled it back, and after a query, whose error may come
// with its rows.
type txAnswer byte

const (
	staleClosed txAnswer = iota // also: it was never asked
	staleOpen
	closed
	open
)

// ownTx is a transaction of slotsql's own.
type ownTx byte

const (
	noOwnTx ownTx = iota
	ownTxOpen
	ownTxSnapshot // and it may have a snapshot
)

// TxRules is what the effect of a statement on the transaction depends on besides its text.
type TxRules struct {
	Watched    bool // the parent tells whether a transaction is open
	DDLCommits bool // DDL ends the transaction
	DDL        bool // the statement is certainly DDL: it begins none, and leaves autocommit as it is
}

// enter notes which transaction may be open.
func (t *Tx) enter(p TxPhase) {
	t.phase = p
	bits := TxNoted
	switch p {
	case TxNone:
		bits = 0
	case TxLeftOpen:
		bits |= TxDangling
	default:
		bits |= TxOpen
	}
	t.rare.Set(bits)
	t.rare.Clear((TxOpen | TxDangling) &^ bits)
}

// Begin notes that BeginTx has begun a transaction.
func (t *Tx) Begin() {
	t.enter(TxBegun)
	t.answer, t.unused, t.unread, t.locking = open, true, true, false
}

// Finish notes that a driver.Tx has been committed or rolled back. If that has failed the
// transaction may still be open.
func (t *Tx) Finish(mayBeOpen bool) {
	t.answer, t.unused, t.unread = staleClosed, false, false
	if t.enter(TxNone); mayBeOpen {
		t.enter(TxLeftOpen)
	}
}

// Close notes that the parent knows of no transaction.
func (t *Tx) Close() {
	t.enter(TxNone)
	t.Doubt()
}

// Fail notes that a statement which may begin or end a transaction has failed: one may
// be open.
func (t *Tx) Fail() {
	t.enter(TxBySQL)
	t.Doubt()
}

// Reset notes that the connection has gone back to the pool, and reports whether no transaction is
// open any more. Idle: the parent reports none.
func (t *Tx) Reset(idle bool) (ended bool) {
	if t.BySQL() && !idle {
		t.enter(TxLeftOpen)
		return false
	}
	t.enter(TxNone)
	return true
}

// Apply notes what one statement has done, judging by its text. A COMMIT without CHAIN leaves the
// session as it was before the BEGIN: in autocommit, unless a statement may have switched that
// off.
func (t *Tx) Apply(e lex.TxEvent, rules TxRules) {
	t.answer = t.answer.stale()
	may := TxBySQL
	if rules.Watched {
		may = TxBegun
	}
	switch e.Kind {
	case lex.TxEnds:
		if t.end(); e.Chained {
			t.enter(may)
		}
	case lex.TxChanges:
		switch {
		case rules.DDLCommits:
			t.end()
		case rules.Watched:
			t.enter(may)
		}
	case lex.TxReadOnly:
	case lex.TxMayEnd:
		t.implicit = t.implicit || !rules.DDL
		if t.phase != TxNone || !rules.DDL { // else there is none to end
			t.enter(may)
		}
	default:
		t.enter(may)
	}
}

// end notes that the transaction has ended for certain.
func (t *Tx) end() {
	if t.enter(TxNone); t.implicit {
		t.enter(TxImplicit)
	}
}

// Answer notes what the engine has said when asked whether a transaction is open.
func (t *Tx) Answer(isOpen bool) {
	t.answer = closed
	if isOpen {
		t.answer = open
	}
}

// Doubt notes that what the engine has said may no longer hold.
func (t *Tx) Doubt() { t.answer = t.answer.stale() }

// Confirm notes that a query and all its rows have been read without an error: the transaction
// that BeginTx has begun, and that was known to be open before the query, still is.
func (t *Tx) Confirm() {
	if t.phase == TxBegun && t.answer == staleOpen {
		t.answer = open
	}
}

// Keep takes back what a statement has done that leaves the session in a transaction if, and only if, it was in one.
func (t *Tx) Keep(before Tx) {
	*t = before
	t.enter(before.phase)
}

// Ran notes that a statement has run. If begins, it has begun a transaction that has not read
// anything yet, or has set a savepoint in one.
func (t *Tx) Ran(begins bool) { t.unused = begins && (t.unused || !t.rare.Any(TxOpen)) }

// Used notes that a statement has succeeded. All that it may have done to the transaction is that it has taken the snapshot: not if
// it only locks, which is so if mayLockOnly, and LocksOnly has been noted.
func (t *Tx) Used(mayLockOnly bool) {
	t.unused, t.unread, t.locking = false, t.unread && t.locking && mayLockOnly, false
}

// Read notes that something has run that may have taken the transaction's snapshot.
func (t *Tx) Read() { t.unread = false }

// LocksOnly notes whether the current statement reads nothing but what it locks.
func (t *Tx) LocksOnly(yes bool) { t.locking = yes }

// ReadUnlessLocking notes that the statement has run. It may have taken the snapshot, unless it
// only locks.
func (t *Tx) ReadUnlessLocking() {
	if !t.locking {
		t.Read()
	}
	t.locking = false
}

// Unread reports whether the application's transaction has no snapshot yet.
func (t *Tx) Unread() bool { return t.unread && t.phase == TxBegun }

// BeginOwn notes that a transaction of slotsql's own has begun.
func (t *Tx) BeginOwn() {
	t.own = ownTxOpen
	t.rare.Set(TxNoted)
}

// TakeSnapshot notes that a transaction of slotsql's own may have a snapshot from now on.
func (t *Tx) TakeSnapshot() {
	if t.own == ownTxOpen {
		t.own = ownTxSnapshot
	}
}

// EndOwn notes the end of a transaction of slotsql's own.
func (t *Tx) EndOwn() { t.own = noOwnTx }

// Phase returns which transaction may be open.
func (t *Tx) Phase() TxPhase { return t.phase }

// None reports whether the session has no transaction, judging by all that it has run.
func (t *Tx) None() bool { return t.phase == TxNone }

// BySQL reports whether a statement may have begun a transaction that may still be open, which
// only the engine knows.
func (t *Tx) BySQL() bool { return t.phase == TxBySQL || t.phase == TxLeftOpen }

// Unused reports whether nothing has run in the open transaction.
func (t *Tx) Unused() bool { return t.unused && t.rare.Any(TxOpen) }

// Known returns what the engine has answered, if that still holds.
func (t *Tx) Known() (isOpen, ok bool) {
	return t.answer == open, t.answer == open || t.answer == closed
}

// LastKnownOpen reports whether a transaction was open when that was last known.
func (t *Tx) LastKnownOpen() bool { return t.answer == open || t.answer == staleOpen }

// Own reports whether a transaction of slotsql's own is open.
func (t *Tx) Own() bool { return t.own != noOwnTx }

// OwnWithoutSnapshot reports whether a transaction of slotsql's own is open that has no snapshot
// yet.
func (t *Tx) OwnWithoutSnapshot() bool { return t.own == ownTxOpen }

func (a txAnswer) stale() txAnswer {
	switch a {
	case open:
		return staleOpen
	case closed:
		return staleClosed
	}
	return a
}

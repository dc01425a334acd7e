package link

// Drain is how far the drain of a connection has come.
type Drain byte

// The states of a drain.
const (
	// NoDrain: no drain is in progress.
	NoDrain Drain = iota
	// DrainUnderWay: the statements of a drain run, or the application's own statement after them.
	DrainUnderWay
	// DrainGuarded: the same, and the transaction was still open after the last statement was
	// prepared; see guard.go.
	DrainGuarded
	// DrainHalfDone: a fold has failed between two of its statements. The transaction must not be
	// committed: it is rolled back, or the connection is not used again.
	DrainHalfDone
)

// Begin notes that the statements of a drain follow. It reports whether none was in progress.
func (d *Drain) Begin() bool {
	if *d != NoDrain {
		return false
	}
	*d = DrainUnderWay
	return true
}

// Guard notes that the drain's transaction was still open after a statement was prepared.
func (d *Drain) Guard() {
	if *d == DrainUnderWay {
		*d = DrainGuarded
	}
}

// Fail notes that a fold has failed between two of its statements, and what it has done is still
// there.
func (d *Drain) Fail() { *d = DrainHalfDone }

// Undo notes that what the drain has done is rolled back.
func (d *Drain) Undo() {
	if *d == DrainHalfDone {
		*d = DrainUnderWay
	}
}

// End notes the end of the drain, and of the statement after it. A drain that is half done stays
// so.
func (d *Drain) End() {
	if *d != DrainHalfDone {
		*d = NoDrain
	}
}

// UnderWay reports whether a drain is in progress, or the statement after it.
func (d Drain) UnderWay() bool { return d != NoDrain }

// HalfDone reports whether the transaction must not be committed.
func (d Drain) HalfDone() bool { return d == DrainHalfDone }

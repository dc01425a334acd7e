package link

// Drain is how far the drain of a connection has come, if one is under way.
type Drain byte

// The states of a drain.
const (
	// NoDrain: none is under way.
	NoDrain Drain = iota
	// DrainUnderWay: the statements of a drain run, or the application's own one that
	// follows them.
	DrainUnderWay
	// DrainGuarded: so they do, and the transaction was there after the last
	// preparation, see guard.go.
	DrainGuarded
	// DrainHalfDone: a fold has failed between two of its statements. The transaction
	// must not be committed; it is undone, or the connection is not used again.
	DrainHalfDone
)

// Begin notes that the statements of a drain follow. It reports whether none was under
// way.
func (d *Drain) Begin() bool {
	if *d != NoDrain {
		return false
	}
	*d = DrainUnderWay
	return true
}

// Guard notes that the drain's transaction was there after a preparation.
func (d *Drain) Guard() {
	if *d == DrainUnderWay {
		*d = DrainGuarded
	}
}

// Fail notes that a fold has failed between two of its statements, and that what it has
// done is still there.
func (d *Drain) Fail() { *d = DrainHalfDone }

// Undo notes that what the drain has done is rolled back.
func (d *Drain) Undo() {
	if *d == DrainHalfDone {
		*d = DrainUnderWay
	}
}

// End notes that the drain is over, and so is the statement that follows it. One that is
// half done stays so.
func (d *Drain) End() {
	if *d != DrainHalfDone {
		*d = NoDrain
	}
}

// UnderWay reports whether the connection runs the statements of a drain, or the one
// that follows them.
func (d Drain) UnderWay() bool { return d != NoDrain }

// HalfDone reports whether the transaction must not be committed.
func (d Drain) HalfDone() bool { return d == DrainHalfDone }

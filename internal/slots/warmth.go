package slots

import (
	"math/rand/v2"
	"time"
)

// warmth is what is known about one row. Its increments are updates of the base row until they have waited enough, all together, for
// transactions that hold it, less what is forgiven: meetings by chance are of no account, but one row with slots
// makes each read of its table dearer. Then the row is hot, unless slots do not pay for its table. Of transactions of this process it is
// known how long they hold the row. An update that took long may have waited for those of others, or for a disk that is slow to sync. So
// what slow updates took is a suspicion, until an increment has asked, before it comes to the row, whether another session holds it just
// now: the answer is true of what it is suspected of, or of nothing. An increment that failed because of a lock or a conflict makes the
// row hot in any case.
//
// The row stays hot for a period, which begins again while its increments would wait as long. The next increment then tries the base row,
// while others still go to slots; if it waits, the row is hot for a longer period. Periods vary, so that the processes of a fleet do not
// try, and wait for one another, all at once.
type warmth struct {
	payoff  *payoff       // of the table
	holders int           // transactions that have counted it and are still open
	held    time.Time     // since when the one that has the row, if they wait for one another, has had it
	waited  time.Duration // how long increments have waited for it, less what has been forgiven
	forgave time.Time     // when that was last done
	until   time.Time     // it is hot
	refused int32         // refusals of its payoff when it became hot: it is cold after another one
	slotted bool          // it has been hot, and nothing has folded its slots for that reason
	period  time.Duration // that it was last hot for, at most
	tried   bool          // an increment has tried the base row since
	suspect time.Duration // what slow updates have taken since the last answer
	since   time.Time     // the last of them has ended
}

const (
	shortestPeriod = 2 * time.Second
	longestPeriod  = 6 * time.Second // and two looks later the table sleeps, see rollup.FoldCooled
	enoughWait     = 100 * time.Millisecond
	// forgiven is the part of the time that passes by which what increments have waited is lessened: as long as fewer than so many
	// callers wait on average, it does not grow.
	forgiven = 4
	// tryTime is how long the others wait for what an increment that tries the base row finds.
	tryTime = time.Second
	// suspectFor is how long a slow update is remembered.
	suspectFor = time.Second
)

func (w *warmth) hot(now time.Time) bool {
	return now.Before(w.until) && w.refused == w.payoff.refusals.Load()
}

// cooled reports, once, whether the row has been cold again for a while, or for good. Its slots are left alone until then: other
// processes may still need them, and whoever folds them keeps all increments waiting.
func (w *warmth) cooled(now time.Time) bool {
	if !w.slotted || w.hot(now) || now.Sub(w.until) < shortestPeriod && w.refused == w.payoff.refusals.Load() {
		return false
	}
	w.slotted = false
	return true
}

// come notes that an increment has come to the row, and returns the row's standing. If transactions hold the row, the increment waits
// for each of them, or would without slots: about as long as the one whose turn it is has had the row by now.
func (w *warmth) come(now time.Time) (st Standing) {
	w.payoff.note(now)
	w.waited = max(0, w.waited-now.Sub(w.forgave)/forgiven)
	w.forgave = now
	if w.holders > 0 {
		w.wait(time.Duration(w.holders) * now.Sub(w.held))
	}
	st.Became = w.waited >= enoughWait && (w.hot(now) || w.payoff.allows(now)) && w.heat(now)
	st.Hot = w.hot(now)
	st.Left = w.slotted && !st.Hot
	if st.Left && !w.tried && w.hotJustBefore(now) {
		w.tried, w.until = true, now.Add(tryTime)
	}
	return st
}

// hotJustBefore reports whether the row is cold since a moment ago.
func (w *warmth) hotJustBefore(now time.Time) bool {
	return now.Sub(w.until) <= 2*w.period && w.refused == w.payoff.refusals.Load()
}

func (w *warmth) wait(d time.Duration) { w.waited = min(w.waited+d, 2*enoughWait) }

func (w *warmth) hold(now time.Time) {
	if w.holders++; w.holders == 1 {
		w.held = now
	}
}

// release notes that a transaction which held the row has ended, and reports whether there is nothing to remember.
func (w *warmth) release(now time.Time) bool {
	w.holders--
	w.held = now
	return w.forgettable(now)
}

// forgettable reports whether there is nothing to remember.
func (w *warmth) forgettable(now time.Time) bool {
	return w.holders == 0 && w.until.IsZero() && now.Sub(w.since) > suspectFor && w.waited <= now.Sub(w.forgave)/forgiven
}

// slow notes that an update of the row, begun at a given time, took long, and reports whether the row became hot by that: if it was hot
// just before.
func (w *warmth) slow(took time.Duration, began, now time.Time) (became bool) {
	if w.hotJustBefore(began) {
		return w.payoff.allows(now) && w.heat(now)
	}
	w.suspect, w.since = w.suspect+took, now
	return false
}

// doubtful reports whether it is to be asked who holds the row.
func (w *warmth) doubtful(now time.Time) bool {
	return w.suspect > 0 && now.Sub(w.since) <= suspectFor && !w.hot(now) && w.payoff.open(now)
}

// answer notes whether another session was found to hold the row.
func (w *warmth) answer(held bool) {
	if held {
		w.wait(w.suspect)
	}
	w.suspect = 0
}

// heat makes the row hot, or keeps it hot.
func (w *warmth) heat(now time.Time) (became bool) {
	switch {
	case w.hot(now) && !w.tried:
	case w.period == 0 || now.Sub(w.until) > 2*w.period:
		w.period, became = shortestPeriod, true
	default: // the try on the base row has waited again
		w.period, became = min(2*w.period, longestPeriod), true
	}
	if became {
		w.payoff.queues()
	}
	w.payoff.stay(now)
	w.until, w.refused, w.slotted, w.tried = now.Add(w.period/2+rand.N(w.period/2)), w.payoff.refusals.Load(), true, false
	return became
}

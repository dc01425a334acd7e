package slots

import "time"

// warmth is what is known about one row. Its increments are updates of the base row until they have waited enough, all together, for
// transactions of this process that hold it, less what is forgiven: meetings by chance are of no account, but one row with slots
// makes each read of its table dearer. Or until two updates of it in succession took much longer than such updates take: another
// process counts it. A single slow update proves nothing: a disk that is slow to sync delays the updates of all rows. Then the row is
// hot, unless slots do not pay for its table. An increment that failed because of a lock or a conflict makes it hot in any case.
//
// The row stays hot for a period, which begins again while its increments would wait as long. The next increment is then one on
// the base row; if that waits again, the row is hot for a longer period.
type warmth struct {
	payoff  *payoff       // of the table
	holders int           // transactions that have counted it and are still open
	held    time.Time     // since when the one that has the row, if they wait for one another, has had it
	waited  time.Duration // how long increments have waited for it, less what has been forgiven
	forgave time.Time     // when that was last done
	until   time.Time     // it is hot
	refused int32         // refusals of its payoff when it became hot: it is cold after another one
	slotted bool          // it has been hot, and nothing has folded its slots for that reason
	period  time.Duration // that it was last hot for
	slow    time.Time     // the last update of it that took long has ended
}

const (
	shortestPeriod = 2 * time.Second
	longestPeriod  = 6 * time.Second // and two looks later the table sleeps, see rollup.FoldCooled
	enoughWait     = 100 * time.Millisecond
	// forgiven is the part of the time that passes by which what increments have waited is lessened: as long as fewer than so many
	// callers wait on average, it does not grow.
	forgiven = 4
)

func (w *warmth) hot(now time.Time) bool {
	return now.Before(w.until) && w.refused == w.payoff.refusals.Load()
}

// come notes that an increment has come to the row, and returns the row's standing. If transactions hold the row, the increment waits
// for each of them, or would without slots: about as long as the one whose turn it is has had the row by now.
func (w *warmth) come(now time.Time) (st Standing) {
	w.payoff.note(now)
	w.waited = max(0, w.waited-now.Sub(w.forgave)/forgiven)
	w.forgave = now
	if w.holders > 0 {
		w.waited = min(w.waited+time.Duration(w.holders)*now.Sub(w.held), 2*enoughWait)
		st.Became = w.waited >= enoughWait && (w.hot(now) || w.payoff.allows(now)) && w.heat(now)
	}
	st.Hot = w.hot(now)
	st.Left = w.slotted && !st.Hot
	return st
}

func (w *warmth) hold(now time.Time) {
	if w.holders++; w.holders == 1 {
		w.held = now
	}
}

// release notes that a transaction which held the row has ended, and reports whether there is nothing to remember.
func (w *warmth) release(now time.Time) bool {
	w.holders--
	w.held = now
	return w.holders == 0 && w.until.IsZero() && w.slow.IsZero() && w.waited <= now.Sub(w.forgave)/forgiven
}

// slowed notes that an update of the row, begun at a given time, has ended and took long, and reports whether the row became hot by
// that. One cause may have delayed all updates that were in flight at the time. So only an update that began after
// another slow one, or the first one after a hot period, makes the row hot.
func (w *warmth) slowed(began, now time.Time) (became bool) {
	again := !w.until.IsZero() && began.Sub(w.until) <= 2*w.period
	confirms := !w.slow.IsZero() && !began.Before(w.slow) && began.Sub(w.slow) <= slowWindow
	if again || confirms {
		return w.payoff.allows(now) && w.heat(now)
	}
	w.slow = now
	return false
}

// heat makes the row hot, or keeps it hot.
func (w *warmth) heat(now time.Time) (became bool) {
	switch {
	case w.hot(now):
	case w.period == 0 || now.Sub(w.until) > 2*w.period:
		w.period, became = shortestPeriod, true
	default: // the first try on the base row has waited again
		w.period, became = min(2*w.period, longestPeriod), true
	}
	w.until, w.refused, w.slotted = now.Add(w.period), w.payoff.refusals.Load(), true
	return became
}

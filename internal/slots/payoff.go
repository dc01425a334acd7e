package slots

import (
	"sync"
	"sync/atomic"
	"time"
)

// A payoff finds out whether slots pay for a table. Where the CPU of the database is what is short, a caller that waits costs less than
// what slots cost the reads of the table. So when a row queues, the increments of the table are counted for a moment, as those around
// them are in proportion. Then rows that queue have slots, and the increments are counted again. Slots are kept if more get
// done, until the table has had no row that queues for a while. Otherwise they are refused for a pause, twice as long each time.
type payoff struct {
	counting *atomic.Int32 // how many payoffs of all tables are in the states isCounted and isTried
	queues   func()        // Heat.Queues
	mu       sync.Mutex
	state    payoffState
	until    time.Time     // isKept or isRefused ends
	wanted   time.Time     // a row last queued
	pause    time.Duration // that slots were last refused for
	refusals atomic.Int32  // how often
	counted  throughput
	before   float64 // increments a second; 0: too few to compare with
	windows  int     // that have been counted in the state
	last     Trial
}

// Trial is the result of the last trial of slots.
type Trial struct {
	At           time.Time // when it ended; zero: there was none
	Kept         bool      // whether slots are kept since then
	Before, With float64   // increments of the table a second, on base rows and with slots; 0: too few to count
}

type payoffState uint8

const (
	isIdle payoffState = iota
	isCounted
	isTried
	isKept
	isRefused
)

const (
	shortestPause = 10 * time.Second
	longestPause  = 5 * time.Minute
	// A program that has just begun gets more done from one window to the next: what counts is a window that is not that much better
	// than the one before it, at the latest the last one.
	risesBy     = 1.2
	mostWindows = 5
	// keptAt is how many increments must get done with slots for each one before. Rows are found to queue when throughput is low, so a
	// small gain proves nothing. With paysAt of them no second look is needed.
	keptAt = 1.15
	paysAt = 1.5
)

// allows reports whether a row that queues may be hot.
func (p *payoff) allows(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = now
	if (p.state == isKept || p.state == isRefused) && now.After(p.until) {
		p.state = isIdle
	}
	switch p.state {
	case isIdle:
		p.queues()
		p.before, p.windows = 0, 0
		p.count(isCounted, now)
	case isTried:
		return true
	case isKept:
		p.keep(now)
		return true
	}
	return false
}

// open reports whether allows may become true, if it is not: slots are not refused.
func (p *payoff) open(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.refuses(now)
}

// refuses reports whether slots are refused at the moment. The lock is held.
func (p *payoff) refuses(now time.Time) bool { return p.state == isRefused && !now.After(p.until) }

// follow reports whether a row whose slots another process has made may be hot. Slots are kept from then on, even if they are refused
// at the moment: reads pay for those of others anyway, and an increment on the base row would keep all others waiting. Own reports that
// the row has been hot here, and nothing has folded its slots since: they may be this process's, and so may any just after a trial.
func (p *payoff) follow(now time.Time, own bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.refuses(now) {
		return true
	}
	if own || now.Sub(p.last.At) < shortestPeriod {
		return false
	}
	p.keep(now)
	return true
}

// note notes an increment of the table.
func (p *payoff) note(now time.Time) {
	if p.counting.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != isCounted && p.state != isTried || !p.counted.note(now) {
		return
	}
	rate := p.counted.rate()
	switch others := p.counting.Add(-1); {
	case now.Sub(p.wanted) > 2*shortestPeriod: // the queue has gone
		p.state = isIdle
	case p.state == isCounted:
		rises := rate > risesBy*p.before
		if p.windows++; p.windows < mostWindows && rate > 0 && (p.windows == 1 || rises) {
			p.before = rate
			p.count(isCounted, now)
			break
		}
		if !rises {
			rate = (p.before + rate) / 2
		}
		p.before, p.windows = rate, 0
		p.count(isTried, now.Add(trialTime/2)) // as rows get their slots
	case p.windows == 0 && rate < paysAt*p.before, p.windows < mostWindows && others > 0 && rate < keptAt*p.before:
		// Callers that have queued for the base row may still wait for it, and so do those that make the first slots. Callers that queue
		// for rows of several tables, one after another, gain little before all of these have slots.
		p.windows++
		p.count(isTried, now)
	case rate >= keptAt*p.before:
		p.last = Trial{now, true, p.before, rate}
		p.pause = 0
		p.keep(now)
	default:
		p.last = Trial{now, false, p.before, rate}
		p.pause = min(max(shortestPause, 2*p.pause), longestPause)
		p.state, p.until = isRefused, now.Add(p.pause)
		p.refusals.Add(1)
	}
}

func (p *payoff) count(state payoffState, from time.Time) {
	p.state, p.counted = state, throughput{from: from}
	p.counting.Add(1)
}

// trial returns the last trial.
func (p *payoff) trial() Trial {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// stay keeps slots for longer that are kept: a row that is hot would still queue.
func (p *payoff) stay(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == isKept {
		p.keep(now)
	}
}

func (p *payoff) keep(now time.Time) { p.state, p.until = isKept, now.Add(2*longestPeriod) }

// trialTime is how long increments are counted, before slots are tried and then again.
const trialTime = 200 * time.Millisecond

// throughput counts increments. It leaves out idle time: while rows queue, increments keep arriving.
type throughput struct {
	from, last time.Time
	n          int
	took       time.Duration
}

const (
	rateCount = 64 // so many increments tell it
	rateFew   = 16 // so few do not
	rateLimit = 3  // times trialTime is enough, however many they were
	ratePause = 50 * time.Millisecond
)

// note notes an increment, and reports whether that was the last one.
func (t *throughput) note(now time.Time) bool {
	if now.Before(t.from) {
		return false
	}
	if t.n > 0 {
		t.took += min(now.Sub(t.last), ratePause)
	}
	t.n++
	t.last = now
	return t.took >= trialTime && t.n >= rateCount || now.Sub(t.from) >= rateLimit*trialTime
}

// rate returns the increments a second; 0 if there were few.
func (t *throughput) rate() float64 {
	if t.n < rateFew || t.took == 0 {
		return 0
	}
	return float64(t.n) / t.took.Seconds()
}

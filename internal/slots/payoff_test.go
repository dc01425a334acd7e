package slots

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Slots that are kept are not tried anew when a row that has been hot for long comes back after a pause.
func TestKeptWhileHot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, row := NewHeat(), RowKey{Table: "posts", Values: "1"}
		p := h.payoffOf(row.Table)
		p.keep(time.Now())
		h.Hold(row)
		for range 200 {
			time.Sleep(enoughWait)
			h.Hold(row)
			h.Release(row)
		}
		if time.Sleep(longestPeriod); !p.allows(time.Now()) {
			t.Error("slots are tried anew")
		}
	})
}

// Slots are kept where more gets done with them, and where so little does that it cannot be counted.
func TestPayoff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		before, with time.Duration // between two increments of the table
		kept         bool
	}{
		{"slots pay", 3 * time.Millisecond, time.Millisecond, true},
		{"as much", 3 * time.Millisecond, 3 * time.Millisecond, false},
		{"less", 3 * time.Millisecond, 5 * time.Millisecond, false},
		{"transactions of a second", time.Second, 2 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, row, other := NewHeat(), RowKey{Table: "posts", Values: "1"}, RowKey{Table: "posts", Values: "2"}
				holds := 4
				for range holds {
					h.Hold(row)
				}
				// run has increments come, at the pace of slots if the row is hot, and returns after how long it was hot or no longer.
				run := func(until bool, patience time.Duration) time.Duration {
					t.Helper()
					start, hot := time.Now(), !until
					for hot != until {
						pace := c.before
						if hot {
							pace = c.with
						}
						time.Sleep(pace)
						h.Look(other) // an uncontended row of the same table
						hot = h.Hold(row).Hot
						if h.Release(row); time.Since(start) > patience {
							return patience
						}
					}
					return time.Since(start)
				}
				if took := run(true, 5*time.Second); took >= 5*time.Second || took < trialTime {
					t.Fatalf("tried after %v", took)
				}
				stayed := run(false, 20*time.Second)
				if kept := stayed >= 20*time.Second; kept != c.kept {
					t.Fatalf("kept: %v, want %v; for %v", kept, c.kept, stayed)
				} else if kept {
					return
				}
				if !h.Cooled(row) {
					t.Error("the slots of the trial are left behind")
				}
				if hot, _ := h.NoteSlots(row); hot {
					t.Error("slots that a trial has left keep their row hot")
				}
				first := run(true, time.Minute)
				run(false, time.Minute)
				if second := run(true, time.Minute); first < shortestPause || second < 2*shortestPause {
					t.Errorf("tried again after %v, and then %v", first, second)
				}
				h.NoteWait(row)
				if !h.Look(row).Hot {
					t.Error("an increment that has failed does not make the row hot")
				}
			})
		})
	}
}

// What a program that has just begun gets done is not what slots are compared with.
func TestPayoffOfBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewHeat().payoffOf("posts")
		step, warm := 10*time.Millisecond, time.Now().Add(500*time.Millisecond)
		for range 5_000 {
			tries := p.allows(time.Now())
			switch {
			case tries:
				step = 4 * time.Millisecond // worse than what it gets done when it is warm
			case time.Now().After(warm):
				step = 2 * time.Millisecond
			}
			time.Sleep(step)
			if p.note(time.Now()); p.state == isRefused {
				return
			}
		}
		t.Error("slots are kept")
	})
}

// What gets done while rows get their first slots is not what counts.
func TestPayoffOfFirstSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewHeat().payoffOf("posts")
		var tried time.Time
		for range 5_000 {
			step := 3 * time.Millisecond
			if now := time.Now(); p.allows(now) {
				if tried.IsZero() {
					tried = now
				}
				if step = time.Millisecond; now.Sub(tried) < 3*trialTime/2 {
					step = 5 * time.Millisecond
				}
			}
			time.Sleep(step)
			switch p.note(time.Now()); p.state {
			case isKept:
				return
			case isRefused:
				t.Fatal("slots are refused")
			}
		}
		t.Error("slots are never kept")
	})
}

// No question is asked about rows whose table gains nothing from slots.
func TestNoQuestionWhereRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, row := NewHeat(), RowKey{Table: "posts", Values: "1"}
		p := h.payoffOf(row.Table)
		p.state, p.until = isRefused, time.Now().Add(time.Minute)
		began := time.Now()
		time.Sleep(time.Second)
		if h.NoteDuration(row, began); h.Look(row).Ask {
			t.Error("a question while slots are refused")
		}
		time.Sleep(time.Minute)
		began = time.Now()
		time.Sleep(time.Second)
		if h.NoteDuration(row, began); !h.Look(row).Ask {
			t.Error("no question when they are no longer refused")
		}
	})
}

// Callers that queue for rows of two tables, one after another, gain nothing until both have slots: neither trial has failed before.
func TestPayoffOfSeveralTables(t *testing.T) {
	t.Parallel()
	for _, tables := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			h := NewHeat()
			payoffs := []*payoff{h.payoffOf("posts"), h.payoffOf("users")}[:tables]
			tried := func() bool {
				return !slices.ContainsFunc(payoffs, func(p *payoff) bool { return p.state != isTried && p.state != isRefused })
			}
			count := func(pace time.Duration) {
				time.Sleep(pace)
				for _, p := range payoffs {
					p.allows(time.Now())
					p.note(time.Now())
				}
			}
			for !tried() {
				count(3 * time.Millisecond)
			}
			for began := time.Now(); time.Since(began) < 4*trialTime; {
				count(3 * time.Millisecond)
			}
			for began := time.Now(); time.Since(began) < 2*rateLimit*trialTime; {
				count(time.Millisecond)
			}
			for _, p := range payoffs {
				if got := p.trial(); got.Kept != (tables > 1) {
					t.Errorf("%d tables: %v", tables, got)
				}
			}
		})
	}
}

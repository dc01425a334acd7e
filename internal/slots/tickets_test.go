package slots

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// clockOf sets the clock of tickets.
func clockOf(t *Tickets) *time.Time {
	now := time.Now()
	t.now = func() time.Time { return now }
	return &now
}

// Blocks grow with what is drawn, up to the most that is allowed, and begin anew after a pause.
func TestTicketsGrow(t *testing.T) {
	tickets := NewTickets(time.Second)
	now := clockOf(tickets)
	roll := tickets.Of("a")
	var sizes []int64
	top := int64(0)
	draw := func() {
		if _, ok, _ := roll.Draw(10, false); ok {
			return
		}
		l, _ := roll.Lead(10)
		sizes = append(sizes, l.Size)
		top += l.Size
		l.Complete("", top)
	}
	for range 40 {
		draw()
	}
	*now = now.Add(1100 * time.Millisecond)
	draw()
	want := []int64{1, 2, 4, 8, 10, 10, 10, 1}
	if len(sizes) != len(want) {
		t.Fatalf("blocks of %v, want %v", sizes, want)
	}
	for i := range want {
		if sizes[i] != want[i] {
			t.Errorf("blocks of %v, want %v", sizes, want)
		}
	}
}

// Nothing is drawn from a block whose time is over by either clock, nor from one that a
// later lease shows to be of numbers that the base row is to pass again.
func TestTicketsEnd(t *testing.T) {
	for name, pass := range map[string]func(roll *Roll, now *time.Time){
		"time":     func(_ *Roll, now *time.Time) { *now = now.Add(time.Second) },
		"wall":     func(_ *Roll, now *time.Time) { *now = now.Round(0).Add(time.Second) },
		"set back": func(_ *Roll, now *time.Time) { *now = now.Round(0).Add(-time.Second) },
		"set lower": func(roll *Roll, _ *time.Time) {
			roll.mu.Lock()
			l := roll.lease(10)
			roll.mu.Unlock()
			l.CompleteAhead("new", 12)
			if n, ok, _ := roll.Draw(10, false); !ok || n.Answer != "new" {
				t.Errorf("drew %v of %v", ok, n)
			}
			roll.blocks = nil
		},
	} {
		tickets := NewTickets(time.Second)
		now := clockOf(tickets)
		roll := tickets.Of("a")
		roll.drawn, roll.last = 5, *now
		l, _ := roll.Lead(10)
		l.Complete("old", 1000)
		if n, ok, _ := roll.Draw(10, false); !ok || n.Behind != 8 {
			t.Errorf("%s: drew %v, %v", name, n, ok)
		}
		pass(roll, now)
		if n, ok, _ := roll.Draw(10, false); ok {
			t.Errorf("%s: drew %v of %v", name, n.Behind, n.Answer)
		}
	}
}

// While a lease is under way others wait for its end, and after one that has failed none is
// made for a while.
func TestTicketsLead(t *testing.T) {
	tickets := NewTickets(time.Second)
	now := clockOf(tickets)
	roll := tickets.Of("a")
	l, _ := roll.Lead(10)
	if again, ended := roll.Lead(10); again != nil || ended == nil {
		t.Error("two leases at once")
	}
	l.Fail(true)
	if l, ended := roll.Lead(10); l != nil || ended != nil {
		t.Error("a lease right after one that has failed")
	}
	*now = now.Add(rollRest)
	if l, _ = roll.Lead(10); l == nil || l.Size != 1 {
		t.Error("no lease after a rest, or more than a single number")
	}
}

// Callers that lease, draw and give up at random never share a number, and none waits for ever.
func TestTicketsTogether(t *testing.T) {
	tickets := NewTickets(20 * time.Millisecond)
	var mu sync.Mutex
	top, seen := int64(0), map[int64]bool{}
	database := func(size int64) int64 {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		mu.Lock()
		defer mu.Unlock()
		top += size
		return top
	}
	took := func(n Ticket) {
		mu.Lock()
		defer mu.Unlock()
		x := n.Answer.(int64) - n.Behind
		if seen[x] || x < 1 || x > top {
			t.Errorf("%d was drawn before, or is above %d", x, top)
		}
		seen[x] = true
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				roll := tickets.Of("a")
				for {
					n, ok, ahead := roll.Draw(50, true)
					if ahead != nil {
						wg.Go(func() {
							hi := database(ahead.Size)
							ahead.CompleteAhead(hi, hi)
						})
					}
					if ok {
						took(n)
						break
					}
					l, ended := roll.Lead(50)
					if l == nil && ended == nil {
						break
					} else if l == nil {
						roll.Wait(t.Context(), ended, nil)
						continue
					}
					if rand.IntN(20) == 0 {
						l.Fail(false)
						continue
					}
					hi := database(l.Size)
					took(l.Complete(hi, hi))
					break
				}
			}
		})
	}
	wg.Wait()
	if len(seen) < 2000 {
		t.Errorf("only %d numbers", len(seen))
	}
}

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A ledger holds what clients were promised, and what they do not know.
type ledger struct {
	mu      sync.Mutex
	counts  [5]account // by counter
	pending map[[2]int]event
	tickets map[int64]bool
	errs    map[string]int
	wrong   []string
}

// An account is that of a counter, in units of its amounts.
type account struct {
	acked, doubt int64
	answers      int   // that clients had
	doubts       int   // that they did not have
	least        int64 // amount that was refused, 0 for none
}

func newLedger() *ledger {
	return &ledger{pending: map[[2]int]event{}, tickets: map[int64]bool{}, errs: map[string]int{}}
}

// note returns what notes the events of a process.
func (l *ledger) note(process int) func(event) {
	return func(e event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.What == drawn {
			if l.tickets[e.N] {
				l.wrong = append(l.wrong, fmt.Sprintf("ticket %d was drawn twice", e.N))
			}
			l.tickets[e.N] = true
			return
		}
		who := [2]int{process, e.Client}
		delete(l.pending, who)
		if e.Err != "" {
			l.errs[e.What+": "+e.Err]++
		}
		a := &l.counts[e.Counter]
		switch e.What {
		case begun:
			l.pending[who] = e
		case acked:
			a.acked += e.N
			a.answers++
		case refused:
			if a.least == 0 || e.N < a.least {
				a.least = e.N
			}
			a.answers++
		case doubtful:
			a.doubt += e.N
			a.doubts++
		case wrong:
			l.wrong = append(l.wrong, fmt.Sprintf("%s: %s", counters[e.Counter].change, e.Err))
		}
	}
}

// killed leaves in doubt what the clients of a process have not heard of.
func (l *ledger) killed(process int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for who, e := range l.pending {
		if who[0] == process {
			l.counts[e.Counter].doubt += e.N
			l.counts[e.Counter].doubts++
			delete(l.pending, who)
		}
	}
}

// now is the ledger's content at a moment.
func (l *ledger) now() [5]account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

func (l *ledger) complain(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// errors describes the errors that clients have met, the most frequent first.
func (l *ledger) errors() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts := slices.SortedFunc(maps.Keys(l.errs), func(a, b string) int { return l.errs[b] - l.errs[a] })
	var b strings.Builder
	for _, text := range texts[:min(len(texts), 12)] {
		fmt.Fprintf(&b, "\n    %d x %s", l.errs[text], text)
	}
	return b.String()
}

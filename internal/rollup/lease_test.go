package rollup

import (
	"testing"
	"time"
)

func TestLease(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const length = 30 * time.Second
	ask := func(l *lease) { l.ask() }
	take := func(l *lease) { l.take(begin.Add(length)) }
	refuse := func(l *lease) { l.refuse() }
	doubt := func(l *lease) { l.doubt() }
	giveBack := func(l *lease) { l.giveBack() }
	for name, c := range map[string]struct {
		events []func(*lease)
		want   leaseState
	}{
		"never asked":                     {nil, leaseNone},
		"never asked, connection ended":   {[]func(*lease){doubt}, leaseNone},
		"no answer":                       {[]func(*lease){ask}, leaseInDoubt},
		"no answer, connection ended":     {[]func(*lease){ask, doubt}, leaseInDoubt},
		"given":                           {[]func(*lease){ask, take}, leaseHeld},
		"refused":                         {[]func(*lease){ask, refuse}, leaseNone},
		"fenced":                          {[]func(*lease){ask, take, doubt}, leaseInDoubt},
		"no answer to the extension":      {[]func(*lease){ask, take, ask}, leaseInDoubt},
		"extension refused":               {[]func(*lease){ask, take, ask, refuse}, leaseNone},
		"given back":                      {[]func(*lease){ask, take, giveBack}, leaseNone},
		"given back after the connection": {[]func(*lease){ask, take, doubt, giveBack}, leaseNone},
	} {
		var l lease
		for _, e := range c.events {
			e(&l)
		}
		if l.state != c.want {
			t.Errorf("%s: %d, want %d", name, l.state, c.want)
		}
		if got := l.mayBeHeld(); got != (c.want != leaseNone) {
			t.Errorf("%s: may be held: %v", name, got)
		}
		// An answer that is not certain any more never saves a question.
		if got := l.due(begin, length); got != (c.want != leaseHeld) {
			t.Errorf("%s: due at once: %v", name, got)
		}
		if !l.due(begin.Add(length/3), length) {
			t.Errorf("%s: not due after a third of its time", name)
		}
	}
}

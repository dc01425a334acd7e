package dialecttest

import (
	"testing"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// leases holds that one holder at a time has a lease, until it is released or runs out,
// and that a fence keeps it until the transaction ends.
func (o Options) leases(t *testing.T) {
	all := o.sessions(t, 2)
	s, other := all[0], all[1]
	l, ok := s.Dialect.(dialect.Leaser)
	if !ok {
		if !s.Traits().OneWriter {
			t.Error("dialect.Leaser is missing, and processes share a server")
		}
		return
	}
	s.run("BEGIN")
	s.run(l.CreateLeases()...)
	s.run("COMMIT")
	s.leased()
	s.lease("work", "a", 60, true)
	other.lease("work", "b", 60, false)
	other.lease("rest", "b", 60, true)
	s.lease("work", "a", 60, true) // extends it
	other.leased("work", "rest")

	s.passes()
	other.leased("work", "rest")

	f, ok := s.Dialect.(dialect.Fencer)
	if !ok {
		return
	}
	release := func(holder string) {
		t.Helper()
		if err := f.Release(t.Context(), s, "work", holder); err != nil {
			t.Error(err)
		}
	}
	release("b")
	other.lease("work", "b", 60, false)
	for holder, want := range map[string]bool{"a": true, "b": false} {
		s.run("BEGIN")
		if got, err := f.Fence(t.Context(), s, "work", holder); got != want || err != nil {
			t.Errorf("the fence of holder %s: %v, %v", holder, got, err)
		}
		s.run("ROLLBACK")
	}
	release("a")
	other.leased("rest")
	other.lease("work", "b", 60, true)
	other.lease("work", "b", 0, true)
	s.expires("work", "a")
}

// lease holds whether a holder gets a lease.
func (s *session) lease(name, holder string, seconds int, want bool) {
	s.Helper()
	if got, err := s.Dialect.(dialect.Leaser).Lease(s.Context(), s, name, holder, seconds); got != want || err != nil {
		s.Errorf("%s takes lease %s: %v, %v", holder, name, got, err)
	}
}

// passes holds that what is noted of passes comes back, the latest of each name.
func (s *session) passes() {
	s.Helper()
	p, ok := s.Dialect.(dialect.PassNoter)
	if !ok {
		return
	}
	one, two := dialect.PassPrefix+"1", dialect.PassPrefix+"2"
	for _, begun := range []map[string]time.Duration{{one: time.Hour}, {one: 0, two: 100 * time.Hour}, {one: 10 * time.Hour}} {
		if err := p.NotePasses(s.Context(), s, begun); err != nil {
			s.Error(err)
		}
	}
	if err := p.NotePasses(s.Context(), s, map[string]time.Duration{dialect.PassPrefix + "3": 0, dialect.PassPrefix + "4": 0}); err != nil {
		s.Error(err)
	}
	old := []string{dialect.PassPrefix + "3", dialect.PassPrefix + "4", dialect.PassPrefix + "5"}
	if err := dialect.ForgetPasses(s.Context(), s, old); err != nil {
		s.Error(err)
	}
	got, err := p.Passes(s.Context(), s)
	within := func(d, of time.Duration) bool { return d >= of && d < of+time.Hour }
	if err != nil || len(got) != 2 || !within(got[one], 10*time.Hour) || !within(got[two], 100*time.Hour) {
		s.Errorf("passes: %v, %v", got, err)
	}
}

// leased holds which leases are held.
func (s *session) leased(want ...string) {
	s.Helper()
	held, err := s.Dialect.(dialect.Leaser).Leased(s.Context(), s)
	if err != nil || len(held) != len(want) {
		s.Errorf("leases held: %v, %v; want %q", held, err, want)
	}
	for _, name := range want {
		if !held[name] {
			s.Errorf("leases held: %v; want %q", held, want)
		}
	}
}

// expires waits for a lease that runs out, and takes it.
func (s *session) expires(name, holder string) {
	s.Helper()
	for end := time.Now().Add(time.Minute); ; {
		if got, err := s.Dialect.(dialect.Leaser).Lease(s.Context(), s, name, holder, 60); got || err != nil {
			if err != nil {
				s.Error(err)
			}
			return
		}
		if time.Now().After(end) {
			s.Fatal("a lease of 0 seconds does not run out")
		}
	}
}

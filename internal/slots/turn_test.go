package slots

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// At most two statements of a key are under way at a time, whichever sessions have the turn: an execution
// without a group, or leaders of one. None is forgotten, and in the end nothing is
// left of the key.
func TestTurns(t *testing.T) {
	const key = "UPDATE pages" // of its own hash: those of several may meet in one entry
	const clients, times = 8, 5000
	co := NewCoalescer()
	var underWay, counted atomic.Int64
	begin := func() {
		if n := underWay.Add(1); n > 2 {
			t.Errorf("%d statements at once", n)
		}
	}
	execute := func() {
		form := Form{SQL: key, Shares: []rewrite.Share{{Max: 1 << 40}}, Hash: Hash(key, nil, 0)}
		if turn, ok := co.Enter(form.Hash); ok {
			begin()
			counted.Add(1)
			underWay.Add(-1)
			turn.End()
			return
		}
		m := NewMember()
		m.Begin(1, 0)
		m.Adds[0] = 1
		b := co.Join(form, nil, m)
		for b == nil {
			v := m.Wait(t.Context())
			if v.Outcome == OutcomeCounted {
				return
			}
			b = m.Group.Take(m)
		}
		begin()
		counted.Add(int64(len(b.Members)))
		underWay.Add(-1)
		m.Turn().End()
		for _, other := range b.Members[1:] {
			other.Tell(Verdict{Outcome: OutcomeCounted})
		}
	}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range times {
				execute()
			}
		})
	}
	wg.Wait()
	if total := counted.Load(); total != clients*times {
		t.Errorf("%d executions have run, want %d", total, clients*times)
	}
	for i := range co.shards {
		co.shards[i].sweep()
		for j := range co.shards[i].turns {
			if e := &co.shards[i].turns[j]; e.hash.Load() != 0 || e.group != nil {
				t.Errorf("shard %d has kept a turn that no execution has", i)
			}
		}
	}
}

// Two statements of a key on a base row may be in flight while groups are small. Behind a large one there is one at a time.
func TestTwoInFlight(t *testing.T) {
	co := NewCoalescer()
	join := func() (*Member, *Batch) {
		form := Form{SQL: "UPDATE pages", Shares: []rewrite.Share{{Max: 1 << 40}}, Hash: Hash("UPDATE pages", nil, 0)}
		m := NewMember()
		m.Begin(1, 0)
		m.Adds[0] = 1
		return m, co.Join(form, nil, m)
	}
	var leaders []*Member
	for range 2 {
		m, b := join()
		if leaders = append(leaders, m); b == nil || len(b.Members) != 1 {
			t.Fatal("one of the first two waits")
		}
	}
	queued := []*Member{}
	for range 4 {
		m, b := join()
		if queued = append(queued, m); b != nil {
			t.Fatal("a third statement is in flight")
		}
	}
	leaders[0].Turn().End()
	lead := queued[0]
	for _, m := range queued {
		if m.state == stateLeading {
			lead = m
		}
	}
	if b := lead.Group.Take(lead); b == nil || len(b.Members) != 4 {
		t.Fatal("the queue does not share a statement")
	}
	leaders[1].Turn().End()
	if _, b := join(); b != nil {
		t.Error("a second statement is in flight beside a large group's")
	}
}

// A group of executions that need no turn looks at no turn: the ones that it would find are of keys of another shard,
// under another lock. (Only the race detector tells.)
func TestGroupWithoutTurn(t *testing.T) {
	co := NewCoalescer()
	const hash = 1 << 40
	if _, e := co.turn(hash); e != &co.shards[0].turns[0] {
		t.Fatal("the key has another turn than the first")
	}
	var wg sync.WaitGroup
	for g, hash := range []uint64{0, 0, 0, 0, hash} {
		wg.Go(func() {
			form := Form{SQL: "UPDATE pages", Shares: []rewrite.Share{{Max: 1 << 40}}, Hash: hash}
			for i := range 2000 {
				m := NewMember()
				m.Begin(1, 0)
				m.Adds[0] = 1
				if b := co.Join(form, []byte{byte(g), byte(i)}, m); b == nil {
					t.Error("an execution without others waits")
					return
				}
				m.Turn().End()
			}
		})
	}
	wg.Wait()
}

// To a distant server there are as many statements of a key in flight as its row takes one after another in a round trip.
func TestInFlightOverDistance(t *testing.T) {
	for _, c := range []struct {
		roundTrip, took time.Duration
		want            int
	}{
		{0, 400 * time.Microsecond, 2},
		{time.Millisecond, 1400 * time.Microsecond, 2},
		{10 * time.Millisecond, 0, 2}, // it is not known
		{10 * time.Millisecond, 10400 * time.Microsecond, 10},
		{10 * time.Millisecond, 15 * time.Millisecond, 2}, // commits are slow
		{time.Second, time.Second, maxLeaders},
	} {
		co := NewCoalescer()
		co.RoundTrip = func() time.Duration { return c.roundTrip }
		if c.took > 0 {
			co.NoteOnBase(time.Now().Add(-c.took))
		}
		n := 0
		for range 2 * maxLeaders {
			form := Form{SQL: "UPDATE pages", Shares: []rewrite.Share{{Max: 1 << 40}}, Hash: Hash("UPDATE pages", nil, 0)}
			m := NewMember()
			m.Begin(1, 0)
			m.Adds[0] = 1
			if co.Join(form, nil, m) != nil {
				n++
			}
		}
		if n != c.want {
			t.Errorf("round trip %v, statement %v: %d in flight, want %d", c.roundTrip, c.took, n, c.want)
		}
	}
}

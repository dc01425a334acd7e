package slots

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// One statement of a key is under way at a time, whichever session has the turn: an execution
// without a group, or a leader of one. None is forgotten, and in the end nothing is
// left of the key.
func TestTurns(t *testing.T) {
	const key = "UPDATE pages" // of its own hash: those of several may meet in one entry
	const clients, times = 8, 5000
	co := NewCoalescer()
	var underWay, counted atomic.Int64
	begin := func() {
		if n := underWay.Add(1); n != 1 {
			t.Errorf("%d statements at once", n)
		}
	}
	execute := func() {
		form := Form{SQL: key, Shares: []rewrite.Share{{Max: 1 << 40}}, Hash: co.Hash(key, nil, 0)}
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

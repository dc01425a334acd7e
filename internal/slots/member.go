package slots

import "context"

// A Member is one execution of an increment.
type Member struct {
	Adds    []int64 // by counter, in units of its last digit
	Demands []int64 // by guard, of the counter's value that it meets; of a group on the base row
	Firsts  []int64 // by counter, of an upsert: what a new row begins with; nil where that is what is added
	Free    []any   // arguments that members need not have in common: the last one's hold
	SQL     string  // its own statement, where members' may differ: the last one's holds
	Row     RowKey  // of a group of many
	Key     []int64 // the row's, with that
	Used    int     // how many shared statements its connection has run
	Group   *Group
	Context context.Context // its caller's, where groups are traced; else nil
	state   memberState
	batch   *Batch
	verdict Verdict
	told    chan struct{} // of capacity 1, so that Tell does not wait. (A chan Verdict would take two allocations.)
	room    [4]int64      // for the numbers of most members
}

// NewMember returns a member for an execution.
func NewMember() *Member { return &Member{told: make(chan struct{}, 1)} }

// Begin makes it a member that adds so many numbers, with room for further ones. It may be reused
// once it has received its last verdict: nothing refers to it any more.
func (m *Member) Begin(adds, further int) (rest []int64) {
	*m = Member{told: m.told}
	numbers := m.room[:]
	if n := adds + further; n > len(numbers) {
		numbers = make([]int64, n)
	} else {
		numbers = numbers[:n]
	}
	m.Adds = numbers[:adds:adds]
	return numbers[adds:]
}

// Tell gives the member a verdict, after it has received the one before. The member may be reused
// for another execution from then on, unless the verdict leaves it in its batch.
func (m *Member) Tell(v Verdict) {
	m.verdict = v
	m.told <- struct{}{}
}

// Receive waits for the verdict.
func (m *Member) Receive() Verdict {
	<-m.told
	return m.verdict
}

// memberState is where a member is.
type memberState int

const (
	stateQueued  memberState = iota
	stateLeading             // it runs a batch, or is about to
	stateTaken               // it is in a batch
	stateGone                // its caller has given up
)

// Wait waits for the verdict, or until the caller gives up. If no statement has taken the member
// along by then, it is certainly not counted; otherwise that is unknown, as for any interrupted
// statement.
func (m *Member) Wait(ctx context.Context) Verdict {
	if ctx.Done() == nil {
		return m.Receive()
	}
	select {
	case <-m.told:
		return m.verdict
	case <-ctx.Done():
	}
	select {
	case <-m.told:
		if m.verdict.Outcome != OutcomeLead {
			return m.verdict
		}
	default:
	}
	m.leave()
	return Verdict{Outcome: OutcomeAbandoned, Err: ctx.Err()}
}

// leave removes a member whose caller gives up. It reports whether the member is certainly not
// counted.
func (m *Member) leave() bool {
	g := m.Group
	g.shard.mu.Lock()
	state := m.state
	m.state = stateGone
	if state == stateQueued {
		for i, other := range g.queue {
			if other == m {
				g.queue = append(g.queue[:i], g.queue[i+1:]...)
				break
			}
		}
	}
	if state == stateTaken {
		m.batch.abandon()
	}
	g.shard.mu.Unlock()
	if state == stateLeading {
		g.Next()
	}
	return state != stateTaken
}

package slots

import (
	"database/sql/driver"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// Coalescer lets executions of an increment that overlap share one statement.
//
// An execution that meets no other runs alone, just as without a coalescer. While its statement is
// at the server, others queue behind it: those of the same row or, on an engine with one writer
// at a time, of the same table. When it has returned, one of those leads: it takes the others along,
// runs one statement that adds what all of them add, and each returns with its own result once
// that is committed. So the statements of a queue follow one another without a pause, each with
// everything that has come in meanwhile.
//
// Every member is counted exactly once. It is in a queue or in one batch, never in both: it moves
// under the shard's lock. A batch runs one statement in autocommit, which is applied as a whole or
// not at all. If it is known not to have been applied, each member runs again by itself, and meets
// the error that is its own. If that is not known, it is not run again.
type Coalescer struct {
	// RoundTrip is how long a round trip to the server takes; 0 if that is not known.
	RoundTrip func() time.Duration
	Pace      pace // of statements on slots
	onBase    pace // on base rows, if the server is far away
	shards    [coalescerShards]coalescerShard
}

const (
	coalescerShards = 32
	// maxIdleGroups bounds the groups without members that a shard keeps. They remember how many
	// members to expect.
	maxIdleGroups = 128
)

type coalescerShard struct {
	mu     sync.Mutex
	groups map[groupKey]*Group
	turns  [turnEntries]turnEntry // of keys on base rows
	_      [48]byte               // a cache line of its own
}

// groupKey is what executions that may share a statement have in common.
type groupKey struct {
	sql, args string
	peers     int64
}

// A Group is the executions of one key that are in flight. The shard's lock guards its fields.
type Group struct {
	shard *coalescerShard
	key   groupKey
	max   []int64 // what one statement may add to a row, by counter
	form  Form
	entry *turnEntry // that keeps others from going alone; nil: none does
	queue []*Member

	leaders int // statements under way, or about to be
	last    int // members of the last batch
}

// A Form describes the statements of a group.
type Form struct {
	SQL    string
	Peers  int64 // the sessions that may share them
	Shares []rewrite.Share
	Single bool // one is under way at a time: what it does keeps all others from doing it
	// Hash is the hash of a key on a base row. It is 0 for a key on slots.
	Hash uint64
}

// A Verdict is the answer to a waiting member.
type Verdict struct {
	Outcome Outcome
	Batch   *Batch        // to run, of OutcomeLead; nil until it has been made of what the queue holds
	Result  driver.Result // of OutcomeCounted
	Err     error         // of OutcomeFailed and OutcomeAbandoned
}

// Outcome is what has become of a member's increment, or what its caller has to do.
type Outcome int

// The outcomes.
const (
	OutcomeCounted   Outcome = iota // it is committed
	OutcomeLead                     // run a batch, or the queue
	OutcomeAlone                    // nothing has been applied: run it without the others
	OutcomeByRow                    // nothing has been applied: share a statement with those of its row only
	OutcomeRetry                    // nothing has been applied: the statement never reached the server
	OutcomeFailed                   // with the batch's error, which is the member's own
	OutcomeAbandoned                // its caller has given up
)

// pace decides how many statements of one group may be in flight at a time.
//
// An increment that comes in while a statement is in flight waits half as long as that takes, on
// average. If that is long because the database is far away, it pays to send another statement at
// once, in another slot. If it is short, or long because the database is busy, it does not. So the
// pace depends on the shortest time that a recent statement took: one statement per maxPause of
// it. A group then sends at most 1/maxPause statements a second, however far away the database is,
// and no caller waits much longer than maxPause before its own is sent.
type pace struct {
	took  atomic.Int64 // nanoseconds of the shortest statement of this window and the last one
	now   atomic.Int64 // of this window only
	notes atomic.Int64
	Most  int // maxLeaders but for tests
}

const (
	maxPause   = 500 * time.Microsecond
	maxLeaders = 32
	paceWindow = 1024 // statements: while a server is busy all of a few take long
)

// leaders returns how many statements of a group may be in flight.
func (p *pace) leaders() int { return max(1, min(p.Most, int(p.took.Load()/int64(maxPause)))) }

// Note records how long a statement has taken. A lost update does no harm.
func (p *pace) Note(d time.Duration) {
	t := int64(d)
	if now := p.now.Load(); now == 0 || t < now {
		p.now.Store(t)
	}
	if took := p.took.Load(); took == 0 || t < took {
		p.took.Store(t)
	}
	if p.notes.Add(1)%paceWindow == 0 {
		p.took.Store(p.now.Swap(0))
	}
}

// NewCoalescer returns a coalescer without groups.
func NewCoalescer() *Coalescer {
	return &Coalescer{Pace: pace{Most: maxLeaders}, RoundTrip: func() time.Duration { return 0 }}
}

// Join adds a member to the group of its form and of these common arguments. If it returns a batch
// the member leads it, otherwise the member waits for its verdict.
//
// Whichever member leads takes along all that queue. So the one leads whose connection has led
// most often: its server process has already prepared the statement, and other connections need
// not.
func (co *Coalescer) Join(f Form, args []byte, m *Member) *Batch {
	s, e := co.turn(f.Hash)
	if f.Hash == 0 {
		s = &co.shards[maphash.Bytes(seed, args)%coalescerShards]
	}
	s.mu.Lock()
	g := s.group(e, &f, args)
	if g == nil {
		if len(s.groups) >= maxIdleGroups {
			s.sweep()
		}
		if s.groups == nil {
			s.groups = map[groupKey]*Group{}
		}
		g = &Group{shard: s, key: groupKey{f.SQL, string(args), f.Peers}, form: f}
		for _, share := range f.Shares {
			g.max = append(g.max, share.Max)
		}
		s.groups[g.key] = g
		if f.Hash != 0 && g.claim(e, f.Hash) {
			g.leaders++
		}
	}
	m.Group, m.batch = g, nil
	if g.leaders >= co.most(g) {
		m.state = stateQueued
		g.queue = append(g.queue, m)
		s.mu.Unlock()
		return nil
	}
	g.leaders++
	m.state = stateLeading
	s.mu.Unlock()
	return g.Take(m)
}

// most returns how many statements of a group may be in flight. Those on a base row wait there for one another, so a second one
// is sent only while there are hardly any members: it is at the server when the first one's lock is released, as a plain statement
// would be, and does not begin its round trip then. To a distant server there are as many as the row takes one after another in
// a round trip.
func (co *Coalescer) most(g *Group) int {
	if g.form.Hash == 0 {
		return co.Pace.leaders()
	}
	most := 1
	if g.form.Single {
		return most
	}
	if g.last <= 2 {
		most = 2
	}
	if took := time.Duration(co.onBase.took.Load()); took > 0 {
		far := min(co.RoundTrip(), took) // a look may have met a busy server
		most = max(most, min(maxLeaders, int(far/max(took-far, shortestHold))))
	}
	return most
}

// distant is a round trip much longer than a row's lock is usually held for a statement and its commit, and shortestHold is how long
// that is at least.
const (
	distant      = 3 * time.Millisecond
	shortestHold = time.Millisecond
)

// NoteOnBase notes that a statement of a group on a base row, begun at the given time, has succeeded.
func (co *Coalescer) NoteOnBase(began time.Time) {
	if co.RoundTrip() >= distant {
		co.onBase.Note(time.Since(began))
	}
}

// group returns the group of a form and its common arguments; nil for none. With a turn it is
// nearly always the entry's group. (Without one, the entry belongs to another shard.)
func (s *coalescerShard) group(e *turnEntry, f *Form, args []byte) *Group {
	if f.Hash != 0 {
		if g := e.group; g != nil && g.key.args == string(args) && g.key.peers == f.Peers && g.key.sql == f.SQL {
			return g
		}
	}
	return s.groups[groupKey{f.SQL, string(args), f.Peers}]
}

const maxYields = 3

// Take makes a batch of the leader and the queue; nil if another member is to lead and this one to
// wait. The callers of the last batch have just returned and are about to come back: the leader lets them
// join first. Else those that have queued meanwhile and those would be two groups that take turns.
func (g *Group) Take(leader *Member) *Batch {
	s := g.shard
	s.mu.Lock()
	all := g.last + len(g.queue) + 1
	for tries, n := 0, -1; tries < maxYields && all > 2 && len(g.queue)+1 < all && len(g.queue) > n; tries++ {
		n = len(g.queue)
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if leader.Used == 0 {
		if i := g.mostUsed(); i >= 0 && g.queue[i].Used > 0 {
			leader.state = stateQueued
			g.queue = append(g.queue, leader)
			g.lead(i)
			return nil
		}
	}
	b := g.newBatch(leader)
	rest := g.queue[:0]
	for _, m := range g.queue {
		if !b.admit(m, g) {
			rest = append(rest, m)
		}
	}
	clear(g.queue[len(rest):])
	g.queue = rest
	g.last = len(b.Members)
	return b
}

// Next ends a leader's turn, and gives it to a member of the queue.
func (g *Group) Next() {
	g.shard.mu.Lock()
	defer g.shard.mu.Unlock()
	g.next()
}

func (g *Group) next() {
	if len(g.queue) > 0 {
		g.lead(g.mostUsed())
		return
	}
	if g.leaders--; g.leaders == 0 && g.last <= 1 {
		g.drop() // nothing to remember, as for nearly all rows
	}
}

// mostUsed returns the index in the queue of the member whose connection has run the most shared
// statements; -1 if the queue is empty.
func (g *Group) mostUsed() int {
	best := -1
	for i, m := range g.queue {
		if best < 0 || m.Used > g.queue[best].Used {
			best = i
		}
	}
	return best
}

// lead takes a member out of the queue and has it lead.
func (g *Group) lead(i int) {
	m := g.queue[i]
	g.queue = append(g.queue[:i], g.queue[i+1:]...)
	m.state = stateLeading
	m.Tell(Verdict{Outcome: OutcomeLead})
}

// sweep drops groups without members.
func (s *coalescerShard) sweep() {
	for _, g := range s.groups {
		if g.leaders == 0 && len(g.queue) == 0 {
			g.drop()
		}
	}
}

// ForLeader returns the leader's own verdict: it was its connection that was lost.
func (v Verdict) ForLeader() Verdict {
	if v.Outcome == OutcomeRetry {
		return Verdict{Outcome: OutcomeFailed, Err: driver.ErrBadConn} // database/sql tries another connection
	}
	return v
}

// InFlight returns how many statements of groups are in flight, and how many callers wait behind
// them.
func (co *Coalescer) InFlight() (leaders, waiting int) {
	for i := range co.shards {
		s := &co.shards[i]
		s.mu.Lock()
		for _, g := range s.groups {
			leaders += g.leaders
			waiting += len(g.queue)
		}
		s.mu.Unlock()
	}
	return leaders, waiting
}

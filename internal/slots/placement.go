package slots

import (
	"hash/maphash"
	"maps"
	"math/bits"
	"sync"
	"sync/atomic"
)

// Placement decides which slot an increment adds to. Only how long increments wait for one another
// depends on it: any slot is exact.
//
// A process gives out the slots of a row from its first one up, always the lowest that is free: an
// increment holds its slot until its transaction ends. So a row has as many slots as increments of
// it have been in flight at the same time, and a row that is counted now and then has one.
type Placement struct {
	Home  Node // the only one, outside of clusters
	mu    sync.Mutex
	nodes map[string]*Node
	// leasing is set when there is a table of leases.
	leasing bool
	shards  [placementShards]placementShard
	missed  sync.Map // by table: *atomic.Int32, slot rows in a row that have gone
	Journal journalNumbers
}

const placementShards = 32

type placementShard struct {
	mu    sync.Mutex
	taken map[RowKey]ordinals
	known map[SlotRow]struct{}
	_     [40]byte // a cache line of its own
}

// A RowKey is the name of a row of a base table, as written in statements on one node of a
// cluster. One row may have several names, which costs speed if its increments meet in a slot.
type RowKey struct {
	Table, Values string
	Node          int
}

// A SlotRow is a row of a slot table.
type SlotRow struct {
	Row  RowKey
	Slot int64
}

// ordinals are the ordinals of a row's slots that are in use. There are nearly always few.
type ordinals struct {
	low  uint64
	more map[int]struct{}
}

// NewPlacement returns a placement that begins at a random slot.
func NewPlacement() *Placement {
	p := &Placement{Home: Node{Range: newSlotRange()}}
	p.Journal.begin()
	return p
}

func (p *Placement) shard(k RowKey) *placementShard {
	return &p.shards[maphash.String(seed, k.Values)%placementShards]
}

// Take returns the lowest free ordinal below n, and holds it; -1 if all are held.
func (p *Placement) Take(k RowKey, n int) int {
	s := p.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.taken[k]
	i := o.take(n)
	if i < 0 {
		return -1
	}
	if s.taken == nil {
		s.taken = map[RowKey]ordinals{}
	}
	s.taken[k] = o
	return i
}

// Give frees an ordinal that Take has returned.
func (p *Placement) Give(k RowKey, i int) {
	s := p.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.taken[k]
	if o.give(i) {
		delete(s.taken, k)
		return
	}
	s.taken[k] = o
}

// Knows reports whether a slot row has been written before, so that a plain update adds to it. It
// is a guess: if the row has been deleted since, the update does not find it, and the upsert
// creates it again.
func (p *Placement) Knows(r SlotRow) bool {
	s := p.shard(r.Row)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[r]
	return ok
}

// maxKnownSlots bounds what a shard remembers; when it is full it forgets everything.
const maxKnownSlots = 2048

// Learn notes that a slot row has been written.
func (p *Placement) Learn(r SlotRow) {
	s := p.shard(r.Row)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[SlotRow]struct{}{}
	} else if len(s.known) >= maxKnownSlots {
		clear(s.known) // and it does not grow again
	}
	s.known[r] = struct{}{}
}

// Forget takes back what has been learned.
func (p *Placement) Forget(r SlotRow) {
	s := p.shard(r.Row)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, r)
}

// ManyMissed is how many known slot rows in succession must be missing for a roll-up to be assumed
// to have deleted all of the table.
const ManyMissed = 8

// NoteMissing notes that a known slot row has been deleted. After many of these, none of the table
// is assumed to exist: an upsert alone is faster than an update that finds nothing, and then an
// upsert.
func (p *Placement) NoteMissing(r SlotRow) {
	s := p.shard(r.Row)
	s.mu.Lock()
	delete(s.known, r)
	s.mu.Unlock()
	n, _ := p.missed.LoadOrStore(r.Row.Table, new(atomic.Int32))
	if n.(*atomic.Int32).Add(1) != ManyMissed {
		return
	}
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		maps.DeleteFunc(s.known, func(k SlotRow, _ struct{}) bool { return k.Row.Table == r.Row.Table })
		s.mu.Unlock()
	}
	n.(*atomic.Int32).Store(0)
}

// NoteFound notes that a known slot row of the table existed.
func (p *Placement) NoteFound(table string) {
	if n, ok := p.missed.Load(table); ok && n.(*atomic.Int32).Load() != 0 {
		n.(*atomic.Int32).Store(0)
	}
}

// take takes the lowest ordinal below n that is free; -1 if none is.
func (o *ordinals) take(n int) int {
	if i := bits.TrailingZeros64(^o.low); i < min(n, 64) {
		o.low |= 1 << i
		return i
	}
	for i := 64; i < n; i++ {
		if _, taken := o.more[i]; taken {
			continue
		}
		if o.more == nil {
			o.more = map[int]struct{}{}
		}
		o.more[i] = struct{}{}
		return i
	}
	return -1
}

// give frees an ordinal, and reports whether none is in use any more.
func (o *ordinals) give(i int) (unused bool) {
	if i < 64 {
		o.low &^= 1 << i
	} else {
		delete(o.more, i)
	}
	return o.low == 0 && len(o.more) == 0
}

// Place is the slot of one execution of an increment.
type Place struct {
	SlotRow
	Keyed   bool // row says which row it is
	Ordinal int  // to be given back after the statement; -1: none
}

// Held returns the number of rows of which slots are held.
func (p *Placement) Held() (n int) {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		n += len(s.taken)
		s.mu.Unlock()
	}
	return n
}

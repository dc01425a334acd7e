package slotsql

import (
	"database/sql/driver"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
)

// placement says which slot an increment adds to. Nothing depends on the
// answer but how long increments wait for each other: any slot is exact.
//
// A process gives out the slots of a row from its first one up, the lowest that
// is free: an increment holds its slot until its transaction ends. So a row has
// as many slots as increments of it have been under way at one time, and a row
// that is counted now and then has one.
type placement struct {
	home  node // the only one, outside of clusters
	mu    sync.Mutex
	nodes map[string]*node
	// leasing says that there is a table of leases
	leasing bool
	seed    maphash.Seed
	shards  [placementShards]placementShard
	missed  sync.Map // by table: *atomic.Int32, slot rows in a row that have gone
	journal journalNumbers
}

const placementShards = 32

type placementShard struct {
	mu    sync.Mutex
	taken map[rowKey]ordinals
	known map[slotRow]struct{}
	_     [40]byte // a cache line of its own
}

// A rowKey names a row of a base table as written on one node of a cluster, as
// far as the plan can tell: the same row may have several, which costs speed when its increments meet in a slot.
type rowKey struct {
	table, values string
	node          int
}

// A slotRow is a row of a slot table.
type slotRow struct {
	row  rowKey
	slot int64
}

// ordinals are the numbers of a row's slots that are in use. Nearly always they
// are few.
type ordinals struct {
	low  uint64
	more map[int]struct{}
}

func newPlacement() *placement {
	p := &placement{home: node{places: newPlaces()}, seed: maphash.MakeSeed()}
	p.journal.begin()
	return p
}

func (p *placement) shard(k rowKey) *placementShard {
	return &p.shards[maphash.String(p.seed, k.values)%placementShards]
}

// take returns the lowest number below n that nobody holds; -1 when all are
// held.
func (p *placement) take(k rowKey, n int) int {
	s := p.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.taken[k]
	for i := range n {
		if o.has(i) {
			continue
		}
		o.add(i)
		if s.taken == nil {
			s.taken = map[rowKey]ordinals{}
		}
		s.taken[k] = o
		return i
	}
	return -1
}

func (p *placement) give(k rowKey, i int) {
	s := p.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.taken[k]
	if o.remove(i); o.empty() {
		delete(s.taken, k)
		return
	}
	s.taken[k] = o
}

// knows says that a slot row has been written before, so that a plain update
// adds to it. It is a guess: a row that has gone since then is not found by the
// update, and is made again by the upsert.
func (p *placement) knows(r slotRow) bool {
	s := p.shard(r.row)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[r]
	return ok
}

// maxKnownSlots bounds what a shard remembers; when it is full it starts anew.
const maxKnownSlots = 2048

func (p *placement) learn(r slotRow) {
	s := p.shard(r.row)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxKnownSlots {
		s.known = map[slotRow]struct{}{}
	}
	s.known[r] = struct{}{}
}

// forget takes back what has been learned.
func (p *placement) forget(r slotRow) {
	s := p.shard(r.row)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, r)
}

// manyMissed slot rows that have gone, one after another, say that a roll-up has
// been by, where one deletes what it has emptied.
const manyMissed = 8

// miss notes that a slot row which was known has gone. After many of them none of
// the table is taken to be there: an upsert makes a row sooner than an update that
// does not find it, and then an upsert.
func (p *placement) miss(r slotRow) {
	s := p.shard(r.row)
	s.mu.Lock()
	delete(s.known, r)
	s.mu.Unlock()
	n, _ := p.missed.LoadOrStore(r.row.table, new(atomic.Int32))
	if n.(*atomic.Int32).Add(1) != manyMissed {
		return
	}
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		maps.DeleteFunc(s.known, func(k slotRow, _ struct{}) bool { return k.row.table == r.row.table })
		s.mu.Unlock()
	}
	n.(*atomic.Int32).Store(0)
}

// met notes that slot rows of a table that were known are there.
func (p *placement) met(table string) {
	if n, ok := p.missed.Load(table); ok && n.(*atomic.Int32).Load() != 0 {
		n.(*atomic.Int32).Store(0)
	}
}

func (o *ordinals) has(i int) bool {
	if i < 64 {
		return o.low&(1<<i) != 0
	}
	_, ok := o.more[i]
	return ok
}

func (o *ordinals) add(i int) {
	if i < 64 {
		o.low |= 1 << i
		return
	}
	if o.more == nil {
		o.more = map[int]struct{}{}
	}
	o.more[i] = struct{}{}
}

func (o *ordinals) remove(i int) {
	if i < 64 {
		o.low &^= 1 << i
		return
	}
	delete(o.more, i)
}

func (o *ordinals) empty() bool { return o.low == 0 && len(o.more) == 0 }

// place is the slot of one execution of an increment.
type place struct {
	slotRow
	keyed   bool // row says which row it is
	ordinal int  // to be given back after the statement; -1: none
}

// seats are what places of a table's rows are found from.
type seats struct {
	placement *placement
	places    *places
	slots     int
	one       bool // all increments add to the first slot
	random    bool // or to any
}

// any says that it does not matter who else is in a slot.
func (s *seats) any() bool { return s.one || s.random }

// find returns the slot for one statement, and its number to be given back.
func (s *seats) find(row rowKey) (slot int64, ordinal int) {
	switch {
	case s.one:
		return 0, -1
	case s.random:
		return int64(rand.IntN(s.slots)), -1
	}
	ordinal = s.placement.take(row, s.slots)
	i := ordinal
	if i < 0 {
		i = rand.IntN(s.slots)
	}
	return s.places.slot(i, s.slots), ordinal
}

// take finds a place whose slot row is known to be there; false when it is not.
func (s *seats) take(row rowKey) (place, bool) {
	slot, ordinal := s.find(row)
	p := place{slotRow: slotRow{row, slot}, keyed: true, ordinal: ordinal}
	if s.placement.knows(p.slotRow) {
		return p, true
	}
	s.leave(p)
	return place{}, false
}

// settled says that the row has the slot that a lone increment takes.
func (s *seats) settled(row rowKey) bool {
	var slot int64
	switch {
	case s.random:
		slot = int64(rand.IntN(s.slots))
	case !s.one:
		slot = s.places.slot(0, s.slots)
	}
	return s.placement.knows(slotRow{row, slot})
}

// leave gives back what has been taken for one statement.
func (s *seats) leave(p place) {
	if p.ordinal >= 0 {
		s.placement.give(p.row, p.ordinal)
	}
}

// appendValue appends an argument such that values which differ look different.
func appendValue(b []byte, v driver.NamedValue) ([]byte, bool) {
	switch x := v.Value.(type) {
	case int64:
		return strconv.AppendInt(b, x, 10), true
	case int:
		return strconv.AppendInt(b, int64(x), 10), true
	case uint64:
		return strconv.AppendUint(b, x, 10), true
	case bool:
		return strconv.AppendBool(b, x), true
	case string:
		return append(append(strconv.AppendInt(append(b, 's'), int64(len(x)), 10), ':'), x...), true
	case []byte:
		return append(append(strconv.AppendInt(append(b, 'b'), int64(len(x)), 10), ':'), x...), x != nil
	}
	return b, false
}

// held returns the number of rows of which slots are held.
func (p *placement) held() (n int) {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		n += len(s.taken)
		s.mu.Unlock()
	}
	return n
}

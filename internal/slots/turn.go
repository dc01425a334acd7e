package slots

import (
	"hash/maphash"
	"sync/atomic"
)

// A Turn is the right to send the statement of a key on a base row, until End. If no other
// execution of the key is in flight, as is nearly always so, it is taken without a lock or an
// allocation. The zero Turn is none.
type Turn struct {
	shard *coalescerShard
	entry *turnEntry
	hash  uint64
	group *Group // of a turn that a group has given
}

// A turnEntry is the turn of the keys with a hash. Its hash is 0 while the turn is free, the keys'
// while one execution without a group has it, and that with groupBit while a group in which others queue has it. Keys that share a
// hash wait for one another, which only costs speed.
type turnEntry struct {
	hash  atomic.Uint64
	group *Group // belongs to the shard's lock
}

const (
	turnEntries = 128 // of a shard
	groupBit    = 1
)

var seed = maphash.MakeSeed()

// Hash returns the hash of a key: what executions have in common, that is their statement,
// arguments and peers.
func Hash(statement string, args []byte, peers int64) uint64 {
	return mix(maphash.String(seed, statement), maphash.Bytes(seed, args), peers)
}

// RowHash returns the hash of a key by that of its statement, and the row that tells its executions from others.
func RowHash(statement uint64, row string, peers int64) uint64 {
	return mix(statement, maphash.String(seed, row), peers)
}

func mix(statement, args uint64, peers int64) uint64 {
	return max(((statement*31+args)*31+uint64(peers))&^groupBit, 2)
}

// StatementHash returns the hash of a statement for RowHash.
func StatementHash(sql string) uint64 { return maphash.String(seed, sql) }

func (co *Coalescer) turn(hash uint64) (*coalescerShard, *turnEntry) {
	s := &co.shards[hash>>1%coalescerShards]
	return s, &s.turns[hash>>8%turnEntries]
}

// Enter takes the turn of a key if it is free.
func (co *Coalescer) Enter(hash uint64) (Turn, bool) {
	s, e := co.turn(hash)
	if !e.hash.CompareAndSwap(0, hash) {
		return Turn{}, false
	}
	return Turn{shard: s, entry: e, hash: hash}, true
}

// Led reports whether a group has given the turn.
func (t Turn) Led() bool { return t.group != nil }

// End gives the turn to those that have come in meanwhile. The group learns of it under the shard's lock.
func (t Turn) End() {
	if t.group == nil && (t.entry == nil || t.entry.hash.CompareAndSwap(t.hash, 0)) {
		return
	}
	s := t.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.group != nil {
		t.group.next()
	} else {
		t.entry.group.next()
	}
}

// Turn returns the turn of a member that its group has given it.
func (m *Member) Turn() Turn { return Turn{shard: m.Group.shard, group: m.Group} }

// claim makes later executions queue in a new group. It reports whether an execution without a
// group has the turn: its End is then the group's first Next. The shard's lock is held.
func (g *Group) claim(e *turnEntry, hash uint64) (waits bool) {
	for {
		held := e.hash.Load()
		if held != 0 && held != hash { // another key's, or another group's
			return false
		}
		if e.hash.CompareAndSwap(held, hash|groupBit) {
			e.group, g.entry = g, e
			return held == hash
		}
	}
}

// drop forgets a group without members. The shard's lock is held.
func (g *Group) drop() {
	delete(g.shard.groups, g.key)
	if e := g.entry; e != nil {
		e.group, g.entry = nil, nil
		e.hash.Store(0)
	}
}

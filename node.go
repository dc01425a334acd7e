package slotsql

import (
	"math/bits"
)

// On a cluster whose nodes all take writes, a row that two of them write at
// about the same time is refused to one. So connections to different nodes have
// different slots and do not share statements, also those of one connector: a
// load balancer or a DSN with several hosts leads it to any of them. To the
// placement each node of a process is what a process is elsewhere, with places
// and a lease of its own.

// node is one of those that a connector's connections are on.
type node struct {
	number int
	places *places
}

// nodeOf returns the node of that name. The first begins where the process
// does, and others as far from each other as can be, until they have leases.
func (p *placement) nodeOf(name string) *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.nodes[name]; n != nil {
		return n
	}
	n := &p.home
	if len(p.nodes) == 0 {
		p.nodes = map[string]*node{}
	} else {
		n = &node{number: len(p.nodes), places: newPlaces()}
		n.places.first.Store(p.home.places.first.Load() + bits.Reverse32(uint32(n.number)))
		if p.leasing {
			n.places.due.Store(1)
		}
	}
	p.nodes[name] = n
	return n
}

// lease has every node look for a lease from now on.
func (p *placement) lease() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leasing = true
	p.home.places.due.Store(1)
	for _, n := range p.nodes {
		n.places.due.Store(1)
	}
}

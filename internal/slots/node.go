package slots

import (
	"math/bits"
	"slices"
)

// On a cluster whose nodes all take writes, one of two transactions fails that write the same row
// on two nodes at about the same time. So connections to different nodes use different slots and
// do not share statements. That includes connections of one connector: a load balancer, or a DSN
// with several hosts, may connect it to any node. To the placement each node of a process is what
// a process is elsewhere, with a range and a lease of its own.

// Node is a node that connections of a connector are on.
type Node struct {
	Number int
	Range  *slotRange
}

// NodeOf returns the node with that name. The first one begins where the process does, and the
// others as far from each other as possible, until they have leases.
func (p *Placement) NodeOf(name string) *Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.nodes[name]; n != nil {
		return n
	}
	n := &p.Home
	if len(p.nodes) == 0 {
		p.nodes = map[string]*Node{}
	} else {
		n = &Node{Number: len(p.nodes), Range: newSlotRange()}
		n.Range.First.Store(p.Home.Range.First.Load() + bits.Reverse32(uint32(n.Number)))
		if p.leasing {
			n.Range.Due.Store(1)
		}
	}
	p.nodes[name] = n
	return n
}

// StartLeasing has every node look for a lease from now on.
func (p *Placement) StartLeasing() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leasing {
		return
	}
	p.leasing = true
	p.Home.Range.Due.Store(1)
	for _, n := range p.nodes {
		n.Range.Due.Store(1)
	}
}

// Parts returns the part that each node has leased, in the order of the nodes' numbers;
// -1 where a node has none.
func (p *Placement) Parts() []int {
	p.mu.Lock()
	nodes := []*Node{&p.Home}
	for _, n := range p.nodes {
		if n != &p.Home {
			nodes = append(nodes, n)
		}
	}
	p.mu.Unlock()
	slices.SortFunc(nodes, func(a, b *Node) int { return a.Number - b.Number })
	parts := make([]int, len(nodes))
	for i, n := range nodes {
		parts[i] = int(n.Range.Part.Load())
	}
	return parts
}

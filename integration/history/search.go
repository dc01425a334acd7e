package history

import (
	"fmt"
	"strings"
)

// event is a point in time at which a transaction begins to see, does something
// or ends. It lies somewhere between two ticks.
type event struct {
	client     int
	tx         *Tx
	op         *Op // nil for the end of a transaction, and for its beginning
	begin      bool
	torn       bool // a part of a read
	start, end int64
}

func (e *event) String() string {
	what := "end"
	switch {
	case e.op != nil:
		what = e.op.String()
	case e.begin:
		what = "begin"
	case e.tx.Auto && len(e.tx.Ops) > 0:
		what = e.tx.Ops[0].String()
	}
	return fmt.Sprintf("client %d: %s (%d-%d)", e.client, what, e.start, e.end)
}

// machine is a model that takes one event after the other. S holds no pointers,
// so that equal states are found again.
type machine[S comparable] interface {
	// step returns the state after the event; false when the event cannot have
	// what was seen as its result in this state. Free reports whether taking the event
	// now excludes nothing that could come later.
	step(s S, e *event) (next S, ok, free bool)
	final(s S) bool
	describe(s S) string
}

// verdict is what a search has found.
type verdict struct {
	explained bool
	cut       bool   // given up: too many states
	stuck     string // the longest order found, for the reader of a failure
}

// stateLimit bounds the search for one history.
const stateLimit = 1_000_000

// search looks for an order of the events, each client's in its own, that
// agrees with real time (what has ended before something began comes first) and
// that the machine takes. It is the search of Wing and Gong (Testing and
// verifying concurrent objects, 1993), with Lowe's memory of states visited.
func search[S comparable](m machine[S], clients [Clients][]event, initial S) verdict {
	s := &searcher[S]{m: m, clients: clients, seen: map[node[S]]struct{}{}}
	s.stuck = s.describe(nil, node[S]{s: initial})
	if s.visit(node[S]{s: initial}) {
		return verdict{explained: true}
	}
	return verdict{cut: s.cut, stuck: s.stuck}
}

type node[S comparable] struct {
	at [Clients]uint8
	s  S
}

type searcher[S comparable] struct {
	m       machine[S]
	clients [Clients][]event
	seen    map[node[S]]struct{}
	cut     bool
	path    []*event
	longest int
	stuck   string
}

func (s *searcher[S]) visit(n node[S]) bool {
	if _, old := s.seen[n]; old {
		return false
	}
	if len(s.seen) >= stateLimit {
		s.cut = true
		return false
	}
	s.seen[n] = struct{}{}
	soonest, left := int64(1)<<62, false
	for c, i := range n.at {
		if int(i) < len(s.clients[c]) {
			left = true
			soonest = min(soonest, s.clients[c][i].end)
		}
	}
	if !left && s.m.final(n.s) {
		return true
	}
	var next [Clients]node[S]
	var order []int
	for c, i := range n.at {
		if int(i) >= len(s.clients[c]) || s.clients[c][i].start > soonest {
			continue
		}
		state, ok, free := s.m.step(n.s, &s.clients[c][i])
		if !ok {
			continue
		}
		child := node[S]{n.at, state}
		child.at[c]++
		if free {
			return s.take(child, c, i)
		}
		next[c] = child
		order = append(order, c)
	}
	// The one that has to come soonest is tried first.
	for i := 1; i < len(order); i++ {
		for j := i; j > 0 && s.clients[order[j]][n.at[order[j]]].end < s.clients[order[j-1]][n.at[order[j-1]]].end; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	for _, c := range order {
		if s.take(next[c], c, n.at[c]) {
			return true
		}
	}
	if len(order) == 0 && len(s.path) > s.longest {
		s.longest, s.stuck = len(s.path), s.describe(s.path, n)
	}
	return false
}

func (s *searcher[S]) take(n node[S], client int, at uint8) bool {
	s.path = append(s.path, &s.clients[client][at])
	ok := s.visit(n)
	s.path = s.path[:len(s.path)-1]
	return ok
}

// describe writes an order and what cannot follow it.
func (s *searcher[S]) describe(path []*event, n node[S]) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the longest order found:\n")
	for _, e := range path {
		fmt.Fprintf(&b, "  %v\n", e)
	}
	fmt.Fprintf(&b, "leads to %s,\nwhere none of these can follow:\n", s.m.describe(n.s))
	for c, i := range n.at {
		if int(i) < len(s.clients[c]) {
			fmt.Fprintf(&b, "  %v\n", &s.clients[c][i])
		}
	}
	return b.String()
}

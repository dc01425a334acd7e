// Package tally keeps what is counted of statements by their kind. It counts
// nothing itself: who counts brings the counters of one kind.
package tally

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is what statements have in common that are counted together: the tables
// concerned, the class of their plans, its reason, and which rows are drained.
type Kind struct {
	Dialect, Class, Reason, Scope string
	Tables                        []string
}

// Key identifies the kind in a map.
func (k Kind) Key() string {
	return k.Dialect + "\x00" + k.Class + "\x00" + k.Reason + "\x00" + k.Scope + "\x00" + strings.Join(k.Tables, "\x00")
}

// Compare orders kinds by dialect, tables, class, reason and scope.
func (k Kind) Compare(o Kind) int {
	return cmp.Or(
		cmp.Compare(k.Dialect, o.Dialect),
		slices.Compare(k.Tables, o.Tables),
		cmp.Compare(k.Class, o.Class),
		cmp.Compare(k.Reason, o.Reason),
		cmp.Compare(k.Scope, o.Scope),
	)
}

// A process that runs ever new kinds (a reason may quote a statement) counts those
// beyond maxKinds under otherReasons.
const (
	maxKinds     = 1000
	otherReasons = "(other reasons)"
)

// Set holds the counters of each kind. It is safe for concurrent use, and finding
// those of a known kind takes no lock.
type Set[T any] struct {
	all    sync.Map // by Kind.Key, *entry[T]
	number atomic.Int64
}

type entry[T any] struct {
	kind     Kind
	counters T
}

// Of returns the counters of a kind.
func (s *Set[T]) Of(k Kind) *T {
	if v, ok := s.all.Load(k.Key()); ok {
		return &v.(*entry[T]).counters
	}
	if s.number.Load() >= maxKinds {
		k.Tables, k.Reason, k.Scope = nil, otherReasons, ""
	}
	v, known := s.all.LoadOrStore(k.Key(), &entry[T]{kind: k})
	if !known {
		s.number.Add(1)
	}
	return &v.(*entry[T]).counters
}

// All calls f with each kind, in order, and its counters. The tables of the kind
// are a copy.
func (s *Set[T]) All(f func(Kind, *T)) {
	var found []*entry[T]
	s.all.Range(func(_, v any) bool {
		found = append(found, v.(*entry[T]))
		return true
	})
	slices.SortFunc(found, func(a, b *entry[T]) int { return a.kind.Compare(b.kind) })
	for _, e := range found {
		k := e.kind
		k.Tables = slices.Clone(k.Tables)
		f(k, &e.counters)
	}
}

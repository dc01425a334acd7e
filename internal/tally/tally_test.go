package tally

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Kinds are told apart by all of their parts, and come back in order; those beyond
// the bound share one.
func TestSet(t *testing.T) {
	var s Set[atomic.Int64]
	kinds := []Kind{
		{Dialect: "b", Class: "x"},
		{Dialect: "a", Class: "y", Reason: "r", Tables: []string{"t"}},
		{Dialect: "a", Class: "x", Reason: "r", Tables: []string{"t", "u"}},
		{Dialect: "a", Class: "x", Reason: "r", Tables: []string{"t"}},
		{Dialect: "a", Class: "x", Reason: "q", Tables: []string{"t"}},
		{Dialect: "a", Class: "x", Reason: "r", Scope: "s", Tables: []string{"t"}},
	}
	var wg sync.WaitGroup
	for i, k := range kinds {
		for range i + 1 {
			wg.Go(func() { s.Of(k).Add(1) })
		}
	}
	wg.Wait()
	var got []int64
	s.All(func(k Kind, n *atomic.Int64) {
		i := slices.IndexFunc(kinds, func(o Kind) bool { return k.Compare(o) == 0 })
		if n.Load() != int64(i+1) {
			t.Errorf("%+v is counted %d times, want %d", k, n.Load(), i+1)
		}
		got = append(got, n.Load())
	})
	if want := []int64{5, 4, 6, 2, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	for i := range maxKinds + 10 {
		s.Of(Kind{Dialect: "a", Class: "z", Reason: fmt.Sprint(i), Tables: []string{"t"}}).Add(1)
	}
	rest := s.Of(Kind{Dialect: "a", Class: "z", Reason: otherReasons}).Load()
	if want := int64(len(kinds) + 10); rest != want {
		t.Errorf("%d of the kinds beyond the bound are counted together, want %d", rest, want)
	}
}

package session

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/internal/digest"
	"github.com/slotsql/slotsql/rewrite/lex"
)

const (
	// maxExamples bounds the statements of a kind that are kept: the first ones.
	maxExamples = 3
	// maxExample is the longest statement that is kept, in bytes.
	maxExample = 16 << 10
)

// examples are a few statements of one kind. A statement is noted when it is planned, which is
// once while its plan is cached.
type examples struct {
	mu   sync.Mutex // held to add one
	list atomic.Pointer[[]example]
}

type example struct{ sql, shape string }

// note keeps a statement, unless it only differs from a kept one in its values.
func (e *examples) note(lx *lex.Rules, query string) {
	if len(query) > maxExample || e.done(func(x example) bool { return x.sql == query }) {
		return
	}
	shape := digest.Text(lx, query)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done(func(x example) bool { return x.shape == shape }) {
		return
	}
	more := append(e.kept(), example{query, shape})
	e.list.Store(&more)
}

// done reports whether a statement need not be kept: it is known to be kept already, or there are
// enough.
func (e *examples) done(known func(example) bool) bool {
	kept := e.kept()
	return len(kept) >= maxExamples || slices.ContainsFunc(kept, known)
}

// kept returns what has been noted so far, in a slice that may be appended to.
func (e *examples) kept() []example {
	if list := e.list.Load(); list != nil {
		return slices.Clip(*list)
	}
	return nil
}

// shapes returns the statements without their values.
func (e *examples) shapes() (out []string) {
	for _, x := range e.kept() {
		out = append(out, x.shape)
	}
	return out
}

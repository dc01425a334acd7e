package slots

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// A Habit is what has been seen of the transactions with statements of one form,
// whatever their literals: whether they go on to drain the rows that they have
// changed. Two of them that have both counted in slots of a row, which leaves its
// base row to both, and then both want it alone, wait for each other. With the plain
// driver the second would have waited at its increment.
//
// So the first transaction with an increment of a form is on trial, for its row:
// others of this process that come to the same row with it wait until it has ended.
// Where it has counted in a slot and committed without a drain, increments of the form count in slots from
// then on; where it has drained its row, or would have, they lock first, in the plain driver's
// order of locks. With the plain driver they would have waited, too, and here for
// trialPatience at most: whom they wait for may wait for them, which the server
// cannot see.
type Habit struct {
	// locksFirst: such a transaction has drained its row afterwards.
	locksFirst atomic.Bool
	// harmless: one has ended without, or has taken longer than is waited for.
	harmless atomic.Bool
	mu       sync.Mutex
	trials   map[RowKey]*trial
}

type trial struct {
	of   *Trials
	over chan struct{}
}

const trialPatience = time.Second

// maxHabits bounds what is remembered; then it begins anew.
const maxHabits = 4096

// Habits are those of a connector, by the form of the statement.
type Habits struct {
	mu    sync.Mutex
	forms map[string]*Habit
}

// Of returns the habit of a statement; nil for a plan that changes no counter's rows.
func (hs *Habits) Of(d rewrite.Dialect, p *rewrite.Plan, sql string) *Habit {
	if p.Increment == nil && len(p.Base.Changes) == 0 && (p.Bounded == nil || p.Bounded.Portion == nil) {
		return nil
	}
	form := formOf(d, sql)
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h := hs.forms[form]; h != nil {
		return h
	}
	if hs.forms == nil || len(hs.forms) >= maxHabits {
		hs.forms = map[string]*Habit{}
	}
	h := &Habit{}
	hs.forms[form] = h
	return h
}

// formOf returns a statement without its literals.
func formOf(d rewrite.Dialect, sql string) string {
	var b strings.Builder
	for _, t := range rewrite.Tokens(d.Lexis(), sql) {
		switch t.Kind {
		case rewrite.NumberTok, rewrite.StringTok:
			b.WriteString("? ")
		default:
			b.WriteString(sql[t.Start:t.End])
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// NoteDrain notes that a transaction with such a statement drains its row.
func (h *Habit) NoteDrain() {
	if h != nil {
		h.locksFirst.Store(true)
	}
}

// NoteWouldDrain notes that a transaction with such a statement, which has its row for itself, goes on as one that would
// drain the row if it had counted in a slot. The first of these to do so would meet those that still wait for the base row.
// So statements of the form lock first, unless transactions have been seen to count in slots and go without.
func (h *Habit) NoteWouldDrain() {
	if h != nil && !h.harmless.Load() {
		h.locksFirst.Store(true)
	}
}

// LocksFirst reports whether statements of the form lock their base row first.
func (h *Habit) LocksFirst() bool { return h != nil && h.locksFirst.Load() }

// Await waits for another transaction that is on trial for the row, or begins the
// connection's own. Slotted: it is about to count in a slot. A transaction that locks first waits,
// too: the one on trial shares the base row, and could not take it for itself past another that waits
// for it.
func (h *Habit) Await(ctx context.Context, ts *Trials, row RowKey, slotted bool) error {
	if h == nil {
		return nil
	}
	var patience <-chan time.Time
	for h.locksFirst.Load() || !h.harmless.Load() {
		t := h.try(ts, row, slotted)
		if t == nil {
			return nil
		}
		if patience == nil {
			patience = time.After(trialPatience)
		}
		select {
		case <-t.over:
		case <-patience:
			h.harmless.Store(true)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// try returns the trial of another transaction for the row. Where there is none it
// begins one, unless the habit is known.
func (h *Habit) try(ts *Trials, row RowKey, slotted bool) *trial {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.trials[row]; t != nil {
		if t.of == ts {
			return nil
		}
		return t
	}
	if h.locksFirst.Load() {
		return nil
	}
	if h.trials == nil {
		h.trials = map[RowKey]*trial{}
	}
	h.trials[row] = &trial{of: ts, over: make(chan struct{})}
	ts.tried = append(ts.tried, tried{h, row, slotted})
	return nil
}

// Trials are those of the transaction that is open on one connection.
type Trials struct{ tried []tried }

// tried is a trial of the open transaction.
type tried struct {
	habit   *Habit
	row     RowKey
	slotted bool
}

// Committed notes that the transaction has committed: the habits by which it has counted in slots are harmless.
func (ts *Trials) Committed() {
	for _, t := range ts.tried {
		if t.slotted {
			t.habit.harmless.Store(true)
		}
	}
}

// Commits reports whether a statement that ends a transaction commits it.
func Commits(lx *rewrite.Lexis, sql string) bool {
	t := rewrite.NewScanner(lx, sql).Next()
	return strings.EqualFold(sql[t.Start:t.End], "COMMIT") || strings.EqualFold(sql[t.Start:t.End], "END")
}

// End ends the transaction's trials, whichever way the transaction ended.
func (ts *Trials) End() {
	for _, t := range ts.tried {
		t.habit.mu.Lock()
		if own := t.habit.trials[t.row]; own != nil && own.of == ts {
			close(own.over)
			delete(t.habit.trials, t.row)
		}
		t.habit.mu.Unlock()
	}
	ts.tried = ts.tried[:0]
}

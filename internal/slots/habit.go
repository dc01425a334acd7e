package slots

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// A Habit is what has been seen of transactions with statements of one form, whatever their
// literals: whether they go on to drain the rows that they have changed. Two transactions that
// have counted in slots of a row may both lock its base row; if each then wants that row to
// itself, they wait for each other. With the plain driver the second one would have waited at its
// increment.
//
// So the first transaction with an increment of a form is on trial, for its row: other
// transactions of this process that come to the row with it wait until the first one has ended. If
// that has counted in a slot and committed without a drain, increments of the form count in slots
// from then on. If it has drained its row, or would have, they lock the base row first, in the
// plain driver's order of locks. With the plain driver they would have waited as well. Here they
// wait for trialPatience at most: the transaction on trial may be waiting for them, which the
// server cannot see.
type Habit struct {
	// locksFirst: such a transaction has gone on to drain its row.
	locksFirst atomic.Bool
	// harmless: one has committed without a drain, or has taken longer than others wait for it.
	harmless atomic.Bool
	// calm: one that counted on the base row has committed. Further ones on base rows are not on trial, but wait for those that are.
	calm atomic.Bool
	// goesOn: one has gone on, after its increment in a slot, to what may lock the base row as well.
	goesOn atomic.Bool
	open   atomic.Int32 // trials
	mu     sync.Mutex
	trials map[RowKey]*trial
}

type trial struct {
	of   *Trials
	over chan struct{}
}

const trialPatience = time.Second

// maxHabits bounds the habits that are remembered; beyond it they are all forgotten.
const maxHabits = 4096

// Habits are the habits of a connector, by the form of the statement.
type Habits struct {
	mu    sync.Mutex
	forms map[string]*Habit
}

// Of returns the habit of a statement; nil for a plan that changes no rows with counters.
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
	for _, t := range lex.Tokens(d.LexRules(), sql) {
		switch t.Kind {
		case lex.Number, lex.String:
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

// NoteWouldDrain notes that a transaction with such a statement, which has its row to itself, goes
// on as one that would drain the row if it had counted in a slot. The first one that did count in
// a slot would meet those that wait for the base row. So statements of the form lock first, unless
// transactions have been seen to count in slots without a drain.
func (h *Habit) NoteWouldDrain() {
	if h != nil && !h.harmless.Load() {
		h.locksFirst.Store(true)
	}
}

// LocksFirst reports whether statements of the form lock their base row first.
func (h *Habit) LocksFirst() bool { return h != nil && h.locksFirst.Load() }

// NoteGoesOn notes that such a transaction, after its increment, has run another statement that may lock the base row: it inserts a row
// that refers to it, for example, or increments again.
func (h *Habit) NoteGoesOn() {
	if h != nil {
		h.goesOn.Store(true)
	}
}

// Harmless reports whether increments of the form neither wait for a trial nor lock their base row first.
func (h *Habit) Harmless() bool { return h == nil || h.harmless.Load() && !h.locksFirst.Load() }

// LeavesRow reports whether increments of the form may leave the base row unlocked, because its transactions lock nothing after
// them. One that did could deadlock: it would hold a slot and wait for the row, while another held the row and waited for the slot.
func (h *Habit) LeavesRow() bool { return h != nil && h.harmless.Load() && !h.goesOn.Load() }

// Await waits for another transaction that is on trial for the row, or puts the connection's own
// on trial. Slotted reports that it is about to count in a slot. A transaction that locks first
// waits as well: the one on trial shares the base row, and could not lock it exclusively while
// this one waits for it. One on the base row begins no trial once h is calm.
func (h *Habit) Await(ctx context.Context, ts *Trials, row RowKey, slotted bool) error {
	if h == nil || !slotted && h.calm.Load() && h.open.Load() == 0 {
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

// try returns the trial of another transaction for the row. If there is none it begins one, unless
// the habit is known.
func (h *Habit) try(ts *Trials, row RowKey, slotted bool) *trial {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.trials[row]; t != nil {
		if t.of == ts {
			return nil
		}
		return t
	}
	if h.locksFirst.Load() || !slotted && h.calm.Load() {
		return nil
	}
	if h.trials == nil {
		h.trials = map[RowKey]*trial{}
	}
	h.open.Add(1)
	h.trials[row] = &trial{of: ts, over: make(chan struct{})}
	ts.tried = append(ts.tried, tried{h, row, slotted})
	return nil
}

// Trials are the trials of the transaction that is open on one connection.
type Trials struct{ tried []tried }

// tried is a trial of the open transaction.
type tried struct {
	habit   *Habit
	row     RowKey
	slotted bool
}

// Committed notes that the transaction has committed: counting in slots as it did is harmless.
func (ts *Trials) Committed() {
	for _, t := range ts.tried {
		if t.slotted {
			t.habit.harmless.Store(true)
		} else {
			t.habit.calm.Store(true)
		}
	}
}

// Commits reports whether a statement that ends a transaction commits it.
func Commits(lx *lex.Rules, sql string) bool {
	t := lex.NewScanner(lx, sql).Next()
	return strings.EqualFold(sql[t.Start:t.End], "COMMIT") || strings.EqualFold(sql[t.Start:t.End], "END")
}

// MayLock reports whether a statement that is not an increment may lock rows.
func MayLock(lx *lex.Rules, sql string) bool {
	t := lex.NewScanner(lx, sql).Next()
	return !strings.EqualFold(sql[t.Start:t.End], "SELECT") || lex.HasWord(lx, sql, "for")
}

// None reports whether the transaction has no trial.
func (ts *Trials) None() bool { return len(ts.tried) == 0 }

// End ends the transaction's trials, whichever way the transaction ended.
func (ts *Trials) End() {
	for _, t := range ts.tried {
		t.habit.mu.Lock()
		if own := t.habit.trials[t.row]; own != nil && own.of == ts {
			close(own.over)
			delete(t.habit.trials, t.row)
			t.habit.open.Add(-1)
		}
		t.habit.mu.Unlock()
	}
	ts.tried = ts.tried[:0]
}

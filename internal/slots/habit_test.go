package slots

import (
	"testing"
	"testing/synctest"
)

var someRow = RowKey{Table: "posts", Values: ",1"}

// await begins a transaction's increment, and returns a channel that is closed when it may run.
func await(t *testing.T, h *Habit, ts *Trials, slotted bool) <-chan struct{} {
	t.Helper()
	may := make(chan struct{})
	go func() {
		if err := h.Await(t.Context(), ts, someRow, slotted); err != nil {
			t.Error(err)
		}
		close(may)
	}()
	synctest.Wait()
	return may
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A transaction that counts on a cold row is on trial, too: the next one would count in a slot, before
// the first has the base row, and drain it behind the first.
func TestTrialOnBaseRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Habit
		var first, second, third Trials
		if !isClosed(await(t, &h, &first, false)) {
			t.Fatal("the first transaction waits")
		}
		may := await(t, &h, &second, true)
		if isClosed(may) {
			t.Fatal("the second transaction does not wait for the first")
		}
		h.NoteWouldDrain()
		first.Committed()
		first.End()
		synctest.Wait()
		if !isClosed(may) || !h.LocksFirst() {
			t.Errorf("after the first has read its row: the second runs: %t, and locks first: %t; want both", isClosed(may), h.LocksFirst())
		}
		if !isClosed(await(t, &h, &third, true)) {
			t.Error("a form that locks first is on trial")
		}
	})
}

// What a transaction does that has its row for itself tells nothing against slots once others have done without.
func TestHabitFromSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Habit
		var ts Trials
		<-await(t, &h, &ts, false)
		ts.Committed()
		ts.End()
		if h.harmless.Load() {
			t.Error("a commit on the base row shows that slots are harmless")
		}
		<-await(t, &h, &ts, true)
		ts.Committed()
		ts.End()
		if h.NoteWouldDrain(); h.LocksFirst() {
			t.Error("a read of a row that was changed alone has the form lock first, though others have counted in slots")
		}
		if h.NoteDrain(); !h.LocksFirst() {
			t.Error("a drain of a row counted in a slot does not have the form lock first")
		}
	})
}

// Once a transaction has counted on the base row and committed, others do so without a trial. The first one that counts in a
// slot is on trial all the same, and they wait for it.
func TestHabitOnBaseRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Habit
		var first, second, third, fourth Trials
		<-await(t, &h, &first, false)
		first.Committed()
		first.End()
		<-await(t, &h, &second, false)
		if !second.None() || !isClosed(await(t, &h, &third, true)) {
			t.Error("a further transaction on the base row is on trial")
		}
		onBase, inSlot := await(t, &h, &second, false), await(t, &h, &fourth, true)
		if isClosed(onBase) || isClosed(inSlot) {
			t.Error("the first transaction in a slot is not on trial")
		}
		third.Committed()
		third.End()
		synctest.Wait()
		if !isClosed(onBase) || !isClosed(inSlot) {
			t.Error("others still wait when it has ended")
		}
	})
}

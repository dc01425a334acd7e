package slots

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A row is hot while increments would wait for transactions that hold it, and for a period afterwards; the
// period doubles when it has to be hot again at once.
func TestHeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, row := NewHeat(), RowKey{Table: "posts", Values: "1"}
		h.payoffOf(row.Table).keep(time.Now().Add(time.Hour))
		want := func(hot bool) {
			t.Helper()
			if got := h.Look(row).Hot; got != hot {
				t.Fatalf("hot: %v, want %v", got, hot)
			}
		}
		want(false)
		if h.Hold(row).Hot {
			t.Fatal("hot for the first who holds it")
		}
		h.Release(row)
		want(false)
		h.Hold(row)
		if h.Hold(row).Hot {
			t.Fatal("hot though nothing has waited")
		}
		time.Sleep(enoughWait)
		if st := h.Hold(row); !st.Hot || !st.Became {
			t.Fatal("one has held it for long, others wait, and it is not hot")
		}
		for range 3 {
			h.Release(row)
		}
		want(true)
		time.Sleep(shortestPeriod)
		want(false) // one tries the base row,
		want(true)  // and nobody else
		time.Sleep(tryTime)
		want(false)
		if h.Cooled(row) {
			t.Error("a row has cooled that is only tried")
		}
		h.NoteWait(row) // again as soon as it was tried
		time.Sleep(shortestPeriod - time.Millisecond)
		want(true)
		time.Sleep(shortestPeriod + time.Millisecond)
		want(false)
		time.Sleep(tryTime + shortestPeriod)
		if !h.Cooled(row) || h.Cooled(row) {
			t.Error("a row that has cooled is not reported exactly once")
		}
		time.Sleep(2 * longestPeriod)
		h.NoteWait(row) // after a long time it begins anew
		time.Sleep(shortestPeriod + time.Millisecond)
		want(false)
	})
}

// Rows that increments meet at by chance stay cold, however many there are, and are forgotten.
func TestHeatByChance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHeat()
		h.payoffOf("posts").keep(time.Now().Add(time.Hour))
		for i := range 10_000 { // each row is met for 2 ms, ten times a second
			row := RowKey{Table: "posts", Values: fmt.Sprint(i % 10)}
			h.Hold(row)
			time.Sleep(2 * time.Millisecond)
			if h.Hold(row).Hot {
				t.Fatal("hot")
			}
			time.Sleep(8 * time.Millisecond)
			h.Release(row)
			h.Release(row)
		}
	})
}

// A row is hot where slots of another process are met.
func TestHeatBySlotsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, refused := range []bool{false, true} {
			h, row := NewHeat(), RowKey{Table: "posts", Values: "1"}
			p := h.payoffOf(row.Table)
			if refused {
				p.state, p.until, p.last.At = isRefused, time.Now().Add(longestPause), time.Now()
				if hot, _ := h.NoteSlots(row); hot {
					t.Error("slots found just after a trial keep their row hot")
				}
				time.Sleep(shortestPeriod)
			}
			if hot, became := h.NoteSlots(row); !hot || !became || !h.Look(row).Hot {
				t.Errorf("refused %v: hot %v, became %v", refused, hot, became)
			}
			if !p.allows(time.Now()) == refused {
				t.Error("slots are refused to other rows of the table")
			}
		}
	})
}

// A row whose updates take long is hot once other sessions are found to hold it. Slow updates alone may have waited for the disk.
func TestHeatByAsking(t *testing.T) {
	t.Parallel()
	const away = 10 * time.Millisecond
	row, other := RowKey{Table: "posts", Values: "1"}, RowKey{Table: "posts", Values: "2"}
	synctest.Test(t, func(t *testing.T) {
		h := NewHeat()
		h.NoteHeld(row, false, away, nil)
		h.NoteHeld(row, false, 3*away, nil) // the server was busy
		time.Sleep(askEvery)
		h.payoffOf(row.Table).keep(time.Now().Add(time.Hour))
		took := func(row RowKey, d time.Duration) (became bool) {
			began := time.Now()
			time.Sleep(d)
			return h.NoteDuration(row, began)
		}
		slow := 2*away + slowSpare + 20*time.Millisecond
		want := func(ask, hot bool) {
			t.Helper()
			if st := h.Look(row); st.Ask != ask || st.Hot != hot {
				t.Fatalf("ask %v, hot %v; want %v, %v", st.Ask, st.Hot, ask, hot)
			}
		}
		took(row, 2*away+slowSpare)
		want(false, false)
		took(other, slow)
		want(false, false)
		for range 20 { // it took long, and nobody holds it
			took(row, slow)
			want(true, false)
			h.NoteHeld(row, false, away, nil)
			want(false, false)
			time.Sleep(askEvery)
		}
		took(row, slow)
		want(true, false)
		want(false, false) // asked just now
		time.Sleep(suspectFor + time.Millisecond)
		want(false, false) // too long ago
		for range 4 {
			took(row, slow)
			time.Sleep(askEvery)
			want(true, false)
			h.NoteHeld(row, true, away, nil)
		}
		want(false, true)
		time.Sleep(shortestPeriod + time.Millisecond)
		want(false, false)
		if !took(row, slow) {
			t.Error("cold though it waits again as soon as it was tried")
		}
		want(false, true)
		time.Sleep(2*shortestPeriod + 4*shortestPeriod + time.Millisecond)
		took(row, slow)
		want(true, false)
		h.NoteHeld(row, false, time.Second, context.DeadlineExceeded) // then slow updates are all there is to go by
		for range 3 {
			took(row, slow)
			h.Look(row)
		}
		want(false, false) // no question so soon after one that failed
	})
}

// What is known of a row that has been slow once is forgotten.
func TestHeatForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, row := NewHeat(), RowKey{Table: "posts", Values: "1"}
		began := time.Now()
		time.Sleep(time.Second)
		h.NoteDuration(row, began)
		time.Sleep(suspectFor + time.Millisecond)
		if h.Look(row); h.known.Load() != 0 {
			t.Error("it is still known")
		}
	})
}

// Rows that transactions hold stay known. A shard that is full of them is not swept for each further one.
func TestHeatHeld(t *testing.T) {
	t.Parallel()
	h := NewHeat()
	rows := make([]RowKey, 4*heatShards*maxWarmRows)
	for i := range rows {
		rows[i] = RowKey{Table: "posts", Values: fmt.Sprint(i)}
		h.Hold(rows[i])
	}
	for i := range h.shards {
		if s := &h.shards[i]; s.most < 2*maxWarmRows || s.most > 4*len(s.rows) {
			t.Errorf("shard %d with %d rows is swept at %d", i, len(s.rows), s.most)
		}
	}
	if n := h.known.Load(); n != int64(len(rows)) {
		t.Errorf("%d rows are known of %d", n, len(rows))
	}
	for _, row := range rows {
		h.Release(row)
	}
	if n := h.known.Load(); n != 0 {
		t.Errorf("%d rows are known of none", n)
	}
}

package slots

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A row is hot while transactions that count it overlap, and for a period afterwards; the
// period doubles when it has to be hot again at once.
func TestHeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, row := NewHeat(), RowKey{Table: "posts", Values: "1"}
		want := func(hot bool) {
			t.Helper()
			if got, _ := h.Hot(row); got != hot {
				t.Fatalf("hot: %v, want %v", got, hot)
			}
		}
		want(false)
		if hot, _ := h.Hold(row); hot {
			t.Fatal("hot for the first who holds it")
		}
		h.Release(row)
		want(false)
		h.Hold(row)
		if hot, became := h.Hold(row); !hot || !became {
			t.Fatal("two hold it, and it is not hot")
		}
		h.Release(row)
		h.Release(row)
		want(true)
		time.Sleep(shortestPeriod + time.Millisecond)
		want(false)
		h.NoteWait(row) // again as soon as it was tried
		time.Sleep(shortestPeriod + time.Millisecond)
		want(true)
		time.Sleep(shortestPeriod)
		want(false)
		time.Sleep(2 * longestPeriod)
		h.NoteWait(row) // after a long time it begins anew
		time.Sleep(shortestPeriod + time.Millisecond)
		want(false)
	})
}

// A row is hot when one update of it after another takes much longer than updates take,
// however long these do. One that does may have waited for the disk.
func TestHeatTook(t *testing.T) {
	t.Parallel()
	row, other := RowKey{Table: "posts", Values: "1"}, RowKey{Table: "posts", Values: "2"}
	for _, usual := range []time.Duration{200 * time.Microsecond, 20 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h := NewHeat()
			took := func(row RowKey, d time.Duration, hot bool) {
				t.Helper()
				began := time.Now()
				time.Sleep(d)
				if h.NoteDuration(row, began) != hot {
					t.Fatalf("%v where %v is usual: hot %v, want %v", d, usual, !hot, hot)
				}
			}
			long := 4 * (slowFactor*usual + slowSpare)
			for range 200 {
				took(row, usual, false)
			}
			took(row, 3*usual, false)
			took(row, long, false)
			took(other, long, false) // of another row
			time.Sleep(slowWindow + time.Millisecond)
			took(row, long, false) // too late
			h.Hold(row)
			h.Release(row) // by a transaction
			took(row, long, true)
			time.Sleep(shortestPeriod + time.Millisecond)
			took(row, long, true) // again as soon as it was tried

			began := time.Now()
			time.Sleep(long)
			third := RowKey{Table: "posts", Values: "3"}
			for range 2 { // both were under way while the disk was slow
				if h.NoteDuration(third, began) {
					t.Fatal("hot by updates that ran side by side")
				}
			}
		})
	}
}

// A table is hot as a whole when several of its rows are grouped within a second.
func TestHeatCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHeat()
		other := RowKey{Table: "posts", Values: "other"}
		group := func(table string, rows int, every time.Duration) {
			for i := range rows {
				h.NoteGrouped(RowKey{Table: table, Values: fmt.Sprint(i)})
				time.Sleep(every)
			}
		}
		group("posts", crowdRows-1, 0)
		group("pages", crowdRows, 0)
		if hot, _ := h.Hot(other); hot {
			t.Error("hot for fewer rows than are a crowd")
		}
		time.Sleep(2 * crowdWindow)
		group("posts", 2*crowdRows, crowdWindow)
		if hot, _ := h.Hot(other); hot {
			t.Error("hot for rows that are grouped one after another")
		}
		group("posts", crowdRows, 0)
		if hot, _ := h.Hot(other); !hot {
			t.Error("not hot for a crowd")
		}
		time.Sleep(shortestPeriod + time.Millisecond)
		if hot, _ := h.Hot(other); hot {
			t.Error("still hot")
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

package postgres

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// Increments, drains of one row and of all rows, and readers at the same
// time: no total ever goes back, and in the end every increment is counted.
func TestTotalsStayExact(t *testing.T) {
	t.Parallel()
	open := database(t, posts, `INSERT INTO posts (id) VALUES (1), (2)`)
	watch := open()
	tb := watch.counter("posts", []string{"id"}, 4, "views")
	watch.migrate(tb)
	var want [3]atomic.Int64
	var work, drains sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		s := open()
		work.Add(1)
		go func() {
			defer work.Done()
			for n := range 100 {
				id := 1 + n%2
				rows, err := s.try(incr(tb, fmt.Sprint("id = ", id), (i+n)%4, "views", "1"))
				if err != nil {
					t.Error(err)
					return
				}
				want[id].Add(rows)
			}
		}()
	}
	for i, scope := range []rewrite.Scope{one("id = 1"), {}, one("id = 2")} {
		s, witness := open(), open()
		drains.Add(1)
		go func() {
			defer drains.Done()
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				err := s.each(append([]string{"BEGIN ISOLATION LEVEL " + levels[(i+n)%3]}, New().Lock(tb, scope)...))
				if err == nil {
					err = s.folds(witness, tb, scope)
				}
				if err == nil {
					err = s.each([]string{"UPDATE posts SET views = views + 0 WHERE id = 2", "COMMIT"})
				}
				if err != nil {
					if code := state(err); code != "40001" && code != "40P01" {
						t.Error(err)
					}
					s.try("ROLLBACK")
				}
			}
		}()
	}
	r := open()
	drains.Add(1)
	go func() {
		defer drains.Done()
		last := 0
		for {
			select {
			case <-done:
				return
			default:
			}
			rows, err := r.Query(t.Context(), total(tb, "views", "id = 1"))
			if err != nil {
				t.Error(err)
				return
			}
			var got int
			fmt.Sscan(fmt.Sprint(rows[0][0]), &got)
			if got < last {
				t.Errorf("total went from %d back to %d", last, got)
			}
			last = got
		}
	}()
	work.Wait()
	close(done)
	drains.Wait()
	for id := 1; id < 3; id++ {
		watch.wants(total(tb, "views", fmt.Sprint("id = ", id)), fmt.Sprint(want[id].Load()))
	}
}

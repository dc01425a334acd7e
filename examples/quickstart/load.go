package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// kind is what a client does: of 20 requests, 14 are views of the hot page,
// 2 are visits, 3 read the page and 1 reads the top-10 list.
type kind int

const (
	view kind = iota
	visit
	read
	top
	kinds
)

var requests = [20]kind{0: visit, 10: visit, 5: read, 12: read, 17: read, 15: top} // the others are views

const hotPage = 1

// result is what the clients of one run have seen: for every request that was
// acknowledged its latency, in order of kind, sorted.
type result struct {
	elapsed time.Duration
	took    [kinds][]time.Duration
	failed  int
	failure error // the first
}

// load lets clients send requests to the application for the given time.
// Requests under way at the end are waited for, so that every one is either
// acknowledged or failed.
func load(ctx context.Context, clients int, d time.Duration) *result {
	var (
		total result
		mu    sync.Mutex
		wg    sync.WaitGroup
		start = time.Now()
	)
	ctx, cancel := context.WithDeadline(ctx, start.Add(d))
	defer cancel()
	for c := range clients {
		wg.Go(func() {
			var own result
			for n := c; ctx.Err() == nil; n++ {
				k := requests[n%len(requests)]
				sent := time.Now()
				if err := request(k, int64(c)); err != nil {
					own.failed++
					own.failure = err
					continue
				}
				own.took[k] = append(own.took[k], time.Since(sent))
			}
			mu.Lock()
			defer mu.Unlock()
			for k := range own.took {
				total.took[k] = append(total.took[k], own.took[k]...)
			}
			total.failed += own.failed
			if total.failure == nil {
				total.failure = own.failure
			}
		})
	}
	wg.Wait()
	total.elapsed = time.Since(start)
	for _, t := range total.took {
		slices.Sort(t)
	}
	return &total
}

func request(k kind, client int64) error {
	switch k {
	case view:
		return viewPage(hotPage)
	case visit:
		return visitPage(hotPage, client)
	case read:
		_, err := getPage(hotPage)
		return err
	default:
		pages, err := topPages()
		if err == nil && len(pages) != 10 {
			err = fmt.Errorf("the top-10 list has %d pages", len(pages))
		}
		return err
	}
}

func (r *result) perSecond(k kind) float64 { return float64(len(r.took[k])) / r.elapsed.Seconds() }

// quantile returns the latency that the fraction q of the requests did not
// exceed.
func (r *result) quantile(k kind, q float64) time.Duration {
	t := r.took[k]
	if len(t) == 0 {
		return 0
	}
	return t[min(len(t)-1, int(q*float64(len(t))))]
}

// hammered is what the callers of one statement have seen.
type hammered struct {
	times, perSecond, last int64 // last: the highest number that one was given
	failure                error // the first
}

// hammer has one statement run by many callers at once for the given time.
func hammer(ctx context.Context, callers int, d time.Duration, statement func() (int64, error)) (all hammered) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(d))
	defer cancel()
	for range callers {
		wg.Go(func() {
			var own hammered
			for ctx.Err() == nil && own.failure == nil {
				n, err := statement()
				if own.failure = err; err == nil {
					own.times++
					own.last = max(own.last, n)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.times += own.times
			all.last = max(all.last, own.last)
			all.failure = cmp.Or(all.failure, own.failure)
		})
	}
	wg.Wait()
	all.perSecond = int64(float64(all.times) / time.Since(start).Seconds())
	return all
}

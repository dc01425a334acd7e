package pageviews

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// kind is what a visitor of the page does: of 20 requests, 14 are views of the hot page,
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

// hammered is what the callers of one statement have seen.
type hammered struct {
	times, perSecond, last int64 // last: the highest number that one was given
	failure                error // the first
}

// hammer has one statement run by many callers at once for the given time, each of which sends the
// next one as soon as it has the answer.
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

// offered is what has become of requests that came at a fixed rate.
type offered struct {
	took   []time.Duration // from when a request came to its answer; sorted
	served [kinds]int64
	behind time.Duration // how long the last request that was sent had waited for a connection
	failed int
	err    error // the first
}

// offer sends requests at a fixed rate, as visitors do: they do not wait for each other. Those that
// come while all connections are in use wait for one, and that counts. (Clients that wait for their
// own answers slow down with the database, and so hide how long others would have waited.)
// What has not been sent when the time is over is left out.
func offer(ctx context.Context, b *blog, connections, perSecond int, d time.Duration) *offered {
	var (
		total offered
		mu    sync.Mutex
		wg    sync.WaitGroup
		next  atomic.Int64
		start = time.Now()
	)
	for c := range connections {
		wg.Go(func() {
			var own offered
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				came := start.Add(time.Duration(n) * time.Second / time.Duration(perSecond))
				if came.Sub(start) > d || time.Since(start) > d {
					break
				}
				time.Sleep(time.Until(came))
				own.behind = time.Since(came)
				k := requests[n%int64(len(requests))]
				if err := b.request(k, int64(c)); err != nil {
					own.failed++
					own.err = cmp.Or(own.err, err)
					continue
				}
				own.served[k]++
				own.took = append(own.took, time.Since(came))
			}
			mu.Lock()
			defer mu.Unlock()
			total.took = append(total.took, own.took...)
			for k, n := range own.served {
				total.served[k] += n
			}
			total.behind = max(total.behind, own.behind)
			total.failed += own.failed
			total.err = cmp.Or(total.err, own.err)
		})
	}
	wg.Wait()
	slices.Sort(total.took)
	return &total
}

func (b *blog) request(k kind, client int64) error {
	switch k {
	case view:
		return b.viewPage(hotPage)
	case visit:
		return b.visitPage(hotPage, client)
	case read:
		_, err := b.getPage(hotPage)
		return err
	default:
		pages, err := b.topPages()
		if err == nil && len(pages) != 10 {
			err = fmt.Errorf("the top-10 list has %d pages", len(pages))
		}
		return err
	}
}

// quantile returns the latency that the fraction q of the requests did not exceed.
func (o *offered) quantile(q float64) time.Duration {
	if len(o.took) == 0 {
		return 0
	}
	return o.took[min(len(o.took)-1, int(q*float64(len(o.took))))]
}

// keptUp reports whether requests were served as they came: at the end none had waited for long.
func (o *offered) keptUp() bool { return o.behind < patience && o.quantile(.99) < patience }

// patience is what a visitor waits for a page before it is a slow one.
const patience = 250 * time.Millisecond

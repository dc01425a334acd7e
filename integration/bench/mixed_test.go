package bench

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"
)

// mixed measures operations that wait for no other: each client takes either side at random
// for each operation, for as long as a ratio takes. What the machine, the server and its disk
// do at the moment is then the same for both, where turns differ by several percent from that
// alone. It reports the mean time of an operation, not the throughput of a side:
//
//	plain-ns/op, wrapped-ns/op   means over all operations
//	speedup                      plain/wrapped: above 1, wrapped is faster
func mixed(b *testing.B, plain, wrapped *side, op operation, clients int) {
	b.Helper()
	if b.N > 1 {
		return
	}
	sides := [2]*side{plain, wrapped}
	for _, s := range sides {
		driveFor(b, s, op, clients) // every connection prepares what it needs
	}
	type tally struct {
		took [2]time.Duration
		n    [2]int
	}
	tallies := make(chan tally, clients)
	end := time.Now().Add(enough)
	for range clients {
		go func() {
			var t tally
			for time.Now().Before(end) {
				i := rand.IntN(2)
				start := time.Now()
				if err := op(context.Background(), sides[i]); err != nil {
					b.Error(err)
					break
				}
				t.took[i] += time.Since(start)
				t.n[i]++
			}
			tallies <- t
		}()
	}
	var sum tally
	for range clients {
		t := <-tallies
		for i := range sides {
			sum.took[i] += t.took[i]
			sum.n[i] += t.n[i]
		}
	}
	p, w := float64(sum.took[0])/float64(sum.n[0]), float64(sum.took[1])/float64(sum.n[1])
	b.ReportMetric(0, "ns/op") // of both together: says nothing
	b.ReportMetric(p, "plain-ns/op")
	b.ReportMetric(w, "wrapped-ns/op")
	b.ReportMetric(p/w, "speedup")
}

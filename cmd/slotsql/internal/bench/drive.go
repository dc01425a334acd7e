package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A run goes through these phases without a break.
const (
	warmingUp = iota
	measuring
	over
)

// errorsInARow ends a client's part: nothing will come of it.
const errorsInARow = 1000

// sample is what one run gave.
type sample struct {
	number       int // of the repetition
	acknowledged int64
	inexact      *InexactError
	measured     time.Duration // the time that the rest was counted in
	increments   *hdrhistogram.Histogram
	reads        *hdrhistogram.Histogram
	retries      int64
	errors       map[string]int64 // by text; of all phases
	gaveUp       int              // clients
	soldOut      bool             // a client was refused: its budget is used up
}

func (s *sample) numbered(n int) *sample {
	s.number = n
	return s
}

// newHistogram counts nanoseconds with two significant digits, from a
// microsecond to ten minutes.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(10*time.Minute), 2)
}

// drive has the clients work through warm-up and run. It counts the operations
// that end within the run; what is under way when the run ends is waited for.
// All acknowledged increments count for the check, warm-up included.
func drive(ctx context.Context, s Scenario, p Point, plan Plan) (*sample, error) {
	var phase atomic.Int32
	keys := newKeys(plan.Keys, plan.Zipf)
	parts := make([]*sample, p.Clients)
	begin := make(chan struct{})
	var wait sync.WaitGroup
	for i := range parts {
		parts[i] = &sample{increments: newHistogram(), reads: newHistogram(), errors: map[string]int64{}}
		wait.Go(func() {
			<-begin
			parts[i].client(ctx, s, &Client{rng: newRand(), keys: keys}, p.ReadShare, &phase)
		})
	}
	close(begin)
	idle := make(chan struct{}) // there is nothing left to do
	go func() {
		wait.Wait()
		close(idle)
	}()
	err := pauseUntil(ctx, time.Duration(plan.Warmup), idle)
	start := time.Now()
	if err == nil {
		phase.Store(measuring)
		err = pauseUntil(ctx, time.Duration(plan.Duration), idle)
	}
	phase.Store(over)
	measured := time.Since(start)
	<-idle
	if err != nil {
		return nil, err
	}
	all := &sample{measured: measured, increments: newHistogram(), reads: newHistogram(), errors: map[string]int64{}}
	for _, part := range parts {
		all.merge(part)
	}
	return all, nil
}

func (s *sample) client(ctx context.Context, scenario Scenario, c *Client, readShare float64, phase *atomic.Int32) {
	for failed := 0; phase.Load() != over; {
		read := readShare > 0 && c.rng.Float64() < readShare
		into, do := s.increments, scenario.Increment
		if read {
			into, do = s.reads, scenario.Read
		}
		c.retries = 0
		start := time.Now()
		err := do(ctx, c)
		took := time.Since(start)
		if err == nil && !read {
			s.acknowledged++
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errSoldOut):
			s.soldOut = true
			return
		case err != nil:
			s.fail(err.Error(), 1)
			if failed++; failed == errorsInARow {
				s.gaveUp++
				return
			}
			continue
		}
		failed = 0
		if phase.Load() == measuring {
			_ = into.RecordValue(min(took.Nanoseconds(), into.HighestTrackableValue()))
			s.retries += c.retries
		}
	}
}

func (s *sample) merge(part *sample) {
	s.acknowledged += part.acknowledged
	s.increments.Merge(part.increments)
	s.reads.Merge(part.reads)
	s.retries += part.retries
	s.gaveUp += part.gaveUp
	s.soldOut = s.soldOut || part.soldOut
	for text, n := range part.errors {
		s.fail(text, n)
	}
}

// fail counts errors by message; messages that all differ do not pile up.
func (s *sample) fail(text string, n int64) {
	const most = 20
	if _, known := s.errors[text]; !known && len(s.errors) >= most {
		text = "other errors"
	}
	s.errors[text] += n
}

// pause sleeps.
func pause(ctx context.Context, d time.Duration) error { return pauseUntil(ctx, d, nil) }

// pauseUntil sleeps, and wakes early when there is a reason to.
func pauseUntil(ctx context.Context, d time.Duration, reason <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-reason:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

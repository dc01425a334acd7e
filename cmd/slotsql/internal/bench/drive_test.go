package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counter counts in memory; each increment takes a time.
type counter struct {
	n, reads atomic.Int64
	takes    time.Duration
	loses    int64                           // increments that it forgets
	fail     func(n int64) error             // of increment n; may be nil
	total    error                           // of Total
	up, down func(ctx context.Context) error // may be nil
}

func (c *counter) Setup(ctx context.Context) error {
	if c.up != nil {
		return c.up(ctx)
	}
	return nil
}

func (c *counter) Increment(_ context.Context, client *Client) error {
	time.Sleep(c.takes)
	client.retries++
	if c.fail != nil {
		if err := c.fail(c.n.Load()); err != nil {
			return err
		}
	}
	c.n.Add(1)
	return nil
}

func (c *counter) Read(context.Context, *Client) error {
	time.Sleep(c.takes)
	c.reads.Add(1)
	return nil
}

func (c *counter) Total(context.Context) (int64, error) { return c.n.Load() - c.loses, c.total }

func (c *counter) Teardown(ctx context.Context) error {
	if c.down != nil {
		return c.down(ctx)
	}
	return nil
}

func testPlan() Plan {
	p := preset(Plan{Clients: []int{4}})
	// No operation of whole milliseconds ends when a phase does.
	p.Duration, p.Warmup, p.Runs = ms(1000), ms(100.5), 3
	return p
}

// Four clients whose operations take 2 ms do 2000 a second, warm-up not
// counted, which the check does count.
func TestDrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{takes: 2 * time.Millisecond}
		s, err := measure(t.Context(), c, Point{Clients: 4}, testPlan())
		if err != nil {
			t.Fatal(err)
		}
		if s.inexact != nil || s.acknowledged != 2204 {
			t.Errorf("%d acknowledged, %v", s.acknowledged, s.inexact)
		}
		if got := s.operations(); math.Abs(got-2000) > 10 {
			t.Errorf("%v operations per second", got)
		}
		if s.retries != s.increments.TotalCount() {
			t.Errorf("%d retries of %d increments", s.retries, s.increments.TotalCount())
		}
		l := latencies([]*sample{s}, (*sample).incrementTimes)
		for _, v := range []float64{l.P50, l.P95, l.P99, l.Max} {
			if math.Abs(v-2) > 0.02 {
				t.Errorf("latencies %+v", l)
			}
		}
		if latencies([]*sample{s}, (*sample).readTimes) != nil {
			t.Error("latencies of no reads")
		}
	})
}

func TestReadShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{takes: time.Millisecond}
		s, err := measure(t.Context(), c, Point{Clients: 8, ReadShare: 0.25}, testPlan())
		if err != nil {
			t.Fatal(err)
		}
		if s.inexact != nil || s.acknowledged != c.n.Load() || s.acknowledged+c.reads.Load() != 8808 {
			t.Errorf("%d acknowledged, %d reads, %v", s.acknowledged, c.reads.Load(), s.inexact)
		}
		if share := float64(c.reads.Load()) / 8808; math.Abs(share-0.25) > 0.05 { // ten standard deviations
			t.Errorf("%v of the operations are reads", share)
		}
	})
}

// Errors are counted by text, acknowledge nothing and end nothing, until a
// client has met nothing else for long.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int64
		c := &counter{takes: time.Millisecond, fail: func(int64) error {
			if calls++; calls%2 == 0 {
				return errors.New("deadlock")
			}
			return nil
		}}
		s, err := measure(t.Context(), c, Point{Clients: 1}, testPlan())
		if err != nil {
			t.Fatal(err)
		}
		if s.inexact != nil || s.acknowledged != 551 || s.errors["deadlock"] != 550 || s.gaveUp != 0 {
			t.Errorf("%d acknowledged, errors %v, %d gave up, %v", s.acknowledged, s.errors, s.gaveUp, s.inexact)
		}
		c = &counter{fail: func(int64) error { return errors.New("gone") }}
		s, err = measure(t.Context(), c, Point{Clients: 3}, testPlan())
		if err != nil || s.gaveUp != 3 || s.errors["gone"] != 3*errorsInARow {
			t.Errorf("%+v %v", s, err)
		}
		for i := range 50 {
			s.fail(strings.Repeat("x", i), 1)
		}
		if len(s.errors) > 21 || s.errors["other errors"] == 0 {
			t.Errorf("%d messages", len(s.errors))
		}
	})
}

// A scenario whose total is off has no numbers, in no form of the report.
func TestInexact(t *testing.T) {
	for _, c := range []struct {
		loses int64
		want  string
	}{{1, "1 of 2,204 acknowledged increments are lost"}, {-2, "2 increments are counted beyond the 2,204 acknowledged"}} {
		synctest.Test(t, func(t *testing.T) {
			p := Point{Clients: 4, Slots: 64}
			good, err := measure(t.Context(), &counter{takes: 2 * time.Millisecond}, p, testPlan())
			if err != nil {
				t.Fatal(err)
			}
			bad, err := measure(t.Context(), &counter{takes: 2 * time.Millisecond, loses: c.loses}, p, testPlan())
			if err != nil {
				t.Fatal(err)
			}
			plain, lossy := kindOf(naiveName).ScenarioInfo, kindOf("lock-free").ScenarioInfo
			// One bad run of three is enough.
			m := measurement(
				p,
				[]collected{{info: plain, samples: []*sample{good}}, {info: lossy, samples: []*sample{good, bad, good}}},
				naiveName,
				func(s string) string { return s },
			)
			r := m.Of("lock-free")
			if r.Outcome != Inexact || r.Numbers != nil || r.Reason != c.want {
				t.Errorf("%+v", r)
			}
			if n := m.Of(naiveName); n.Outcome != Exact || n.Numbers == nil {
				t.Errorf("%+v", n)
			}
			report := &Report{Plan: testPlan(), Scenarios: []ScenarioInfo{plain, lossy}, Points: []Measurement{m}}
			if report.Inexact() != 1 {
				t.Errorf("%d results are inexact", report.Inexact())
			}
			var text, page bytes.Buffer
			if err := errors.Join(report.WriteText(&text), report.WriteHTML(&page)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "lock-free: NOT EXACT, no numbers: "+c.want) {
				t.Errorf("%s", &text)
			}
			for line := range strings.Lines(text.String()) {
				if strings.Contains(line, " lock-free ") && strings.Contains(line, "2,0") {
					t.Errorf("a number: %s", line)
				}
			}
			if !strings.Contains(page.String(), "not exact") || !strings.Contains(page.String(), "banner bad") {
				t.Error("the page does not say so")
			}
			for _, chart := range report.charts() {
				for _, s := range chart.Series {
					if s.Scenario == "lock-free" {
						t.Errorf("chart %q draws it", chart.Title)
					}
				}
			}
			if b, err := json.Marshal(r); err != nil || strings.Contains(string(b), "numbers") ||
				strings.Contains(string(b), "per_second") {
				t.Errorf("%s %v", b, err)
			}
		})
	}
}

// A scenario that reads another total than its tables hold is inexact as well;
// one whose total cannot be read has failed.
func TestInexactReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{
			takes: time.Millisecond,
			total: &InexactError{Acknowledged: 1000, Total: 999, what: "the tables hold %s, the application reads %s"},
		}
		s, err := measure(t.Context(), c, Point{Clients: 1}, testPlan())
		if err != nil || s.inexact == nil || s.inexact.Error() != "the tables hold 1,000, the application reads 999" {
			t.Errorf("%+v %v", s, err)
		}
		if s, err := measure(
			t.Context(),
			&counter{takes: time.Millisecond, total: errors.New("gone")},
			Point{Clients: 1},
			testPlan(),
		); err == nil {
			t.Errorf("%+v", s)
		}
	})
}

// When the naive scenario is inexact nothing is compared with it.
func TestInexactNaive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Point{Clients: 1}
		good, _ := measure(t.Context(), &counter{takes: time.Millisecond}, p, testPlan())
		bad, _ := measure(t.Context(), &counter{takes: time.Millisecond, loses: 1}, p, testPlan())
		m := measurement(
			p,
			[]collected{
				{info: kindOf(naiveName).ScenarioInfo, samples: []*sample{bad}},
				{info: kindOf(wrappedName).ScenarioInfo, samples: []*sample{good}},
			},
			naiveName,
			strings.TrimSpace,
		)
		if n := m.Of(wrappedName).Numbers; n == nil || n.RatioToNaive != 0 {
			t.Errorf("%+v", n)
		}
		if s := (&Report{Points: []Measurement{m}}).Summary(); strings.Contains(s.Headline, "plain driver") {
			t.Errorf("%+v", s)
		}
	})
}

// What was set up is taken down, whatever happens between, and a failure of
// that is an error of its own.
func TestTeardown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		for _, c := range []struct {
			name    string
			counter *counter
			cancel  time.Duration
			want    error
		}{
			{"setup fails", &counter{up: func(context.Context) error { return broken }}, 0, broken},
			{"interrupted", &counter{takes: time.Millisecond}, 500 * time.Millisecond, context.Canceled},
		} {
			taken := false
			c.counter.down = func(ctx context.Context) error {
				taken = true
				return ctx.Err()
			}
			ctx, cancel := context.WithCancel(t.Context())
			if c.cancel > 0 {
				time.AfterFunc(c.cancel, cancel)
			}
			if _, err := measure(ctx, c.counter, Point{Clients: 2}, testPlan()); !errors.Is(err, c.want) || !taken {
				t.Errorf("%s: %v, taken down %v", c.name, err, taken)
			}
			cancel()
		}
		_, err := measure(
			t.Context(),
			&counter{takes: time.Millisecond, down: func(context.Context) error { return broken }},
			Point{Clients: 1},
			testPlan(),
		)
		if !errors.As(err, new(*leftoverError)) || !errors.Is(err, broken) {
			t.Error(err)
		}
	})
}

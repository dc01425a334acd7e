package bench

import (
	"cmp"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// reportSchema is the version of a Report's JSON. Keys may be added to it;
// another number means that one has changed or gone.
const reportSchema = 1

// Report is what a Run found.
type Report struct {
	Schema      int            `json:"schema"`
	Started     time.Time      `json:"started"`
	Took        Duration       `json:"took_ms"`
	Interrupted bool           `json:"interrupted"`
	Environment Environment    `json:"environment"`
	Command     string         `json:"command,omitempty"` // that repeats it
	Plan        Plan           `json:"plan"`
	Scenarios   []ScenarioInfo `json:"scenarios"`
	Points      []Measurement  `json:"points"`
}

// Measurement is what was found at one point.
type Measurement struct {
	Point   Point    `json:"point"`
	Results []Result `json:"results"` // in the order of Scenarios
}

// Outcome says what became of a scenario at a point.
type Outcome string

// The outcomes. Only exact ones have numbers.
const (
	Exact         Outcome = "exact"          // total = acknowledged increments, in every run
	Inexact       Outcome = "inexact"        // not so
	Failed        Outcome = "failed"         // could not be set up or checked
	NotApplicable Outcome = "not_applicable" // not of this engine, or not at this point
	NotRun        Outcome = "not_run"        // interrupted before
)

// Result is what was found of one scenario at one point.
type Result struct {
	Scenario     string       `json:"scenario"`
	Outcome      Outcome      `json:"outcome"`
	Expected     bool         `json:"expected,omitempty"` // inexact, as this scenario is
	Reason       string       `json:"reason,omitempty"`   // of an outcome that is not exact
	Runs         int          `json:"runs"`               // that were finished
	Acknowledged int64        `json:"acknowledged_increments"`
	Errors       int64        `json:"errors"` // operations that failed, in all runs
	ErrorTexts   []ErrorCount `json:"error_texts,omitempty"`
	GaveUp       int          `json:"clients_gave_up,omitempty"` // after 1000 errors in a row
	Numbers      *Numbers     `json:"numbers,omitempty"`         // only when exact
}

// ErrorCount is how often an error came.
type ErrorCount struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// Numbers are medians over the runs.
type Numbers struct {
	Operations float64 `json:"operations_per_second"` // increments and reads
	Increments float64 `json:"increments_per_second"`
	Reads      float64 `json:"reads_per_second"`
	// RatioToNaive is of operations: the median of the runs' ratios. With a budget it is
	// that to lock-free, the plain statement that is exact.
	RatioToNaive float64  `json:"ratio_to_naive,omitempty"`
	Increment    *Latency `json:"increment_latency_ms,omitempty"`
	Read         *Latency `json:"read_latency_ms,omitempty"`
	Retries      float64  `json:"retries_per_increment"` // of the lock-free scenario
}

// Latency holds percentiles in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// collected is what the runs of one scenario at one point gave.
type collected struct {
	info            ScenarioInfo
	loses           bool
	samples         []*sample
	skipped, failed string
}

// measurement makes the results of a point.
func measurement(p Point, all []collected, baseline string, redact func(string) string) Measurement {
	m := Measurement{Point: p}
	var base []*sample
	for i := range all {
		if all[i].info.Name == baseline && all[i].inexact() == nil {
			base = all[i].samples
		}
	}
	for i := range all {
		m.Results = append(m.Results, all[i].result(base, redact))
	}
	return m
}

// has reports whether anything was found.
func (m *Measurement) has() bool {
	return slices.ContainsFunc(m.Results, func(r Result) bool { return r.Outcome != NotRun })
}

// Of returns the result of a scenario, or nil.
func (m *Measurement) Of(scenario string) *Result {
	for i := range m.Results {
		if m.Results[i].Scenario == scenario {
			return &m.Results[i]
		}
	}
	return nil
}

func (c *collected) inexact() *InexactError {
	for _, s := range c.samples {
		if s.inexact != nil {
			return s.inexact
		}
	}
	return nil
}

func (c *collected) result(base []*sample, redact func(string) string) Result {
	r := Result{Scenario: c.info.Name, Runs: len(c.samples)}
	messages := map[string]int64{}
	for _, s := range c.samples {
		r.Acknowledged += s.acknowledged
		r.GaveUp += s.gaveUp
		for text, n := range s.errors {
			messages[redact(text)] += n
			r.Errors += n
		}
	}
	for text, n := range messages {
		r.ErrorTexts = append(r.ErrorTexts, ErrorCount{text, n})
	}
	slices.SortFunc(r.ErrorTexts, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	r.ErrorTexts = r.ErrorTexts[:min(len(r.ErrorTexts), 5)]
	inexact := c.inexact()
	switch {
	case c.skipped != "":
		r.Outcome, r.Reason = NotApplicable, c.skipped
	case c.failed != "":
		r.Outcome, r.Reason = Failed, c.failed
	case len(c.samples) == 0:
		r.Outcome = NotRun
	case inexact != nil:
		r.Outcome, r.Reason, r.Expected = Inexact, inexact.Error(), c.loses
	default:
		r.Outcome, r.Numbers = Exact, c.numbers(base)
	}
	return r
}

func (c *collected) numbers(plain []*sample) *Numbers {
	over := func(f func(*sample) float64) float64 {
		v := make([]float64, len(c.samples))
		for i, s := range c.samples {
			v[i] = f(s)
		}
		return median(v)
	}
	n := &Numbers{
		Operations: over((*sample).operations),
		Increments: over(func(s *sample) float64 { return s.rate(s.increments.TotalCount()) }),
		Reads:      over(func(s *sample) float64 { return s.rate(s.reads.TotalCount()) }),
		Increment:  latencies(c.samples, (*sample).incrementTimes),
		Read:       latencies(c.samples, (*sample).readTimes),
		Retries: over(func(s *sample) float64 {
			return float64(s.retries) / float64(max(1, s.increments.TotalCount()))
		}),
	}
	var ratios []float64
	for _, s := range c.samples {
		for _, base := range plain {
			if base.number == s.number && base.operations() > 0 {
				ratios = append(ratios, s.operations()/base.operations())
			}
		}
	}
	n.RatioToNaive = median(ratios)
	return n
}

// rate is 0 for a run that was given up before it began.
func (s *sample) rate(n int64) float64 {
	if s.measured <= 0 {
		return 0
	}
	return float64(n) / s.measured.Seconds()
}

func (s *sample) operations() float64 {
	return s.rate(s.increments.TotalCount() + s.reads.TotalCount())
}

func (s *sample) incrementTimes() *hdrhistogram.Histogram { return s.increments }
func (s *sample) readTimes() *hdrhistogram.Histogram      { return s.reads }

// latencies returns the medians of the runs' percentiles; nil when nothing
// was recorded.
func latencies(samples []*sample, of func(*sample) *hdrhistogram.Histogram) *Latency {
	at := func(q float64) float64 {
		var v []float64
		for _, s := range samples {
			if h := of(s); h.TotalCount() > 0 {
				v = append(v, time.Duration(h.ValueAtQuantile(q)).Seconds()*1000)
			}
		}
		return median(v)
	}
	l := &Latency{P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
	if l.Max == 0 {
		return nil
	}
	return l
}

// median returns the middle value, or the mean of the two in the middle; 0 of
// nothing.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// Inexact returns how many results are inexact and should not be.
func (r *Report) Inexact() int { return r.count(Inexact) }

// Exact returns how many results have numbers.
func (r *Report) Exact() int { return r.count(Exact) }

func (r *Report) count(o Outcome) (n int) {
	for i := range r.Points {
		for j := range r.Points[i].Results {
			if result := &r.Points[i].Results[j]; result.Outcome == o && !result.Expected {
				n++
			}
		}
	}
	return n
}

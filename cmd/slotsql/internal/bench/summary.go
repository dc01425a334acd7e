package bench

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
)

// Summary is what a report comes to, in words.
type Summary struct {
	Headline string
	Detail   string
	Cards    []Card
}

// Card is one number of a summary.
type Card struct{ Value, What, Beside string }

// pair is a point where both naive and wrapped have numbers.
type pair struct {
	point          Point
	naive, wrapped *Result
}

func (p pair) ratio() float64 { return p.wrapped.Numbers.RatioToNaive }

// some reports whether both finished operations, so that there is a ratio.
func (p pair) some() bool { return p.naive.Numbers.Operations > 0 && p.ratio() > 0 }

func (r *Report) pairs() (list []pair) {
	for i := range r.Points {
		m := &r.Points[i]
		n, w := m.Of(r.Plan.baseline()), m.Of(wrappedName)
		if n != nil && w != nil && n.Numbers != nil && w.Numbers != nil {
			list = append(list, pair{m.Point, n, w})
		}
	}
	return list
}

// Summary compares slotsql with the plain driver at one point, which is chosen by the plan and not by
// what was found there: the first with the most clients. It says what the ratio is elsewhere. Without the
// two it names the fastest of that point.
func (r *Report) Summary() Summary {
	pairs := r.pairs()
	if len(pairs) == 0 {
		return r.fastest()
	}
	most := pairs[0]
	for _, p := range pairs {
		if p.point.Clients > most.point.Clients {
			most = p
		}
	}
	n, w := most.naive.Numbers, most.wrapped.Numbers
	s := Summary{
		Headline: fmt.Sprintf(
			"With %s, slotsql does %s times the operations of the plain driver",
			plural(most.point.Clients, "client"),
			significant(most.ratio()),
		),
		Detail: fmt.Sprintf(
			"%s operations per second against %s, each the median of its runs (%s); the ratio is that of runs next to each other.",
			count(w.Operations),
			count(n.Operations),
			most.point,
		),
	}
	if !most.some() {
		s.Headline = fmt.Sprintf("With %s, %s", plural(most.point.Clients, "client"), finished(n, w))
		s.Detail = fmt.Sprintf("So there is no ratio at this point (%s). The notes below may have the reasons.", most.point)
	}
	s.Detail += ratios(pairs)
	if most.some() {
		s.Cards = append(
			s.Cards,
			Card{significant(most.ratio()) + "×", "throughput", "slotsql to plain, " + plural(most.point.Clients, "client")},
		)
	}
	if w.Increment != nil && n.Increment != nil {
		s.Cards = append(
			s.Cards,
			Card{significant(w.Increment.P99) + " ms", "p99 of an increment", "plain: " + significant(n.Increment.P99) + " ms"},
		)
	}
	return s.with(r)
}

// finished says who has finished operations where not both have.
func finished(naive, wrapped *Numbers) string {
	switch {
	case naive.Operations > 0:
		return "slotsql finished no operation; the plain driver did " + count(naive.Operations) + " per second"
	case wrapped.Operations > 0:
		return "the plain driver finished no operation; slotsql did " + count(wrapped.Operations) + " per second"
	}
	return "neither slotsql nor the plain driver finished an operation"
}

// ratios says from where to where the ratio goes, and what it is in the middle.
func ratios(pairs []pair) string {
	var some []pair
	for _, p := range pairs {
		if p.some() {
			some = append(some, p)
		}
	}
	if len(some) < 2 {
		return ""
	}
	low, high := some[0], some[0]
	var all []float64
	for _, p := range some {
		all = append(all, p.ratio())
		if p.ratio() < low.ratio() {
			low = p
		}
		if p.ratio() > high.ratio() {
			high = p
		}
	}
	if low.ratio() == high.ratio() {
		return fmt.Sprintf(" It is the same at all %d points measured.", len(some))
	}
	return fmt.Sprintf(" Over the %d points measured the ratio goes from %s (%s) to %s (%s); its median is %s.", len(some),
		significant(low.ratio()), low.point.differs(high.point),
		significant(high.ratio()), high.point.differs(low.point), significant(median(all)))
}

// with adds the cards that every report has.
func (s Summary) with(r *Report) Summary {
	var errors, acknowledged int64
	runs := 0
	for i := range r.Points {
		for _, result := range r.Points[i].Results {
			errors += result.Errors
			if result.Outcome == Exact {
				runs += result.Runs
				acknowledged += result.Acknowledged
			}
		}
	}
	inexact := r.Inexact()
	exact := Card{"exact", "every run", fmt.Sprintf("%s increments counted in %s", humanize.Comma(acknowledged), plural(runs, "run"))}
	if inexact > 0 {
		exact = Card{"not exact", plural(inexact, "result"), "without numbers below"}
	}
	s.Cards = append(s.Cards, exact, Card{humanize.Comma(errors), "failed operations", "in all scenarios; none is counted"})
	return s
}

// fastest is the summary of a report without slotsql or without the plain driver: who is the
// fastest with the most clients.
func (r *Report) fastest() Summary {
	var best *Result
	var at Point
	for i := range r.Points {
		if m := &r.Points[i]; m.best() != nil && (best == nil || m.Point.Clients > at.Clients) {
			best, at = m.best(), m.Point
		}
	}
	if best == nil {
		return Summary{Headline: "Nothing could be measured", Detail: "The notes below have the reasons."}
	}
	return Summary{
		Headline: fmt.Sprintf("With %s, %s is the fastest: %s operations per second",
			plural(at.Clients, "client"), r.title(best.Scenario), count(best.Numbers.Operations)),
		Detail: "The median of its runs (" + at.String() + ").",
	}.with(r)
}

func (r *Report) title(scenario string) string {
	for _, s := range r.Scenarios {
		if s.Name == scenario {
			return s.Title
		}
	}
	return scenario
}

// differs says in what a point is not another one; its clients when in nothing.
func (p Point) differs(other Point) string {
	var parts []string
	for _, a := range axes {
		if a.value(p) == a.value(other) {
			continue
		}
		if note := a.note(p); note != "" {
			parts = append(parts, note)
		} else {
			parts = append(parts, "no "+a.title)
		}
	}
	if parts == nil {
		return axes[0].note(p)
	}
	return strings.Join(parts, ", ")
}

package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// WriteText prints a report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s", wrap(strings.Join(r.Environment.facts(), "; "), ""))
	p.line("%s", wrap(r.Method(), ""))
	p.line("")
	if len(r.Points) == 0 {
		p.line("nothing was measured")
		return p.err
	}
	if len(r.Points) > 1 {
		p.line("Operations per second:")
		p.line("%s", r.overview().render())
		p.line("")
	}
	if len(varying(r.Points)) <= 1 {
		p.line("%s", r.details(r.Points).render())
	} else {
		for i := range r.Points {
			if i > 0 {
				p.line("")
			}
			p.line("%s:", r.Points[i].Point)
			p.line("%s", r.details(r.Points[i:i+1]).render())
		}
	}
	p.line("")
	for _, note := range r.Notes() {
		p.line("%s", wrap(note, "  "))
	}
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// facts describe the environment in phrases.
func (e *Environment) facts() []string {
	f := []string{e.Engine}
	for _, s := range e.Settings {
		f = append(f, s.Name+" "+s.Value)
	}
	if e.Redis != "" {
		f = append(f, e.Redis)
	}
	cores := plural(e.Cores, "core")
	if e.SameHost {
		cores += " that clients and server share"
	} else {
		cores += " for the clients"
	}
	f = append(f, cores)
	for _, t := range e.RoundTrips {
		f = append(f, t.String())
	}
	return append(f, "slotsql "+e.Slotsql, e.Go+" "+e.Platform)
}

func (t RoundTrip) String() string {
	if t.Added == 0 {
		return "round trip " + t.Measured.short()
	}
	return "with " + t.Added.short() + " added " + t.Measured.short()
}

// Method says how the numbers came about.
func (r *Report) Method() string {
	p := r.Plan
	s := fmt.Sprintf(
		"Medians of %s of %s after %s of warm-up, scenarios taking turns; ",
		plural(p.Runs, "run"),
		p.Duration.long(),
		p.Warmup.long(),
	)
	switch {
	case p.Budget > 0 && p.Keys == 1:
		s += "one budget of " + humanize.Comma(p.Budget)
	case p.Keys == 1:
		s += "one counter"
	case p.Zipf == 0:
		s += humanize.Comma(int64(p.Keys)) + " counters, all alike"
	default:
		s += fmt.Sprintf("%s counters, Zipf exponent %v", humanize.Comma(int64(p.Keys)), p.Zipf)
	}
	if len(r.Points) > 0 {
		varying := varying(r.Points)
		for _, a := range axes {
			if !slices.ContainsFunc(varying, func(v axis) bool { return v.name == a.name }) {
				if note := a.note(r.Points[0].Point); note != "" {
					s += ", " + note
				}
			}
		}
	}
	return s + "."
}

// overview has a row per point and a column per scenario.
func (r *Report) overview() *grid {
	axes := r.overviewAxes()
	g := &grid{head: axisNames(axes), keys: len(axes), left: -1}
	if len(axes) < len(varying(r.Points)) {
		g.left = 0 // a point in words
	}
	for _, s := range r.Scenarios {
		g.head = append(g.head, s.Name)
	}
	for i := range r.Points {
		m := &r.Points[i]
		var row []string
		for _, a := range axes {
			row = append(row, a.value(m.Point))
		}
		for _, s := range r.Scenarios {
			row = append(row, m.Of(s.Name).cell(perSecond))
		}
		g.add(row)
	}
	return g
}

// cell returns a number, or what stands in its place.
func (r *Result) cell(number func(*Numbers) string) string {
	if r == nil || r.Numbers == nil {
		return "-"
	}
	return number(r.Numbers)
}

// details has a row per point and scenario.
func (r *Report) details(points []Measurement) *grid {
	axes := varying(points)
	columns := r.columns(points)
	g := &grid{head: append(axisNames(axes), "scenario"), keys: len(axes) + 1, left: len(axes)}
	for _, c := range columns {
		g.head = append(g.head, c.Head)
	}
	for i := range points {
		m := &points[i]
		if i > 0 {
			g.separate()
		}
		for k := range m.Results {
			var row []string
			for _, a := range axes {
				row = append(row, a.value(m.Point))
			}
			row = append(row, m.Results[k].Scenario)
			for _, c := range columns {
				row = append(row, c.value(&m.Results[k]))
			}
			g.add(row)
		}
	}
	return g
}

// column is a column of numbers.
type column struct {
	Head  string
	value func(*Result) string
}

// columns returns those that the points have something for.
func (r *Report) columns(points []Measurement) []column {
	reads, increments, retries, ratio := false, false, false, false
	for i := range points {
		for _, result := range points[i].Results {
			if n := result.Numbers; n != nil {
				reads = reads || n.Read != nil
				increments = increments || n.Increment != nil
				retries = retries || n.Retries > 0
				ratio = ratio || n.RatioToNaive > 0
			}
		}
	}
	numbers := func(f func(*Numbers) string) func(*Result) string {
		return func(r *Result) string { return r.cell(f) }
	}
	list := []column{{"ops/s", numbers(perSecond)}}
	if ratio {
		list = append(list, column{"× " + r.Plan.baseline(), numbers(func(n *Numbers) string { return positive(n.RatioToNaive) })})
	}
	latency := func(what string, of func(*Numbers) *Latency) {
		for _, q := range []struct {
			name string
			of   func(*Latency) float64
		}{
			{"p50", func(l *Latency) float64 { return l.P50 }},
			{"p95", func(l *Latency) float64 { return l.P95 }},
			{"p99", func(l *Latency) float64 { return l.P99 }},
		} {
			list = append(list, column{what + q.name + " ms", numbers(func(n *Numbers) string {
				if l := of(n); l != nil {
					return positive(q.of(l))
				}
				return "-"
			})})
		}
	}
	if increments {
		latency("", func(n *Numbers) *Latency { return n.Increment })
	}
	if reads {
		latency("read ", func(n *Numbers) *Latency { return n.Read })
	}
	if retries {
		list = append(list, column{"retries/op", numbers(func(n *Numbers) string { return positive(n.Retries) })})
	}
	return append(list,
		column{"errors", func(r *Result) string {
			if r.Runs == 0 {
				return "-"
			}
			return humanize.Comma(r.Errors)
		}},
		column{"exact", func(r *Result) string { return r.Outcome.word() }})
}

func (o Outcome) word() string {
	switch o {
	case Exact:
		return "yes"
	case Inexact:
		return "NO"
	case Failed:
		return "failed"
	}
	return "-"
}

// perSecond writes the operations per second, or that there was none: all failed, or none ended in time.
func perSecond(n *Numbers) string {
	if n.Operations == 0 {
		return "none"
	}
	return count(n.Operations)
}

// count writes a number of things per second.
func count(v float64) string {
	if v < 100 {
		return significant(v)
	}
	return humanize.Comma(int64(v + 0.5))
}

// positive is significant, with "-" for nothing.
func positive(v float64) string {
	if v == 0 {
		return "-"
	}
	return significant(v)
}

// significant writes three digits.
func significant(v float64) string {
	switch {
	case v >= 1000:
		return humanize.Comma(int64(v + 0.5))
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.1 || v == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

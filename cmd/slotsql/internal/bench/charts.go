package bench

import (
	"cmp"
	"slices"
	"strings"
)

// chart is what the page's script draws.
type chart struct {
	Title   string   `json:"title"`
	Note    string   `json:"note"` // what all of it has in common
	Kind    string   `json:"kind"` // "line" or "bar"
	X       string   `json:"x"`    // axis titles
	Y       string   `json:"y"`
	Log     bool     `json:"log"` // Y is logarithmic
	Labels  []string `json:"labels"`
	Series  []series `json:"series"`
	section string
}

// series is one scenario's line or bars; nil where there is no number.
type series struct {
	Scenario string     `json:"scenario"`
	Title    string     `json:"title"`
	Values   []*float64 `json:"values"`
}

// The sections of the page that hold charts.
const (
	throughputSection = "Throughput"
	latencySection    = "Latency"
)

// maxCharts bounds the charts of one axis: the tables have everything.
const maxCharts = 8

// charts draws, for each axis that varies, the throughput along it, and
// latencies over the clients and at the most clients.
func (r *Report) charts() []chart {
	var list []chart
	var latency []chart
	for _, a := range varying(r.Points) {
		for i, group := range groups(r.Points, a) {
			if i == maxCharts {
				break
			}
			c := r.along(group, a)
			c.Title, c.Y, c.section = "Operations per second by "+a.name, "operations per second", throughputSection
			list = append(list, r.fill(c, group, func(n *Numbers) float64 { return n.Operations }))
			c.Title, c.Y, c.section, c.Log = "99th percentile of an increment by "+a.name, "milliseconds (logarithmic)", latencySection, true
			latency = append(latency, r.fill(c, group, p99))
		}
	}
	if len(varying(r.Points)) == 0 && len(r.Points) == 1 {
		c := chart{
			Title:   "Operations per second",
			Note:    r.Points[0].Point.String(),
			Kind:    "bar",
			Y:       "operations per second",
			X:       "",
			section: throughputSection,
			Labels:  []string{""},
		}
		list = append(list, r.fill(c, r.Points, func(n *Numbers) float64 { return n.Operations }))
	}
	for i, m := range r.atMostClients() {
		if i == maxCharts {
			break
		}
		list = append(list, r.percentiles(m))
	}
	list = append(list, latency...)
	var drawn []chart
	for _, c := range list {
		if len(c.Series) > 0 {
			drawn = append(drawn, c)
		}
	}
	return drawn
}

func p99(n *Numbers) float64 {
	if n.Increment == nil {
		return 0
	}
	return n.Increment.P99
}

// groups returns the points that differ in nothing but one axis. Of groups
// that differ in their clients alone, it returns the one with the most.
func groups(points []Measurement, a axis) [][]Measurement {
	var order []Point
	most := map[Point]int{}
	rest := func(p Point) Point {
		a.clear(&p)
		p.Clients = 0
		return p
	}
	members := map[Point][]Measurement{}
	for _, m := range points {
		key := m.Point
		a.clear(&key)
		if members[key] == nil {
			order = append(order, key)
		}
		members[key] = append(members[key], m)
	}
	for _, key := range order {
		if len(members[key]) > 1 {
			most[rest(key)] = max(most[rest(key)], key.Clients)
		}
	}
	var list [][]Measurement
	for _, key := range order {
		if len(members[key]) > 1 && key.Clients == most[rest(key)] {
			slices.SortStableFunc(members[key], func(m, n Measurement) int { return cmp.Compare(a.rank(m.Point), a.rank(n.Point)) })
			list = append(list, members[key])
		}
	}
	return list
}

func (r *Report) along(group []Measurement, a axis) chart {
	c := chart{Kind: "line", X: a.title, Note: others(group[0].Point, a)}
	if a.bars {
		c.Kind = "bar"
	}
	for _, m := range group {
		c.Labels = append(c.Labels, a.value(m.Point))
	}
	return c
}

// others describes a point but for one axis.
func others(p Point, but axis) string {
	var parts []string
	for _, a := range axes {
		if note := a.note(p); a.name != but.name && note != "" {
			parts = append(parts, note)
		}
	}
	return strings.Join(parts, ", ")
}

func (r *Report) fill(c chart, group []Measurement, value func(*Numbers) float64) chart {
	c.Series = nil
	for _, s := range r.Scenarios {
		line := series{Scenario: s.Name, Title: s.Title}
		some := false
		for i := range group {
			var v *float64
			if result := group[i].Of(s.Name); result != nil && result.Numbers != nil {
				if n := value(result.Numbers); n > 0 || !c.Log { // a logarithm of 0 there is not
					v, some = &n, true
				}
			}
			line.Values = append(line.Values, v)
		}
		if some {
			c.Series = append(c.Series, line)
		}
	}
	return c
}

// atMostClients returns the points with the most clients: where clients vary,
// of each group that differs in them alone, else all.
func (r *Report) atMostClients() []Measurement {
	var list []Measurement
	for _, group := range groups(r.Points, axes[0]) {
		list = append(list, group[len(group)-1])
	}
	if list == nil {
		list = r.Points
	}
	return list
}

func (r *Report) percentiles(m Measurement) chart {
	c := chart{
		Title: "Latency of an increment", Note: m.Point.String(), Kind: "bar", X: "percentile", Y: "milliseconds (logarithmic)",
		Log: true, Labels: []string{"p50", "p95", "p99"}, section: latencySection,
	}
	for _, s := range r.Scenarios {
		result := m.Of(s.Name)
		if result == nil || result.Numbers == nil || result.Numbers.Increment == nil {
			continue
		}
		l := result.Numbers.Increment
		c.Series = append(c.Series, series{s.Name, s.Title, []*float64{&l.P50, &l.P95, &l.P99}})
	}
	return c
}

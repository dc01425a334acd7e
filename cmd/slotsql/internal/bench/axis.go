package bench

import (
	"fmt"
	"strconv"
)

// axis is one of the things that a benchmark varies.
type axis struct {
	name   string // in tables
	title  string // in charts, with its unit
	points func(p Plan, base Point) []Point
	value  func(Point) string // short: a table's cell, a chart's tick
	note   func(Point) string // as part of a sentence; empty when as usual
	clear  func(*Point)
	rank   func(Point) float64 // orders values
	bars   bool                // its values have no order: bars instead of lines
}

var axes = []axis{{
	name: "clients", title: "clients",
	points: along(func(p Plan) []int { return p.Clients }, func(p *Point, v int) { p.Clients = v }),
	value:  func(p Point) string { return strconv.Itoa(p.Clients) },
	note:   func(p Point) string { return plural(p.Clients, "client") },
	clear:  func(p *Point) { p.Clients = 0 },
	rank:   func(p Point) float64 { return float64(p.Clients) },
}, {
	name: "round trip", title: "network round trip added",
	points: along(func(p Plan) []Duration { return p.RoundTrips }, func(p *Point, v Duration) { p.RoundTrip = v }),
	value:  func(p Point) string { return p.RoundTrip.short() },
	note:   func(p Point) string { return unless(p.RoundTrip == 0, "%s round trip added", p.RoundTrip.short()) },
	clear:  func(p *Point) { p.RoundTrip = 0 },
	rank:   func(p Point) float64 { return p.RoundTrip.milliseconds() },
}, {
	name: "transaction", title: "transaction",
	points: along(func(p Plan) []Transaction { return p.Transactions }, func(p *Point, v Transaction) { p.Transaction = v }),
	value:  func(p Point) string { return p.Transaction.String() },
	note:   func(p Point) string { return p.Transaction.phrase() },
	clear:  func(p *Point) { p.Transaction = Transaction{} },
	rank:   func(p Point) float64 { return float64(p.Transaction.Inserts) + 1000*p.Transaction.Hold.milliseconds() },
	bars:   true,
}, {
	name: "reads", title: "share of reads",
	points: along(func(p Plan) []float64 { return p.ReadShares }, func(p *Point, v float64) { p.ReadShare = v }),
	value:  func(p Point) string { return percent(p.ReadShare) },
	note:   func(p Point) string { return unless(p.ReadShare == 0, "%s reads", percent(p.ReadShare)) },
	clear:  func(p *Point) { p.ReadShare = 0 },
	rank:   func(p Point) float64 { return p.ReadShare },
}, {
	name: "slots", title: "slots per counter",
	points: along(func(p Plan) []int { return p.Slots }, func(p *Point, v int) { p.Slots = v }),
	value:  func(p Point) string { return strconv.Itoa(p.Slots) },
	note:   func(p Point) string { return plural(p.Slots, "slot") },
	clear:  func(p *Point) { p.Slots = 0 },
	rank:   func(p Point) float64 { return float64(p.Slots) },
}}

// along varies one axis around a point.
func along[T any](values func(Plan) []T, set func(*Point, T)) func(Plan, Point) []Point {
	return func(p Plan, base Point) []Point {
		var out []Point
		for _, v := range values(p) {
			set(&base, v)
			out = append(out, base)
		}
		return out
	}
}

func unless(usual bool, format, value string) string {
	if usual {
		return ""
	}
	return fmt.Sprintf(format, value)
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', -1, 64) + " %" }

func (d Duration) short() string {
	return strconv.FormatFloat(d.milliseconds(), 'f', -1, 64) + " ms"
}

// long is short, in seconds or minutes where these are more readable.
func (d Duration) long() string {
	switch v := d.milliseconds(); {
	case v >= 60_000:
		return significant(v/60_000) + " minutes"
	case v >= 1000:
		return strconv.FormatFloat(v/1000, 'g', 4, 64) + " s"
	}
	return d.short()
}

// varying returns the axes that have more than one value in the points.
func varying(points []Measurement) []axis {
	var out []axis
	for _, a := range axes {
		for _, m := range points {
			if a.value(m.Point) != a.value(points[0].Point) {
				out = append(out, a)
				break
			}
		}
	}
	return out
}

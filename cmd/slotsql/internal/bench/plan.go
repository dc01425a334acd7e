package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plan says what to measure: the values of each axis, and for how long.
type Plan struct {
	Scenarios    []string      `json:"scenarios,omitempty"` // names; empty for all
	Clients      []int         `json:"clients"`
	RoundTrips   []Duration    `json:"round_trips_ms"`
	Transactions []Transaction `json:"transactions"`
	ReadShares   []float64     `json:"read_shares"`
	Slots        []int         `json:"slots"`
	Keys         int           `json:"keys"`             // counters
	Budget       int64         `json:"budget,omitempty"` // that each counter begins with, and operations take from; 0 to count up
	Zipf         float64       `json:"zipf"`             // exponent of their skew; 0 for none
	Duration     Duration      `json:"duration_ms"`      // of one run
	Warmup       Duration      `json:"warmup_ms"`        // before it
	Runs         int           `json:"runs"`             // medians of so many
	OneAxis      bool          `json:"one_axis"`         // one axis at a time, the others at Base
	Base         Point         `json:"-"`
}

// Point is one value of each axis.
type Point struct {
	Clients     int         `json:"clients"`
	RoundTrip   Duration    `json:"round_trip_ms"`
	Transaction Transaction `json:"transaction"`
	ReadShare   float64     `json:"read_share"` // 0 to 1, of the operations
	Slots       int         `json:"slots"`      // at most so many per counter
}

// Transaction says what an increment shares its transaction with. The zero
// value is an increment in autocommit.
type Transaction struct {
	Inserts int      `json:"inserts"` // statements after the increment
	Hold    Duration `json:"hold_ms"` // the application's own work before the commit
}

// Presets are plans with names.
var Presets = map[string]Plan{
	"quick": preset(Plan{ // within 20 seconds, tables and connections included
		Clients: []int{1, 8, 64}, Duration: ms(300), Warmup: ms(100),
		Scenarios: []string{naiveName, "slots", wrappedName},
	}),
	"full": preset(Plan{Clients: []int{1, 8, 32, 128}}),
	"comparison": preset(Plan{
		Clients: []int{3, 6, 9, 64}, Budget: 1_000_000,
		Scenarios: []string{naiveName, "for-update", lockFreeName, wrappedName},
	}),
	"sweep": preset(Plan{
		Clients:      []int{1, 2, 4, 8, 16, 32, 64, 128, 256},
		RoundTrips:   []Duration{0, ms(0.5), ms(1), ms(10)},
		Transactions: []Transaction{{}, {Inserts: 1}, {Inserts: 4}, {Inserts: 1, Hold: ms(5)}},
		ReadShares:   []float64{0, 0.5, 0.9},
		Slots:        []int{1, 4, 16, 64},
		OneAxis:      true,
	}),
}

func preset(p Plan) Plan {
	p.Base = Point{Clients: 32, Slots: 64}
	if p.RoundTrips == nil {
		p.RoundTrips = []Duration{0}
	}
	if p.Transactions == nil {
		p.Transactions = []Transaction{{}}
	}
	if p.ReadShares == nil {
		p.ReadShares = []float64{0}
	}
	if p.Slots == nil {
		p.Slots = []int{64}
	}
	p.Keys, p.Runs = 1, 3
	p.Duration, p.Warmup = cmp.Or(p.Duration, ms(1000)), cmp.Or(p.Warmup, ms(300))
	return p
}

func ms(v float64) Duration { return Duration(v * float64(time.Millisecond)) }

// Points returns what to measure: the product of all axes, or one axis after
// the other with the rest at their base, without repetition.
func (p Plan) Points() []Point {
	if !p.OneAxis {
		var all []Point
		for _, rtt := range p.RoundTrips {
			for _, tx := range p.Transactions {
				for _, reads := range p.ReadShares {
					for _, slots := range p.Slots {
						for _, clients := range p.Clients {
							all = append(all, Point{clients, rtt, tx, reads, slots})
						}
					}
				}
			}
		}
		return unique(all)
	}
	base := Point{near(p.Clients, p.Base.Clients), near(p.RoundTrips, p.Base.RoundTrip), near(p.Transactions, p.Base.Transaction),
		near(p.ReadShares, p.Base.ReadShare), near(p.Slots, p.Base.Slots)}
	var all []Point
	for _, a := range axes {
		all = append(all, a.points(p, base)...)
	}
	return unique(all)
}

// near returns the base value when it is of the list, else the list's first.
func near[T comparable](list []T, base T) T {
	if slices.Contains(list, base) {
		return base
	}
	return list[0]
}

func unique[T comparable](list []T) []T {
	var out []T
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// What a plan may ask for.
const (
	maxClients = 4096
	maxSlots   = 4096 // as in the configuration
	maxKeys    = 100_000
	maxBudget  = 1_000_000_000
)

// Validate reports the first thing that is wrong.
func (p Plan) Validate(e *Engine) error {
	for _, s := range p.Scenarios {
		if kindOf(s) == nil {
			return fmt.Errorf("scenario must be one of %s, got %q", names(Scenarios()), s)
		}
		if p.form(*kindOf(s)) == nil {
			return fmt.Errorf("scenario %s counts up, and this plan has a budget", s)
		}
	}
	return cmp.Or(
		each("clients", p.Clients, func(v int) bool { return v >= 1 && v <= maxClients }, "from 1 to 4096"),
		each("round trip", p.RoundTrips, func(v Duration) bool { return v >= 0 && v <= ms(10_000) }, "from 0 to 10s"),
		each("round trip", p.RoundTrips, func(v Duration) bool { return v == 0 || e.network }, "0 on "+e.Name+", which has no network"),
		each("transaction", p.Transactions, func(v Transaction) bool {
			return v.Inserts >= 0 && v.Inserts <= 1000 && v.Hold >= 0 && v.Hold <= ms(60_000)
		}, "at most 1000 statements and 60s"),
		each("read share", p.ReadShares, func(v float64) bool { return v >= 0 && v <= 1 }, "from 0 to 1"),
		each("slots", p.Slots, func(v int) bool { return v >= 1 && v <= maxSlots }, "from 1 to 4096"),
		each("keys", []int{p.Keys}, func(v int) bool { return v >= 1 && v <= maxKeys }, "from 1 to 100000"),
		each("budget", []int64{p.Budget}, func(v int64) bool { return v >= 0 && v <= maxBudget }, "from 0 to 1000000000"),
		each("zipf", []float64{p.Zipf}, func(v float64) bool { return v >= 0 && v <= 10 }, "from 0 to 10"),
		each("duration", []Duration{p.Duration}, func(v Duration) bool { return v >= ms(1) }, "at least 1ms"),
		each("warm-up", []Duration{p.Warmup}, func(v Duration) bool { return v >= 0 }, "0 or more"),
		each("runs", []int{p.Runs}, func(v int) bool { return v >= 1 && v <= 1000 }, "from 1 to 1000"),
	)
}

func each[T any](what string, list []T, ok func(T) bool, want string) error {
	if len(list) == 0 {
		return errors.New(what + ": at least one value is needed")
	}
	for _, v := range list {
		if !ok(v) {
			return fmt.Errorf("%s must be %s, got %v", what, want, v)
		}
	}
	return nil
}

// ParseTransaction reads a transaction's length: a number of statements after
// the increment ("4"), the time that the application holds it open ("5ms"), or
// both ("1+5ms"). "0" is an increment in autocommit.
func ParseTransaction(s string) (Transaction, error) {
	first, rest, both := strings.Cut(s, "+")
	n, err := strconv.Atoi(first)
	if err == nil && n >= 0 && !both {
		return Transaction{Inserts: n}, nil
	}
	if !both {
		n, rest = 0, first
	}
	d, timeErr := time.ParseDuration(rest)
	if both && (err != nil || n < 0) || timeErr != nil || d < 0 {
		return Transaction{}, fmt.Errorf("transaction length %q: write a number of statements (4), a time (5ms), or both (1+5ms)", s)
	}
	return Transaction{Inserts: n, Hold: Duration(d)}, nil
}

func (t Transaction) String() string {
	switch {
	case t == (Transaction{}):
		return "autocommit"
	case t.Hold == 0:
		return "+" + plural(t.Inserts, "INSERT")
	case t.Inserts == 0:
		return "+" + t.Hold.short()
	}
	return "+" + plural(t.Inserts, "INSERT") + " +" + t.Hold.short()
}

// phrase is String for a sentence.
func (t Transaction) phrase() string {
	if t == (Transaction{}) {
		return t.String()
	}
	s := "in a transaction"
	if t.Inserts > 0 {
		s += " with " + plural(t.Inserts, "INSERT")
	}
	if t.Hold > 0 {
		s += " held for " + t.Hold.short()
	}
	return s
}

// String says everything but what is as usual.
func (p Point) String() string {
	parts := []string{plural(p.Clients, "client")}
	for _, a := range axes[1:] {
		if s := a.note(p); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Duration is a time.Duration that is a number of milliseconds in JSON.
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

func (d Duration) milliseconds() float64 { return float64(d) / float64(time.Millisecond) }

// MarshalJSON writes milliseconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, d.milliseconds(), 'f', -1, 64), nil
}

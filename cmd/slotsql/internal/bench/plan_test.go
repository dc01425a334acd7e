package bench

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseTransaction(t *testing.T) {
	for text, want := range map[string]Transaction{
		"0":        {},
		"4":        {Inserts: 4},
		"5ms":      {Hold: ms(5)},
		"1+5ms":    {Inserts: 1, Hold: ms(5)},
		"0+250us":  {Hold: ms(0.25)},
		"2+0s":     {Inserts: 2},
		"1m30s":    {Hold: Duration(90 * time.Second)},
		"10+1m30s": {Inserts: 10, Hold: Duration(90 * time.Second)},
	} {
		if got, err := ParseTransaction(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "1.5", "x", "1+", "+1ms", "5ms+1", "1+2", "-5ms", "1+-5ms"} {
		if got, err := ParseTransaction(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestQuickIsQuick holds the time that quick takes for its runs alone, of the 20 seconds that it may take with all around them.
func TestQuickIsQuick(t *testing.T) {
	p := Presets["quick"]
	runs := len(p.Points()) * len(p.Scenarios) * p.Runs
	if runs == 0 {
		t.Fatal("no runs: no list of scenarios stands for all")
	}
	if took := time.Duration(runs) * time.Duration(p.Duration+p.Warmup); took > 12*time.Second {
		t.Errorf("%d runs take %v", runs, took)
	}
}

func TestPoints(t *testing.T) {
	p := preset(Plan{Clients: []int{1, 8, 8}, RoundTrips: []Duration{0, ms(1)}, Slots: []int{4, 64}})
	points := p.Points()
	if len(points) != 8 || points[0] != (Point{Clients: 1, Slots: 4}) || points[7] != (Point{Clients: 8, Slots: 64, RoundTrip: ms(1)}) {
		t.Errorf("%v", points)
	}
	// One axis at a time: 2 + 1 + 1 points, around the base value where the
	// list has it (64 slots), else the first.
	p.OneAxis = true
	want := []Point{{Clients: 1, Slots: 64}, {Clients: 8, Slots: 64}, {Clients: 1, Slots: 64, RoundTrip: ms(1)}, {Clients: 1, Slots: 4}}
	if points = p.Points(); !slices.Equal(points, want) {
		t.Errorf("%v, want %v", points, want)
	}
	for name, p := range Presets {
		if err := p.Validate(EngineOf("mysql")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if sweep := Presets["sweep"].Points(); len(sweep) != 9+3+3+2+3 {
		t.Errorf("the sweep has %d points", len(sweep))
	}
	for _, clients := range []int{3, 6, 9, 64} {
		if !slices.Contains(Presets["comparison"].Points(), Point{Clients: clients, Slots: 64}) {
			t.Errorf("the comparison lacks %d clients", clients)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		engine, want string
		change       func(*Plan)
	}{
		{"mysql", "clients must be from 1 to 4096, got 0", func(p *Plan) { p.Clients = []int{1, 0} }},
		{"mysql", "clients: at least one value is needed", func(p *Plan) { p.Clients = nil }},
		{"mysql", "round trip must be from 0 to 10s, got -1ms", func(p *Plan) { p.RoundTrips = []Duration{ms(-1)} }},
		{"sqlite", "round trip must be 0 on sqlite, which has no network, got 1ms", func(p *Plan) { p.RoundTrips = []Duration{ms(1)} }},
		{"mysql", "read share must be from 0 to 1, got 1.5", func(p *Plan) { p.ReadShares = []float64{1.5} }},
		{"mysql", "read share must be from 0 to 1, got NaN", func(p *Plan) { p.ReadShares = []float64{math.NaN()} }},
		{"mysql", "slots must be from 1 to 4096, got 5000", func(p *Plan) { p.Slots = []int{5000} }},
		{"mysql", "keys must be from 1 to 100000, got 0", func(p *Plan) { p.Keys = 0 }},
		{"mysql", "zipf must be from 0 to 10, got -1", func(p *Plan) { p.Zipf = -1 }},
		{"mysql", "budget must be from 0 to 1000000000, got -1", func(p *Plan) { p.Budget = -1 }},
		{"mysql", "scenario slots counts up, and this plan has a budget", func(p *Plan) { p.Budget, p.Scenarios = 5, []string{"slots"} }},
		{"mysql", "duration must be at least 1ms, got 0s", func(p *Plan) { p.Duration = 0 }},
		{"mysql", "runs must be from 1 to 1000, got 0", func(p *Plan) { p.Runs = 0 }},
		{"mysql", "transaction must be at most 1000 statements and 60s, got +2000 INSERTs", func(p *Plan) { p.Transactions = []Transaction{{Inserts: 2000}} }},
		{"mysql", `scenario must be one of naive, for-update, lock-free, slots, skip-locked, wrapped, wrapped-no-coalesce, redis, got "fast"`, func(p *Plan) { p.Scenarios = []string{"fast"} }},
	} {
		p := preset(Plan{Clients: []int{1}})
		c.change(&p)
		if err := p.Validate(EngineOf(c.engine)); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestPointString(t *testing.T) {
	for want, p := range map[string]Point{
		"1 client, autocommit, 64 slots": {Clients: 1, Slots: 64},
		"8 clients, 1 ms round trip added, in a transaction with 2 INSERTs held for 5 ms, 50 % reads, 1 slot": {8, ms(1), Transaction{2, ms(5)}, 0.5, 1},
	} {
		if p.String() != want {
			t.Errorf("%s, want %s", p, want)
		}
	}
}

// Keys come with the probabilities of Zipf's law, and alike without a skew.
func TestKeys(t *testing.T) {
	const draws = 200_000
	for _, exponent := range []float64{0, 0.99, 2} {
		k := newKeys(5, exponent)
		rng := newRand()
		counts := make([]float64, 6)
		for range draws {
			counts[k.pick(rng)]++
		}
		sum := 0.0
		for i := 1; i <= 5; i++ {
			sum += math.Pow(float64(i), -exponent)
		}
		for i := 1; i <= 5; i++ {
			// Ten standard deviations at least.
			if want := math.Pow(float64(i), -exponent) / sum; math.Abs(counts[i]/draws-want) > 0.012 {
				t.Errorf("exponent %v: key %d with %v, want %v", exponent, i, counts[i]/draws, want)
			}
		}
	}
	if newKeys(1, 2).pick(nil) != 1 {
		t.Error("one key")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := median(c.v); got != c.want {
			t.Errorf("%v of %v", got, c.v)
		}
	}
}

// Percentiles of a known distribution, to two digits.
func TestPercentiles(t *testing.T) {
	s := &sample{increments: newHistogram(), reads: newHistogram()}
	for i := 1; i <= 1000; i++ {
		if err := s.increments.RecordValue(int64(i) * int64(time.Millisecond) / 10); err != nil {
			t.Fatal(err)
		}
	}
	l := latencies([]*sample{s, s}, (*sample).incrementTimes)
	for _, c := range []struct{ got, want float64 }{{l.P50, 50}, {l.P95, 95}, {l.P99, 99}, {l.Max, 100}} {
		if math.Abs(c.got-c.want) > c.want/100 {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

func TestDurationJSON(t *testing.T) {
	b, err := json.Marshal([]Duration{0, ms(0.5), ms(1000)})
	if err != nil || string(b) != "[0,0.5,1000]" {
		t.Errorf("%s %v", b, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ engine, dsn, want string }{
		{"mysql", "root:secret@tcp(db.example:3306)/app", "db.example:3306"},
		{"mysql", "root:secret@unix(/run/mysqld.sock)/app", "unix socket"},
		{"postgres", "postgres://u:secret@db.example:5433/app", "db.example:5433"},
		{"postgres", "host=/run/postgresql user=u password=secret", "unix socket"},
		{"sqlite", "file:/srv/app.db?_pragma=busy_timeout(1)", "app.db"},
	} {
		if got := EngineOf(c.engine).address(c.dsn); got != c.want || strings.Contains(got, "secret") {
			t.Errorf("%s: %q", c.dsn, got)
		}
	}
	for address, want := range map[string]bool{"127.0.0.1:3306": true, "[::1]:5432": true, "localhost:1": true,
		"db.example:3306": false, "unix socket": true} {
		if local(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}

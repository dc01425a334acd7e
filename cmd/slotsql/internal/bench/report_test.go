package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite testdata")

// exampleReport has something of everything.
func exampleReport() *Report {
	plan := Presets["sweep"]
	plan.Clients, plan.RoundTrips, plan.Transactions = []int{8, 32}, []Duration{0, ms(1)}, []Transaction{{}, {Inserts: 1, Hold: ms(5)}}
	plan.ReadShares, plan.Slots = []float64{0, 0.5}, []int{16, 64}
	list := []ScenarioInfo{
		kindOf("naive").ScenarioInfo,
		kindOf("lock-free").ScenarioInfo,
		kindOf("wrapped").ScenarioInfo,
		kindOf("redis").ScenarioInfo,
	}
	r := &Report{
		Schema:    reportSchema,
		Started:   time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Took:      ms(61_000),
		Command:   "slotsql bench --preset sweep",
		Plan:      plan,
		Scenarios: list,
		Environment: Environment{
			Engine:     "MariaDB 10.11.14",
			Address:    "127.0.0.1:3306",
			SameHost:   true,
			Settings:   []Setting{{"sync_binlog", "0"}},
			Redis:      "Redis 7.0.15",
			Cores:      2,
			Platform:   "linux/amd64",
			Go:         "go1.26",
			Slotsql:    "(devel)",
			RoundTrips: []RoundTrip{{0, ms(0.05)}, {ms(1), ms(1.2)}},
		},
	}
	for _, p := range plan.Points() {
		speed := float64(p.Clients * 100)
		numbers := func(factor, retries float64) *Numbers {
			l := &Latency{P50: 1 / factor, P95: 5 / factor, P99: 20 / factor, Max: 100 / factor}
			n := &Numbers{
				Operations:   speed * factor,
				Increments:   speed * factor * (1 - p.ReadShare),
				Reads:        speed * factor * p.ReadShare,
				RatioToNaive: factor,
				Increment:    l,
				Retries:      retries,
			}
			if p.ReadShare > 0 {
				n.Read = &Latency{P50: 0.1, P95: 0.2, P99: 0.3, Max: 0.4}
			}
			return n
		}
		naive := Result{
			Scenario:     "naive",
			Outcome:      Exact,
			Runs:         3,
			Acknowledged: 1000,
			Numbers:      numbers(1, 0),
			Errors:       7,
			ErrorTexts:   []ErrorCount{{"Error 1213 (40001): Deadlock found <when> trying to get lock", 7}},
		}
		lockFree := Result{Scenario: "lock-free", Outcome: Exact, Runs: 3, Acknowledged: 1000, Numbers: numbers(0.4, 1.5)}
		if p.Slots == 16 {
			lockFree = Result{
				Scenario:     "lock-free",
				Outcome:      Inexact,
				Reason:       "1 of 1000 acknowledged increments are lost",
				Runs:         3,
				Acknowledged: 1000,
			}
		}
		redis := Result{Scenario: "redis", Outcome: Exact, Runs: 3, Acknowledged: 1000, Numbers: numbers(9, 0)}
		if p.Transaction != (Transaction{}) {
			redis = Result{Scenario: "redis", Outcome: NotApplicable, Reason: noRedis(nil, p)}
		}
		r.Points = append(r.Points, Measurement{Point: p, Results: []Result{
			naive, lockFree, {Scenario: "wrapped", Outcome: Exact, Runs: 3, Acknowledged: 1000, Numbers: numbers(4, 0)}, redis,
		}})
	}
	return r
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("not as %s (rewrite it with -update; a key that goes or changes needs another schema number):\n%s", path, got)
	}
}

// Programs read the JSON: its keys stay.
func TestJSON(t *testing.T) {
	got, err := json.MarshalIndent(exampleReport(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.json", append(got, '\n'))
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := exampleReport().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.txt", b.Bytes())
	b.Reset()
	if err := (&Report{}).WriteText(&b); err != nil || !strings.Contains(b.String(), "nothing was measured") {
		t.Errorf("%s %v", &b, err)
	}
}

// The page works without a network: nothing in it names another file.
func TestHTMLSelfContained(t *testing.T) {
	for name, r := range map[string]*Report{"example": exampleReport(), "empty": {}} {
		var b bytes.Buffer
		if err := r.WriteHTML(&b); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		for _, loads := range []string{
			`(?i)<(link|iframe|img|object|embed|base|form)\b`, `(?i)\s(src|href|srcset|action)\s*=\s*["']?[a-z/.]`,
			`(?i)url\(\s*["']?(https?:)?//`, `(?i)@import`, `sourceMappingURL`, `\bfetch\(`, `XMLHttpRequest`, `\bimport\s*\(`, `WebSocket`, `sendBeacon`,
		} {
			if found := regexp.MustCompile(loads).FindString(page); found != "" {
				t.Errorf("%s: %q", name, found)
			}
		}
		if !strings.Contains(page, `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"`) {
			t.Errorf("%s: a browser is not told to load nothing", name)
		}
		if strings.Contains(page, "ZgotmplZ") {
			t.Errorf("%s: html/template has refused a value", name)
		}
	}
}

func TestHTML(t *testing.T) {
	r := exampleReport()
	r.Interrupted = true
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"<h1>With 32 clients, slotsql does 4.00 times the operations of the plain driver</h1>",
		"MariaDB 10.11.14", "sync_binlog", "1.2 ms measured", "Medians of 3 runs of 1 s after 300 ms of warm-up",
		"Deadlock found &lt;when&gt; trying", "Some runs were not exact", "was interrupted", "slotsql bench --preset sweep",
		"td class=\"bad\">NO",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "found <when>") {
		t.Error("an error's text is not escaped")
	}
	for i := range r.charts() {
		if n := strings.Count(page, `id="chart`+string(rune('0'+i))); i < 10 && n == 0 {
			t.Errorf("chart %d has no place", i)
		}
	}
}

// Each axis that varies has its charts, in the order of its values.
func TestCharts(t *testing.T) {
	r := exampleReport()
	var titles []string
	for _, c := range r.charts() {
		titles = append(titles, c.Title+": "+strings.Join(c.Labels, ", "))
		if c.X == "" || c.Y == "" || len(c.Series) == 0 {
			t.Errorf("%+v", c)
		}
		for _, s := range c.Series {
			if len(s.Values) != len(c.Labels) {
				t.Errorf("%s: %d values of %d", c.Title, len(s.Values), len(c.Labels))
			}
		}
	}
	want := []string{
		"Operations per second by clients: 8, 32",
		"Operations per second by round trip: 0 ms, 1 ms",
		"Operations per second by transaction: autocommit, +1 INSERT +5 ms",
		"Operations per second by reads: 0 %, 50 %",
		"Operations per second by slots: 16, 64",
		"Latency of an increment: p50, p95, p99",
		"99th percentile of an increment by clients: 8, 32",
		"99th percentile of an increment by round trip: 0 ms, 1 ms",
		"99th percentile of an increment by transaction: autocommit, +1 INSERT +5 ms",
		"99th percentile of an increment by reads: 0 %, 50 %",
		"99th percentile of an increment by slots: 16, 64",
	}
	if strings.Join(titles, "\n") != strings.Join(want, "\n") {
		t.Errorf("charts\n%s\nwant\n%s", strings.Join(titles, "\n"), strings.Join(want, "\n"))
	}
	r.Points = r.Points[:1]
	if list := r.charts(); len(list) != 2 || list[0].Kind != "bar" {
		t.Errorf("of one point: %+v", list)
	}
}

func TestSummary(t *testing.T) {
	r := exampleReport()
	r.Points[0].Of("wrapped").Numbers.RatioToNaive = 0.5
	s := r.Summary()
	if s.Headline != "With 32 clients, slotsql does 4.00 times the operations of the plain driver" ||
		!strings.Contains(s.Detail, "from 0.50 (8 clients) to 4.00 (32 clients); its median is 4.00") {
		t.Errorf("%+v", s)
	}
	// The point of the headline is not the one with the best numbers.
	r.Points[0].Of("wrapped").Numbers.RatioToNaive = 50
	if again := r.Summary(); again.Headline != s.Headline {
		t.Errorf("%+v", again)
	}
	r.Points[0].Of("redis").Numbers.Operations = 1e6
	for i := range r.Points {
		r.Points[i].Of("naive").Numbers = nil
	}
	if s = r.Summary(); s.Headline != "With 32 clients, Redis is the fastest: 28,800 operations per second" {
		t.Errorf("%+v", s)
	}
	r.Points = nil
	if s = r.Summary(); s.Headline != "Nothing could be measured" {
		t.Errorf("%+v", s)
	}
}

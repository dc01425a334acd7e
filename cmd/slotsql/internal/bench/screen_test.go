package bench

import (
	"bytes"
	"errors"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Dark mode changes every colour: the style and the script take them from variables and from looks, each
// of which has two.
func TestHTMLDark(t *testing.T) {
	style := pageStyle
	names := regexp.MustCompile(`--[a-z-]+:`)
	var blocks [][]string
	for range 3 { // light, dark, and paper
		from := strings.Index(style, ":root {")
		to := from + strings.Index(style[from:], "}")
		blocks = append(blocks, names.FindAllString(style[from:to], -1))
		style = style[:from] + style[to:]
	}
	for _, b := range blocks[1:] {
		if strings.Join(b, "") != strings.Join(blocks[0], "") {
			t.Errorf("the variables are %v, and elsewhere %v", blocks[0], b)
		}
	}
	if found := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b`).FindAllString(style, -1); found != nil {
		t.Errorf("colours that dark mode does not change: %v", found)
	}
	for line := range strings.Lines(pageScript) {
		colours := strings.Count(line, `"#`)
		if colours > 0 && !strings.Contains(line, "const light") && (colours != 2 || !strings.Contains(line, "dark:")) {
			t.Errorf("a colour that dark mode does not change: %s", line)
		}
	}
}

// widest has everything that makes a table wide: all scenarios, all axes, large numbers, a point where
// nothing was finished.
func widest(plan Plan) *Report {
	r := exampleReport()
	r.Plan, r.Points, r.Scenarios = plan, nil, nil
	for _, k := range kinds {
		r.Scenarios = append(r.Scenarios, k.ScenarioInfo)
	}
	for i, p := range plan.Points() {
		m := Measurement{Point: p}
		for _, s := range r.Scenarios {
			l := &Latency{P50: 12345, P95: 123456, P99: 1234567, Max: 1234567}
			n := &Numbers{Operations: 1234567, RatioToNaive: 1234, Increment: l, Read: l, Retries: 1234}
			if i%3 == 1 {
				n = &Numbers{}
			}
			m.Results = append(m.Results, Result{Scenario: s.Name, Outcome: Exact, Runs: 3, Numbers: n, Errors: 1234567,
				ErrorTexts: []ErrorCount{{strings.Repeat("without_a_blank", 12), 1}}})
		}
		r.Points = append(r.Points, m)
	}
	return r
}

func TestFitsTerminal(t *testing.T) {
	reports := map[string]*Report{"example": exampleReport()}
	for name, plan := range Presets {
		reports[name] = widest(plan)
	}
	for name, r := range reports {
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > terminal {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		for _, s := range r.Scenarios {
			if !strings.Contains(b.String(), s.Name) {
				t.Errorf("%s: no scenario %s", name, s.Name)
			}
		}
	}
}

// Where nothing was finished there are words, and no ratio.
func TestNoOperations(t *testing.T) {
	for name, c := range map[string]struct {
		naive, wrapped float64
		headline       string
	}{
		"plain":   {0, 500, "With 32 clients, the plain driver finished no operation; slotsql did 500 per second"},
		"wrapped": {500, 0, "With 32 clients, slotsql finished no operation; the plain driver did 500 per second"},
		"both":    {0, 0, "With 32 clients, neither slotsql nor the plain driver finished an operation"},
	} {
		t.Run(name, func(t *testing.T) {
			r := exampleReport()
			for i := range r.Points {
				if r.Points[i].Point.Clients == 32 {
					r.Points[i].Of("naive").Numbers = &Numbers{Operations: c.naive}
					r.Points[i].Of("wrapped").Numbers = &Numbers{Operations: c.wrapped}
				}
			}
			if s := r.Summary(); s.Headline != c.headline {
				t.Errorf("%+v", s)
			}
			var printed, page bytes.Buffer
			if err := errors.Join(r.WriteText(&printed), r.WriteHTML(&page)); err != nil {
				t.Fatal(err)
			}
			for _, out := range []string{printed.String(), page.String()[strings.Index(page.String(), "<body>"):]} {
				out = strings.Join(strings.Fields(out), " ")
				if !strings.Contains(out, "none") || !strings.Contains(out, "no operation was finished, so there is no ratio") {
					t.Errorf("no word about it:\n%s", printed.String())
				}
			}
			if found := regexp.MustCompile(`NaN|Inf\b`).FindString(printed.String()); found != "" {
				t.Errorf("%s:\n%s", found, printed.String())
			}
		})
	}
	none := &sample{increments: newHistogram(), reads: newHistogram()}
	c := collected{samples: []*sample{none}}
	if n := c.numbers([]*sample{none}); n.Operations != 0 || n.RatioToNaive != 0 || n.Increment != nil {
		t.Errorf("of a run without length: %+v", n)
	}
}

// In a browser the page is dark where the reader's screen is. Needs Chromium, which `scripts/test --browser`
// installs.
func TestBrowserDark(t *testing.T) {
	if os.Getenv("SLOTSQL_BROWSER") == "" {
		t.Skip("set SLOTSQL_BROWSER=1, or run scripts/test --browser")
	}
	var page bytes.Buffer
	if err := exampleReport().WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for scheme, dark := range map[string]bool{"0": true, "1": false} { // Blink's numbers
		shot := filepath.Join(dir, scheme+".png")
		out, err := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
			"--blink-settings=preferredColorScheme="+scheme, "--window-size=1100,900", "--screenshot="+shot, "file://"+file).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f, err := os.Open(shot)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if r, g, b, _ := picture.At(2, 2).RGBA(); (r+g+b)/3 < 0x8000 != dark {
			t.Errorf("scheme %s: the paper is %x %x %x", scheme, r>>8, g>>8, b>>8)
		}
	}
}

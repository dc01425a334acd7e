package bench

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
)

// The page is one file that loads nothing: its style, its script and the chart
// library (Chart.js, page/chartjs) are inside it.
var (
	//go:embed page/report.html.tmpl
	pageText string
	//go:embed page/report.css
	pageStyle string
	//go:embed page/report.js
	pageScript string
	//go:embed page/chartjs/chart.umd.min.js
	chartLibrary string

	pageTemplate = template.Must(template.New("report").Parse(pageText))
)

// chapter is a part of the page with charts.
type chapter struct {
	Title  string
	Text   string
	Switch bool // its charts can be made logarithmic
	Charts []placedChart
}

type placedChart struct {
	chart
	ID int
}

// row is a scenario's line in a table.
type row struct {
	Name, Title string
	Strong      bool // slotsql
	Cells       []cell
}

type cell struct {
	Text string
	Kind string // class: "best", "bad"
}

// pointTable is the table of one point.
type pointTable struct {
	Title   string
	Columns []column
	Rows    []row
}

type overviewRow struct {
	At    []string
	Cells []cell
}

// WriteHTML writes the report as one page with charts.
func (r *Report) WriteHTML(w io.Writer) error {
	library, _, _ := strings.Cut(chartLibrary, "//# sourceMappingURL") // would be loaded
	charts := r.charts()
	return pageTemplate.Execute(w, map[string]any{
		"Style":       template.CSS(pageStyle),
		"Library":     template.JS(library),
		"Script":      template.JS(pageScript),
		"Charts":      charts,
		"Chapters":    chapters(charts),
		"Report":      r,
		"Summary":     r.Summary(),
		"Date":        r.Started.Format("2 January 2006, 15:04 MST"),
		"Took":        r.Took.long(),
		"Axes":        axisNames(r.overviewAxes()),
		"Wordy":       len(varying(r.Points)) > mostAxes,
		"Overview":    r.overviewRows(),
		"Tables":      r.pointTables(),
		"Notes":       r.Notes(),
		"Environment": r.Environment.list(),
	})
}

func chapters(charts []chart) []chapter {
	list := []chapter{
		{Title: throughputSection, Text: "How many operations per second are acknowledged. Higher is better.", Switch: true},
		{
			Title: latencySection,
			Text:  "How long an increment takes, from the call to its acknowledgement. Lower is better; each line of the scale is ten times the one below.",
		},
	}
	for id, c := range charts {
		for i := range list {
			if list[i].Title == c.section {
				list[i].Charts = append(list[i].Charts, placedChart{c, id})
			}
		}
	}
	return list
}

func axisNames(list []axis) (names []string) {
	for _, a := range list {
		names = append(names, a.name)
	}
	return names
}

// mostAxes is how many axes have a column each.
const mostAxes = 2

// overviewAxes returns the axes that vary; when these are many, one in their
// place, which leaves room for the scenarios.
func (r *Report) overviewAxes() []axis {
	list := varying(r.Points)
	if len(list) <= mostAxes {
		return list
	}
	return []axis{{name: "point", value: func(p Point) string {
		var parts []string
		for _, a := range list {
			if note := a.note(p); note != "" {
				parts = append(parts, note)
			}
		}
		return strings.Join(parts, ", ")
	}}}
}

func (r *Report) overviewRows() (rows []overviewRow) {
	if len(r.Points) < 2 {
		return nil
	}
	varying := r.overviewAxes()
	for i := range r.Points {
		m := &r.Points[i]
		var row overviewRow
		for _, a := range varying {
			row.At = append(row.At, a.value(m.Point))
		}
		best := m.best()
		for _, s := range r.Scenarios {
			result := m.Of(s.Name)
			c := cell{Text: result.cell(perSecond)}
			if result != nil && result == best {
				c.Kind = "best"
			}
			if result != nil && result.Outcome == Inexact {
				c = cell{"not exact", "bad"}
			}
			row.Cells = append(row.Cells, c)
		}
		rows = append(rows, row)
	}
	return rows
}

// best returns the result with the most operations per second.
func (m *Measurement) best() (best *Result) {
	for i := range m.Results {
		n := m.Results[i].Numbers
		if n != nil && n.Operations > 0 && (best == nil || n.Operations > best.Numbers.Operations) {
			best = &m.Results[i]
		}
	}
	return best
}

func (r *Report) pointTables() (tables []pointTable) {
	for i := range r.Points {
		m := &r.Points[i]
		columns := r.columns(r.Points[i : i+1])
		t := pointTable{Title: m.Point.String(), Columns: columns}
		for k := range m.Results {
			result := &m.Results[k]
			if result.Outcome == NotApplicable || result.Outcome == NotRun {
				continue
			}
			line := row{Name: result.Scenario, Title: r.title(result.Scenario), Strong: strings.HasPrefix(result.Scenario, wrappedName)}
			for _, c := range columns {
				kind := ""
				if c.Head == "exact" && result.Outcome != Exact || c.Head == "errors" && result.Errors > 0 {
					kind = "bad"
				}
				line.Cells = append(line.Cells, cell{c.value(result), kind})
			}
			t.Rows = append(t.Rows, line)
		}
		tables = append(tables, t)
	}
	return tables
}

// fact is a line of the environment.
type fact struct{ Name, Value string }

func (e *Environment) list() []fact {
	list := []fact{{"Engine", e.Engine}, {"Server", e.Address}}
	if e.SameHost && len(e.RoundTrips) > 0 {
		list[1].Value += ", on the machine of the clients"
	}
	for _, s := range e.Settings {
		list = append(list, fact(s))
	}
	if e.Redis != "" {
		list = append(list, fact{"Redis", e.Redis})
	}
	cores := humanize.Comma(int64(e.Cores))
	if e.SameHost {
		cores += ", shared by clients and server"
	} else {
		cores += ", of the clients' machine"
	}
	list = append(list, fact{"Cores", cores})
	for _, t := range e.RoundTrips {
		name := "Round trip"
		if t.Added > 0 {
			name += ", " + t.Added.short() + " added"
		}
		list = append(list, fact{name, t.Measured.short() + " measured"})
	}
	return append(list, fact{"Clients", e.Go + ", " + e.Platform}, fact{"slotsql", e.Slotsql})
}

// Package status is a page that shows what slotsql does in this process. Mount it as you
// would mount net/http/pprof:
//
//	mux.Handle("/debug/slotsql", status.Handler())
//
// It is a separate package because it imports net/http, which a program without a web
// server then need not link. Like pprof it has no password, so mount it where only
// operators can reach it. The page shows statements without their values, and no values
// of arguments.
package status

import (
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/internal/session"
)

// Connector is the current state of one connector of this process: its tables, with the
// number of their hot rows and whether they sleep, and its leases.
type Connector = session.LiveStats

// Table is one configured table of a connector. Its Sleep tells whether it sleeps, since
// when and what woke it, and how many queries were observed, folded first and exact.
type Table = session.LiveTable

// Report is what the page shows.
type Report struct {
	At         time.Time                `json:"at"`
	Process    Process                  `json:"process"`
	Connectors []Connector              `json:"connectors"`
	Statements []slotsql.StatementStats `json:"statements"`
	RollUps    []slotsql.RollUpStats    `json:"rollups"`
	Shadows    []slotsql.ShadowStats    `json:"shadows"`
}

// Process is the process whose page it is.
type Process struct {
	ID      int       `json:"id"`
	Host    string    `json:"host"`
	Version string    `json:"version"` // of slotsql, as the program was built
	Started time.Time `json:"started"` // to within the time that its packages take to initialize
}

var started = time.Now()

// ThisProcess returns what is known of this process. Nothing of it changes while it runs.
func ThisProcess() Process { return process() }

var process = sync.OnceValue(func() Process {
	p := Process{ID: os.Getpid(), Version: "(devel)", Started: started}
	p.Host, _ = os.Hostname() // the page does without
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/slotsql/slotsql" && m.Version != "" {
			p.Version = m.Version
		}
	}
	return p
})

// Read returns what slotsql has done in this process so far. It sends nothing to the
// database.
func Read() Report {
	return Report{
		At: time.Now(), Process: process(), Connectors: session.Live(),
		Statements: slotsql.Stats(), RollUps: slotsql.RollUps(), Shadows: slotsql.Shadows(),
	}
}

// Handler returns the page. With the query ?format=json it returns a [Report] as JSON,
// which is what the page itself fetches every two seconds while it is visible.
func Handler() http.Handler { return http.HandlerFunc(serve) }

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	page = template.Must(template.New("page").Parse(pageText))
)

func serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	report := Read()
	if r.URL.Query().Get("format") == "json" {
		h.Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(report) // the client has gone
		return
	}
	nonce := rand.Text()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; connect-src 'self'; style-src 'nonce-"+nonce+"'; script-src 'nonce-"+nonce+"'; base-uri 'none'; frame-ancestors 'self'")
	_ = page.Execute(w, struct {
		Nonce  string
		Style  template.CSS
		Script template.JS
		Report Report
	}{nonce, template.CSS(pageStyle), template.JS(pageScript), report})
}

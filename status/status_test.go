package status_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/sqlite"
	"github.com/slotsql/slotsql/status"
)

// open opens a database with one counter table, whose name no other test has: counts are
// those of the process.
func open(t *testing.T, table string) *sql.DB {
	t.Helper()
	yaml := "version: 1\nauto_migrate: true\ntables: {" + table + ": {counters: {views: {}}, slots: 4, placement: random}}\n"
	cfg, err := slotsql.Parse([]byte(yaml), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db, err := slotsql.Open(sqlite.DriverName, filepath.Join(t.TempDir(), "test.db"), slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	exec(t, db, "CREATE TABLE "+table+" (id INTEGER PRIMARY KEY, title TEXT, views INTEGER NOT NULL DEFAULT 0)")
	exec(t, db, "INSERT INTO "+table+" (id, title) VALUES (4711, 'hidden literal')")
	return db
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	status.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	return w
}

func report(t *testing.T) (r status.Report) {
	t.Helper()
	w := get(t, http.MethodGet, "/debug/slotsql?format=json")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s", w.Code, w.Header())
	}
	if strings.Contains(w.Body.String(), "0001-01-01") { // a time that there is not
		t.Error(w.Body.String())
	}
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// tables returns the configured tables of that name, of all connectors.
func tables(r status.Report, name string) (out []status.Table) {
	for _, c := range r.Connectors {
		for _, tb := range c.Tables {
			if tb.Table == name {
				out = append(out, tb)
			}
		}
	}
	return out
}

// The report has the statements of each kind, and the tables of connectors that are open.
func TestReport(t *testing.T) {
	table := fmt.Sprintf("reported_%d", time.Now().UnixNano()) // for -count
	db := open(t, table)
	for range 3 {
		exec(t, db, "UPDATE "+table+" SET views = views + 1 WHERE id = ?", 4711)
	}
	exec(t, db, "UPDATE "+table+" SET views = 0 WHERE title = 'hidden literal'")
	r := report(t)
	i := slices.IndexFunc(r.Statements, func(s slotsql.StatementStats) bool {
		return s.Class == "additive" && slices.Equal(s.Tables, []string{table})
	})
	if i < 0 {
		t.Fatalf("no increment in %+v", r.Statements)
	}
	s := r.Statements[i]
	if s.Statements != 3 || s.Slotted != 3 || !slices.Equal(s.Examples, []string{"UPDATE " + table + " SET views = views + ? WHERE id = ?"}) {
		t.Errorf("increments: %+v", s)
	}
	if explained, err := slotsql.Explain(t.Context(), db, s.Examples[0]); err != nil || explained.Verdict != s.Verdict {
		t.Errorf("the verdict is %q, explained %q, %v", s.Verdict, explained.Verdict, err)
	}
	if p := r.Process; p.ID != os.Getpid() || p.Version == "" || p.Started.IsZero() || p.Started.After(r.At) {
		t.Errorf("process: %+v", p)
	}
	found := tables(r, table)
	if len(found) != 1 || !found[0].Sleep.Awake || found[0].Slots != 4 || found[0].Mode != "on" || !slices.Equal(found[0].Counters, []string{"views"}) {
		t.Errorf("tables: %+v", found)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found := tables(report(t), table); len(found) > 0 {
		t.Errorf("after Close: %+v", found)
	}
}

// Neither the page nor its JSON shows a value of an argument or a literal, and the page
// needs nothing from elsewhere. It links to the documentation.
func TestNothingLeaks(t *testing.T) {
	db := open(t, "discreet")
	exec(t, db, "UPDATE discreet SET views = views + 1, title = ? WHERE id = ?", "hidden argument", 47114711471147)
	exec(t, db, "UPDATE discreet SET views = 815815815815 WHERE title = 'hidden literal'")
	exec(t, db, "UPDATE discreet SET views = views * 815815815815 WHERE title IN ('hidden literal', 'hidden </script>')")
	for _, target := range []string{"/debug/slotsql", "/debug/slotsql?format=json"} {
		body := strings.ReplaceAll(get(t, http.MethodGet, target).Body.String(), "https://github.com/slotsql/slotsql/blob/main/docs/", "")
		if !strings.Contains(body, "discreet") {
			t.Errorf("%s does not show the table", target)
		}
		for _, secret := range []string{"hidden argument", "hidden literal", "47114711471147", "815815815815", "hidden <"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s shows %q", target, secret)
			}
		}
		if link := regexp.MustCompile(`(?:https?:)?//[a-z]`).FindString(body); link != "" {
			t.Errorf("%s refers to %q", target, link)
		}
	}
}

// A page is allowed its own script and style only, and only to be read.
func TestHeaders(t *testing.T) {
	w := get(t, http.MethodGet, "/debug/slotsql")
	policy := w.Header().Get("Content-Security-Policy")
	nonce := regexp.MustCompile(`script-src 'nonce-([^']+)'`).FindStringSubmatch(policy)
	if nonce == nil || !strings.Contains(w.Body.String(), `<script nonce="`+nonce[1]+`">`) || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
	if w.Header().Get("Cache-Control") != "no-store" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("headers %v", w.Header())
	}
	if again := get(t, http.MethodGet, "/debug/slotsql").Header().Get("Content-Security-Policy"); again == policy {
		t.Error("two pages have the same nonce")
	}
	if w := get(t, http.MethodPost, "/debug/slotsql"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", w.Code, w.Header())
	}
}

// In a browser numbers move without a reload: what is counted after the page has been
// loaded is on it. Needs Chromium, which `scripts/test --browser` installs.
func TestBrowser(t *testing.T) {
	if os.Getenv("SLOTSQL_BROWSER") == "" {
		t.Skip("set SLOTSQL_BROWSER=1, or run scripts/test --browser")
	}
	db := open(t, "browsed")
	loads := 0
	handler := status.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/slotsql" {
			http.NotFound(w, r) // /favicon.ico
			return
		}
		if r.URL.RawQuery == "" {
			loads++
		} else {
			exec(t, db, "UPDATE browsed SET views = views + 1 WHERE id = ?", 4711)
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	out, err := osexec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000", "--dump-dom", server.URL+"/debug/slotsql").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if loads != 1 {
		t.Errorf("the page was loaded %d times", loads)
	}
	if !regexp.MustCompile(`(?s)browsed: additive.*?<td class="n" data-label="Run">[1-9]`).Match(out) {
		t.Errorf("the page does not show what was counted after it was loaded:\n%s", out)
	}
}

// On a phone nothing is wider than its frame, however long the names are.
func TestBrowserPhone(t *testing.T) {
	if os.Getenv("SLOTSQL_BROWSER") == "" {
		t.Skip("set SLOTSQL_BROWSER=1, or run scripts/test --browser")
	}
	table := "a_table_whose_name_is_longer_than_a_phone_is_wide_" + strings.Repeat("x", 40)
	db := open(t, table)
	exec(t, db, "UPDATE "+table+" SET views = views + 1 WHERE id = 1")
	exec(t, db, "UPDATE "+table+" SET views = 0 WHERE title = 'one'")
	mux := http.NewServeMux()
	mux.Handle("/debug/slotsql", status.Handler())
	// A window of Chromium's is at least 500 pixels wide; a frame is not.
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<iframe id="phone" src="/debug/slotsql" width="360" height="800"></iframe><pre id="out"></pre><script>
setTimeout(() => {
  const d = document.getElementById("phone").contentDocument, all = [d.documentElement, ...d.querySelectorAll(".card, .tiles")];
  document.getElementById("out").textContent = all.length + " boxes, too wide: " +
    all.filter(e => e.scrollWidth > e.clientWidth).map(e => (e.className || e.tagName) + " " + e.textContent.slice(0, 60)).join("; ") + "."
}, 2000)
</script>`))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	out, err := osexec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=6000", "--dump-dom", server.URL+"/").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`<pre id="out">[4-9]\d* boxes, too wide: \.</pre>`).Match(out) {
		t.Errorf("%s", out)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
)

// syncWriter may be read while a command writes to it.
type syncWriter struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *syncWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *syncWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// As a service, the roll-up logs JSON lines and serves its metrics and its health.
func TestRollupService(t *testing.T) {
	t.Parallel()
	dsn, config, _ := counted(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs syncWriter
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"rollup", "--interval", "1ms", "--metrics", "127.0.0.1:0", "--log-format", "json", "--driver", "sqlite",
			"--dsn", dsn, "--config", config}, strings.NewReader(""), &out, &errs)
	}()
	for !strings.Contains(errs.String(), `"rolled up"`) {
		time.Sleep(time.Millisecond)
	}
	var address string
	moved := 0
	for line := range strings.Lines(errs.String()) {
		var l struct {
			Level, Msg, Address string
			Tables              []string
			Moved               int
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Level != "INFO" {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Address != "" {
			address = l.Address
		}
		moved += l.Moved
	}
	if moved != 3 {
		t.Errorf("%d slot rows are logged as moved, want 3: %s", moved, errs.String())
	}
	metrics := get(t, "http://"+address+"/metrics", http.StatusOK)
	// Workers of other tests in this process may have a table of the same name.
	sample := regexp.MustCompile(`(?m)^slotsql_rollup_moved_rows_total\{db_system_name="sqlite",db_collection_name="posts"\} [1-9][0-9]*$`)
	if !sample.MatchString(metrics) || !strings.Contains(metrics, "slotsql_rollup_leader 1\n") {
		t.Errorf("metrics: %s", metrics)
	}
	if ok := get(t, "http://"+address+"/healthz", http.StatusOK); ok != "ok\n" {
		t.Errorf("health: %q", ok)
	}
	cancel()
	if code := <-done; code != 0 || out.String() != "" {
		t.Errorf("%d, %s", code, out.String())
	}
	if _, errs, code := command(t, "", "rollup", "--log-format", "xml", "--driver", "sqlite", "--dsn", dsn); code != exitError ||
		!strings.Contains(errs, "--log-format") {
		t.Errorf("%d, %s", code, errs)
	}
}

// A service that stands by says so once, and when it takes over.
func TestRollupServiceStandsBy(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := &rollupService{log: slog.New(slog.NewTextHandler(&log, nil)), passed: func(slotsql.RollUpReport) {}}
	for _, held := range []bool{false, false, true, true, false} {
		s.pass(t.Context(), &options{}, slotsql.RollUpReport{Held: held}, nil)
	}
	if n := strings.Count(log.String(), "standing by"); n != 2 || strings.Count(log.String(), "rolling up: the other") != 1 {
		t.Errorf("%s", log.String())
	}
}

func get(t *testing.T, url string, want int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		t.Fatalf("%s: %d, %v: %s", url, res.StatusCode, err, b)
	}
	return string(b)
}

// A service is ill when no pass has been without an error for long.
func TestRollupHealth(t *testing.T) {
	t.Parallel()
	start := time.Now()
	s := rollupService{good: start, within: time.Minute, failed: "no connection"}
	if why := s.ill(start.Add(time.Minute)); why != "" {
		t.Errorf("ill after a minute: %s", why)
	}
	if why := s.ill(start.Add(2 * time.Minute)); why != "no pass without an error for 2m0s: no connection" {
		t.Errorf("ill: %q", why)
	}
}

// The metrics have the names that promslotsql has for them.
func TestRollupMetricsAreThoseOfPromslotsql(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../promslotsql/collector.go")
	if err != nil {
		t.Fatal(err)
	}
	source := strings.Join(strings.Fields(string(text)), " ")
	for _, m := range rollupMetrics {
		name := strings.TrimSuffix(m.name, "_total")
		if !strings.Contains(source, `"`+name+`", "`+m.help+`"`) && !strings.Contains(source, `"slotsql_`+name+`", "`+m.help+`"`) {
			t.Errorf("promslotsql has no metric %s with the help %q", m.name, m.help)
		}
	}
}

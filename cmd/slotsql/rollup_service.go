package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
	internalconfig "github.com/slotsql/slotsql/internal/config"
)

// rollupService is `slotsql rollup` without --once: what it logs, and what it serves.
type rollupService struct {
	metrics string

	log    *slog.Logger
	passed func(slotsql.RollUpReport) // prints a pass as data, with --json

	mu       sync.Mutex
	good     time.Time // the last pass without an error, or the start
	held     bool
	standsBy bool          // another worker has the lease
	failed   string        // why the last pass failed; "" when it did not
	within   time.Duration // that a good pass is expected
}

func (s *rollupService) check(o *options, once bool) error {
	switch {
	case o.logFormat != "text" && o.logFormat != "json":
		return fmt.Errorf("--log-format must be text or json, got %q", o.logFormat)
	case once && s.metrics != "":
		return errors.New("--metrics and --once are both given: leave one out")
	}
	return nil
}

// run makes passes until the command is stopped.
func (s *rollupService) run(
	cmd *cobra.Command, o *options, e engine, config *internalconfig.Config, c *slotsql.Connector, opts slotsql.RollUpOptions,
) error {
	s.log, s.good, s.passed = o.logger(), time.Now(), func(slotsql.RollUpReport) {}
	interval := opts.Interval
	if interval == 0 {
		interval = max(config.RollupInterval(), 5*time.Second)
	}
	s.within = max(3*interval, time.Minute)
	if o.json {
		s.passed = func(r slotsql.RollUpReport) { _ = printJSON(cmd.OutOrStdout(), o.passOf(r)) }
	}
	if s.metrics != "" {
		stop, err := s.serve(cmd.Context(), e.dialect.Name())
		if err != nil {
			return err
		}
		defer stop()
	}
	opts.Pass = func(r slotsql.RollUpReport, err error) { s.pass(cmd.Context(), o, r, err) }
	return slotsql.RunRollUp(cmd.Context(), c, opts)
}

// pass logs one pass, if it has done something.
func (s *rollupService) pass(ctx context.Context, o *options, r slotsql.RollUpReport, err error) {
	s.mu.Lock()
	stoodBy := s.standsBy
	s.held, s.failed, s.standsBy = r.Held && err == nil, "", err == nil && !r.Held
	if err != nil {
		s.failed = o.redact(trimName(err.Error()))
	} else {
		s.good = time.Now()
	}
	failed, standsBy := s.failed, s.standsBy
	s.mu.Unlock()
	if standsBy != stoodBy && err == nil {
		what := "rolling up: the other worker has ended"
		if standsBy {
			what = "standing by: another worker rolls up"
		}
		s.log.InfoContext(ctx, what)
	}
	if err != nil {
		s.log.ErrorContext(ctx, "the roll-up failed and will be retried", "error", failed)
		return
	}
	var all slotsql.RollUpTable
	var names []string
	for _, t := range r.Tables {
		if !busy(t) {
			continue
		}
		names = append(names, t.Table)
		all.Moved, all.Merged, all.Deleted, all.Orphans = all.Moved+t.Moved, all.Merged+t.Merged, all.Deleted+t.Deleted, all.Orphans+t.Orphans
		all.Skipped, all.Conflicts, all.Errors = all.Skipped+t.Skipped, all.Conflicts+t.Conflicts, all.Errors+t.Errors
	}
	if len(names) == 0 {
		return
	}
	s.passed(r)
	attrs := []any{"tables", names, "took", r.Took.Round(time.Microsecond), "moved", all.Moved, "merged", all.Merged, "deleted", all.Deleted,
		"orphans", all.Orphans, "skipped", all.Skipped, "conflicts", all.Conflicts, "errors", all.Errors}
	level := slog.LevelInfo
	if why := o.passOf(r).Errors; len(why) > 0 {
		level, attrs = slog.LevelWarn, append(attrs, "why", why)
	}
	s.log.Log(ctx, level, "rolled up", attrs...)
}

// serve answers /metrics and /healthz until stop is called.
func (s *rollupService) serve(ctx context.Context, dialect string) (stop func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.metrics)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		s.mu.Lock()
		held := s.held
		s.mu.Unlock()
		writeMetrics(w, dialect, held, slotsql.RollUps())
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if why := s.ill(time.Now()); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	s.log.InfoContext(ctx, "serving /metrics and /healthz", "address", l.Addr().String())
	return func() { _ = server.Close() }, nil
}

// ill returns why the service is not healthy, "" when it is. To stand by is healthy.
func (s *rollupService) ill(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.good) <= s.within {
		return ""
	}
	why := fmt.Sprintf("no pass without an error for %s", now.Sub(s.good).Round(time.Second))
	if s.failed != "" {
		why += ": " + s.failed
	}
	return why
}

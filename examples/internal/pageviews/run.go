// Package pageviews is the example that the quickstart runs on each engine: a page-view application
// whose visitors come at a fixed rate, with the plain driver and with slotsql's.
package pageviews

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

//go:embed slotsql.yaml
var config []byte

// Options are how an example runs.
type Options struct {
	DSN         string
	Connections int
	Duration    time.Duration // of each step
	Out         io.Writer
}

// Main runs the example on an engine as the flags of the command say.
func Main(e Engine) {
	var o Options
	what := "data source name of a database for tests"
	if e.File {
		what += "; without one it is a file in a temporary directory"
	}
	flag.StringVar(&o.DSN, "dsn", "", what)
	flag.IntVar(&o.Connections, "connections", 32, "size of the application's pool")
	flag.DurationVar(&o.Duration, "duration", 2*time.Second, "of each of the twelve steps")
	flag.Parse()
	o.Out = os.Stdout
	// An interrupt ends the run early; the tables are dropped all the same.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := Run(ctx, e, o); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// Run runs the example. It returns an error when a total is not what the application was told.
func Run(ctx context.Context, e Engine, o Options) (err error) {
	switch {
	case o.Connections < 1 || o.Duration <= 0:
		return errors.New("-connections and -duration must be positive")
	case o.DSN == "" && !e.File:
		return fmt.Errorf("%s needs a -dsn", e.Title)
	}
	dir, err := os.MkdirTemp("", "slotsql-quickstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	// An application keeps this file beside its own, as ./slotsql.yaml.
	file := filepath.Join(dir, "slotsql.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return err
	}
	if err := os.Setenv("SLOTSQL_CONFIG", file); err != nil {
		return err
	}

	r := report{out: o.Out}
	r.intro(e, o)
	plain, err := once(ctx, &r, o, e, e.Plain, dir, nil)
	if err != nil {
		return fmt.Errorf("driver %s: %w", e.Plain, err)
	}
	wrapped, err := once(ctx, &r, o, e, e.Wrapped, dir, plain.rates)
	if err != nil {
		return fmt.Errorf("driver %s: %w", e.Wrapped, err)
	}
	r.hotRow(e, plain, wrapped)
	r.latencies(plain, wrapped)
	exact := r.totals(plain, wrapped)
	r.verdict(plain, wrapped, exact)
	if !exact {
		return errors.New("a total differs from what was acknowledged")
	}
	return nil
}

// outcome is one run of the application.
type outcome struct {
	driver string

	counted, drawn hammered // statements on one row alone
	rates          []int    // requests a second that were offered
	at             []*offered

	acknowledged [kinds]int64
	hot          page  // as the application reads it
	logged       int64 // rows in its visit log
}

// once runs the application with one driver on tables of its own. Without rates it is offered a part
// of what it can do on its hot row, and several times as much.
func once(ctx context.Context, r *report, o Options, e Engine, driver, dir string, rates []int) (out *outcome, err error) {
	dsn := o.DSN
	if dsn == "" {
		dsn = sqliteDSN(dir, driver+".db")
	}
	drop, err := e.setup(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	b, err := openBlog(driver, dsn, o.Connections)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.db.Close()) }()

	out = &outcome{driver: driver, rates: rates}
	out.counted = hammer(ctx, o.Connections, o.Duration, func() (int64, error) { return 0, b.viewPage(hotPage) })
	if out.counted.failure != nil {
		return nil, out.counted.failure
	}
	r.began(out)
	if out.drawn = hammer(ctx, o.Connections, o.Duration, func() (int64, error) { return b.drawNumber(hotPage) }); out.drawn.failure != nil {
		return nil, out.drawn.failure
	}
	if rates == nil {
		for _, percent := range []int64{20, 80, 200, 500} {
			out.rates = append(out.rates, round(out.counted.perSecond*percent/100))
		}
	}
	out.acknowledged[view] = out.counted.times
	for _, rate := range out.rates {
		got := offer(ctx, b, o.Connections, rate, o.Duration)
		out.at = append(out.at, got)
		for k, n := range got.served {
			out.acknowledged[k] += n
		}
		if err := cmp.Or(got.err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	if out.hot, err = b.getPage(hotPage); err != nil {
		return nil, err
	}
	out.logged, err = b.loggedVisits(hotPage)
	return out, err
}

// round leaves two digits of a rate.
func round(n int64) int {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return int(max(n/unit*unit, 1))
}

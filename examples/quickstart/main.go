// Command quickstart counts one hot row, draws numbers from it, and then runs a small
// page-view application: with the plain driver and with slotsql's. It shows what changed:
// speed, not results.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -driver mysql -dsn 'user:password@tcp(localhost:3306)/test'
//	go run ./examples/quickstart -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses SQLite files in a temporary directory. On a server it
// creates tables named slotsql_quickstart_* and drops them when it ends; where
// such tables exist already it touches nothing. It exits with 1 when a total
// is not what the application was told.
package main

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

const warmUp = 500 * time.Millisecond

type options struct {
	driver, dsn string
	clients     int
	duration    time.Duration
	out         io.Writer
	bar         io.Writer // nil for none
}

func main() {
	var o options
	flag.StringVar(&o.driver, "driver", "sqlite", "sqlite, mysql (MariaDB, too) or postgres")
	flag.StringVar(&o.dsn, "dsn", "", "data source name; SQLite needs none")
	flag.IntVar(&o.clients, "clients", 32, "goroutines, each with its connection")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "of each run of the application")
	flag.Parse()
	o.out = os.Stdout
	if isTerminal(os.Stderr) {
		o.bar = os.Stderr
	}
	// An interrupt ends the run early; the tables are dropped all the same.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	e, ok := engines[o.driver]
	switch {
	case !ok:
		return fmt.Errorf("-driver must be sqlite, mysql or postgres, got %q", o.driver)
	case o.clients < 1 || o.duration <= 0:
		return errors.New("-clients and -duration must be positive")
	case o.dsn == "" && o.driver != "sqlite":
		return fmt.Errorf("-driver %s needs a -dsn", o.driver)
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

	r := report{out: o.out, options: o, engine: e}
	r.intro()
	plain, err := once(ctx, o, e, e.plain, dir, nil)
	if err != nil {
		return fmt.Errorf("driver %s: %w", e.plain, err)
	}
	wrapped, err := once(ctx, o, e, e.wrapped, dir, r.explain)
	if err != nil {
		return fmt.Errorf("driver %s: %w", e.wrapped, err)
	}
	r.hotRow(plain, wrapped)
	r.speed(plain, wrapped)
	exact := r.totals(plain, wrapped)
	r.storage(wrapped)
	r.became()
	if !exact {
		return errors.New("a total differs from what was acknowledged")
	}
	return nil
}

// outcome is one run of the application.
type outcome struct {
	driver string
	*result
	acknowledged [kinds]int64 // warm-up included

	counted, drawn int64 // per second, by statements on one row alone
	numbers        int64 // drawn in all; each of them once
	last           int64 // and the last of them

	hot    page  // as the application reads it
	logged int64 // rows in its visit log

	base, inSlots, slots int64 // views as stored
}

// once runs the application with one driver on tables of its own.
func once(ctx context.Context, o options, e engine, driver, dir string, then func() error) (out *outcome, err error) {
	dsn := o.dsn
	if dsn == "" {
		dsn = sqliteDSN(dir, driver+".db")
	}
	drop, err := e.setup(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	if err := openBlog(driver, dsn, o.clients); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	out = &outcome{driver: driver}
	counted := hammer(ctx, o.clients, o.duration/2, func() (int64, error) { return 0, viewPage(hotPage) })
	drawn := hammer(ctx, o.clients, o.duration/2, func() (int64, error) { return drawNumber(hotPage) })
	if err := errors.Join(counted.failure, drawn.failure); err != nil {
		return nil, err
	}
	out.counted, out.drawn = counted.perSecond, drawn.perSecond
	out.numbers, out.last = drawn.times, drawn.last
	// Connecting and the first planning of each statement are not measured.
	warm := load(ctx, o.clients, warmUp)
	stop := showProgress(o.bar, driver, o.duration)
	out.result = load(ctx, o.clients, o.duration)
	stop()
	for k := range out.acknowledged {
		out.acknowledged[k] = int64(len(warm.took[k]) + len(out.took[k]))
	}
	out.acknowledged[view] += counted.times
	out.failed += warm.failed
	out.failure = cmp.Or(out.failure, warm.failure)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if out.hot, err = getPage(hotPage); err != nil {
		return nil, err
	}
	if out.logged, err = loggedVisits(hotPage); err != nil {
		return nil, err
	}
	if then == nil {
		return out, nil
	}
	if out.base, out.inSlots, out.slots, err = e.below(dsn); err != nil {
		return nil, err
	}
	return out, then()
}

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/bench"
)

// benchFlags are the flags of bench as they are written.
type benchFlags struct {
	preset, html  string
	scenarios, tx []string
	clients       []int
	roundTrips    []time.Duration
	reads         []float64
	slots         []int
	keys          int
	budget        int64
	zipf          float64
	duration      time.Duration
	warmup        time.Duration
	runs          int
}

func benchCommand(o *options) *cobra.Command {
	b := &benchFlags{}
	cmd := &cobra.Command{
		Use: "bench",
		Example: `  slotsql bench
  slotsql bench --driver postgres --dsn postgres://localhost/test --html report.html`,
		Short: "Benchmark ways to count, with and without slotsql",
		Long: "Benchmark ways to count, with and without slotsql: " + scenarioNames() + ".\n\n" +
			"It works on tables of its own (slotsql_bench_...), which it drops at the end, even when interrupted. Without --dsn it runs on an\n" +
			"embedded SQLite database. Each list that is given is an axis: all combinations are measured. A run whose total is not the\n" +
			"number of acknowledged increments has no numbers.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.bench(cmd, b) },
	}
	f := cmd.Flags()
	f.StringVar(&o.driver, "driver", "", "mysql, postgres or sqlite (default sqlite, without --dsn)")
	o.dataSource(cmd, "data source name, as the driver accepts it (default $"+environmentDSN+"; for sqlite an embedded, temporary database)")
	f.StringVar(&o.redis, "redis", "", "`address` of a Redis server (host:port or redis://...), to compare with")
	f.StringVar(
		&b.preset,
		"preset",
		"quick",
		"quick: in 20 seconds; full: all scenarios; comparison: ways to take from a bounded budget, with 3, 6, 9 and 64 clients;"+
			" sweep: each axis in turn",
	)
	f.StringSliceVar(&b.scenarios, "scenarios", nil, "scenarios to run (default all, with quick naive, slots and wrapped): "+scenarioNames())
	f.IntSliceVar(&b.clients, "clients", nil, "concurrent clients, such as 1,8,32,128")
	f.DurationSliceVar(&b.roundTrips, "rtt", nil, "round-trip times added to the network, such as 0,1ms,10ms")
	f.StringSliceVar(
		&b.tx,
		"tx",
		nil,
		"transaction `lengths`: statements after the increment (4), time it is held (5ms), or both (1+5ms); 0 is autocommit",
	)
	f.Float64SliceVar(&b.reads, "reads", nil, "shares of reads, such as 0,0.5,0.9")
	f.IntSliceVar(&b.slots, "slots", nil, "slots per counter, such as 1,16,64")
	f.IntVar(&b.keys, "keys", 1, "`number` of counters")
	f.Int64Var(&b.budget, "budget", 0,
		"units that each counter begins with: operations take one while there is one (default 1000000 with comparison; 0 counts up)",
	)
	f.Float64Var(&b.zipf, "zipf", 0, "skew of the counters: Zipf's exponent, such as 0.99; 0 for none")
	f.DurationVar(&b.duration, "duration", 0, "length of one run (default 1s, with quick 300ms)")
	f.DurationVar(&b.warmup, "warmup", 0, "warm-up before each run (default 300ms, with quick 100ms)")
	f.IntVar(&b.runs, "runs", 3, "runs per scenario; the median is reported")
	f.StringVar(&b.html, "html", "", "write a report to this `file`: one page with charts")
	o.output(cmd)
	complete := func(flag string, values []string) {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	complete("driver", engineNames)
	complete("preset", presetNames())
	complete("scenarios", strings.Split(scenarioNames(), ", "))
	return cmd
}

func scenarioNames() string {
	var names []string
	for _, s := range bench.Scenarios() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func presetNames() []string { return slices.Sorted(maps.Keys(bench.Presets)) }

// plan is the preset's plan with what was given in its place.
func (b *benchFlags) plan(cmd *cobra.Command) (bench.Plan, error) {
	p, ok := bench.Presets[b.preset]
	if !ok {
		return p, fmt.Errorf("--preset must be one of %s, got %q", strings.Join(presetNames(), ", "), b.preset)
	}
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	if given("scenarios") {
		p.Scenarios = b.scenarios
	}
	if given("clients") {
		p.Clients = b.clients
	}
	if given("rtt") {
		p.RoundTrips = nil
		for _, d := range b.roundTrips {
			p.RoundTrips = append(p.RoundTrips, bench.Duration(d))
		}
	}
	if given("tx") {
		p.Transactions = nil
		for _, s := range b.tx {
			t, err := bench.ParseTransaction(s)
			if err != nil {
				return p, fmt.Errorf("--tx: %w", err)
			}
			p.Transactions = append(p.Transactions, t)
		}
	}
	if given("reads") {
		p.ReadShares = b.reads
	}
	if given("slots") {
		p.Slots = b.slots
	}
	if given("budget") {
		p.Budget = b.budget
	}
	if given("duration") {
		p.Duration = bench.Duration(b.duration)
	}
	if given("warmup") {
		p.Warmup = bench.Duration(b.warmup)
	}
	p.Keys, p.Zipf, p.Runs = b.keys, b.zipf, b.runs
	return p, nil
}

func (o *options) bench(cmd *cobra.Command, b *benchFlags) error {
	if o.driver == "" && o.dsn == "" {
		o.driver = "sqlite"
	}
	e, err := o.engine()
	if err != nil {
		return err
	}
	plan, err := b.plan(cmd)
	if err != nil {
		return err
	}
	engine := bench.EngineOf(o.driver)
	if !engine.HasNetwork() && !cmd.Flags().Changed("rtt") {
		plan.RoundTrips = []bench.Duration{0}
	}
	if err := plan.Validate(engine); err != nil {
		return err
	}
	switch {
	case o.dsn == "" && !e.file:
		return errNoDSN
	case o.dsn != "" && e.file:
		if err := fileExists(o.dsn); err != nil {
			return err
		}
	}
	page, err := newPage(b.html)
	if err != nil {
		return err
	}
	defer page.discard()
	progress, finish := o.progress(cmd.ErrOrStderr(), plan)
	report, err := bench.Run(cmd.Context(), bench.Options{
		Engine: engine, DSN: o.dsn, Redis: o.redis, Plan: plan, Progress: progress, Redact: o.redact, Command: repeat(cmd),
	})
	finish()
	if report != nil && (len(report.Points) > 0 || err == nil && !report.Interrupted) {
		err = errors.Join(err, o.writeReport(cmd, report, page))
	}
	switch {
	case err != nil:
		return err
	case report.Interrupted:
		return errors.New("interrupted")
	case report.Inexact() > 0:
		return inexactError{reportedError{errors.New("a run was not exact")}}
	case report.Exact() == 0:
		return reportedError{errors.New("nothing could be measured")}
	}
	return nil
}

// repeat writes the command line without what may hold a password.
func repeat(cmd *cobra.Command) string {
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch f.Name {
		case "json", "html", "dsn-file":
			return
		case "dsn", "redis":
			value = strings.ToUpper(f.Name)
		}
		line += " --" + f.Name + " " + strings.Trim(value, "[]")
	})
	return line
}

// inexactError is for exit code 1.
type inexactError struct{ error }

func (e inexactError) Unwrap() error { return e.error }

// writeReport writes the page first: a closed pipe ends the program.
func (o *options) writeReport(cmd *cobra.Command, r *bench.Report, p *page) error {
	if err := p.write(r); err != nil {
		return err
	}
	if o.json {
		return printJSON(cmd.OutOrStdout(), r)
	}
	return r.WriteText(cmd.OutOrStdout())
}

// progress shows a progress bar on a terminal.
func (o *options) progress(w io.Writer, plan bench.Plan) (report func(done, total int, what string), finish func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(int, int, string) {}, func() {}
	}
	var bar *progressbar.ProgressBar
	return func(done, total int, what string) {
			if bar == nil {
				fmt.Fprintf(f, "%d runs, at least %v\n", total, time.Duration(total)*time.Duration(plan.Duration+plan.Warmup))
				bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(f), progressbar.OptionSetWidth(30),
					progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
			}
			bar.Describe(fmt.Sprintf("%-32s", what))
			_ = bar.Set(done)
		}, func() {
			if bar != nil {
				_ = bar.Finish()
			}
		}
}

// page is the file of the HTML report. It is made before the benchmark, so
// that a name that cannot be written does not cost a run, and takes its name
// when it is complete.
type page struct {
	file *os.File
	path string
}

func newPage(path string) (*page, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".slotsql-bench-*")
	return &page{f, path}, err
}

func (p *page) write(r *bench.Report) error {
	if p == nil {
		return nil
	}
	if err := r.WriteHTML(p.file); err != nil {
		return err
	}
	if err := p.file.Chmod(0o644); err != nil {
		return err
	}
	if err := p.file.Close(); err != nil {
		return err
	}
	return os.Rename(p.file.Name(), p.path)
}

func (p *page) discard() {
	if p == nil {
		return
	}
	_ = p.file.Close()
	_ = os.Remove(p.file.Name()) // nothing there once it was renamed
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/slotsql/slotsql"
)

// errStandby means that another worker has the lease.
var errStandby = errors.New("another worker is rolling up this database: it has the lease")

// errLeft means that slots could not be moved.
var errLeft = errors.New("some slots could not be moved")

func rollupCommand(o *options) *cobra.Command {
	var once bool
	var service rollupService
	var opts slotsql.RollUpOptions
	cmd := &cobra.Command{
		Use:     "rollup",
		Example: "  slotsql rollup --driver postgres --dsn postgres://localhost/app --metrics localhost:9187",
		Short:   "Move slots into base rows until stopped",
		Long: `Move what slots hold into the base rows at intervals, until SIGTERM or Ctrl-C; with
--once, a single time. Increments and queries go on meanwhile, and totals stay the same
at every moment. Rollup can be killed at any time. As a service it logs one line for
each pass that has done something.

If several run on one database, including applications with "rollup:", one works
and the others stand by.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.Interval < 0 || opts.Idle < 0 || opts.Batch < 0 {
				return errors.New("--interval, --idle and --batch must not be negative")
			}
			if err := service.check(o, once); err != nil {
				return err
			}
			e, config, err := o.target(cmd)
			if err != nil {
				return err
			}
			c, err := o.connector(e, config.WithoutAutoMigrate())
			if err != nil {
				return err
			}
			if once {
				var finish func()
				opts.Progress, finish = moving(cmd.ErrOrStderr())
				report, err := slotsql.RollUp(cmd.Context(), c, opts)
				finish()
				if err != nil {
					return err
				}
				return o.printOnce(cmd.OutOrStdout(), report)
			}
			return service.run(cmd, o, e, config, c, opts)
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	f := cmd.Flags()
	f.BoolVar(&once, "once", false, "make one pass and end")
	f.DurationVar(&opts.Interval, "interval", 0, "`time` between two passes (default rollup.interval, else 5s)")
	f.DurationVar(&opts.Idle, "idle", 0, "how often empty slots are deleted (default rollup.idle, else 1m; with --once each time)")
	f.IntVar(&opts.Batch, "batch", 0, "slot `rows` per transaction at most (default rollup.batch, else 1000)")
	f.StringVar(&o.logFormat, "log-format", "text", "`format` of the log: text or json")
	f.StringVar(&service.metrics, "metrics", "", "`address`, such as :9187, that serves /metrics and /healthz")
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// moving shows a progress bar on a terminal; how much there is to move is not
// known before.
func moving(w io.Writer) (progress func(rows int), finish func()) { return counting(w, "slot rows") }

// counting shows a bar of how many things have been done.
func counting(w io.Writer, what string) (progress func(n int), finish func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish())
	return func(rows int) { _ = bar.Add(rows) }, func() { _ = bar.Finish() }
}

// passReport is the JSON of one pass.
type passReport struct {
	slotsql.RollUpReport
	At     time.Time         `json:"at"`
	Errors map[string]string `json:"errors,omitempty"` // by table
}

// busy reports whether a pass has done something to the table.
func busy(t slotsql.RollUpTable) bool { return t.Moved+t.Merged+t.Deleted+t.Orphans+t.Errors > 0 }

// passOf is the JSON of a pass now.
func (o *options) passOf(report slotsql.RollUpReport) passReport {
	failed := map[string]string{}
	for _, t := range report.Tables {
		if t.Err != nil {
			failed[t.Table] = o.redact(t.Err.Error())
		}
	}
	if report.Tables == nil {
		report.Tables = []slotsql.RollUpTable{} // an empty list in JSON, as other commands have it
	}
	return passReport{report, time.Now(), failed}
}

// printOnce prints what the only pass has done.
func (o *options) printOnce(w io.Writer, report slotsql.RollUpReport) error {
	var left error
	pass := o.passOf(report)
	if len(pass.Errors) > 0 {
		left = reportedError{errLeft}
	}
	switch {
	case !report.Held:
		if o.json {
			if err := printJSON(w, pass); err != nil {
				return err
			}
			return reportedError{errStandby}
		}
		return errStandby
	case o.json:
		if err := printJSON(w, pass); err != nil {
			return err
		}
		return left
	}
	for _, t := range report.Tables {
		line := fmt.Sprintf("%s: %d slot rows moved, %d idle ones deleted", t.Table, t.Moved, t.Deleted)
		for _, more := range []struct {
			n    int
			what string
		}{
			{t.Merged, "merged, because their base row is locked"},
			{t.Skipped, "locked"},
			{t.Orphans, "without a base row deleted"},
			{t.Errors, "base rows failed"},
		} {
			if more.n > 0 {
				line += fmt.Sprintf(", %d %s", more.n, more.what)
			}
		}
		fmt.Fprintln(w, line)
		if t.Err != nil {
			fmt.Fprintln(w, "  "+pass.Errors[t.Table])
		}
	}
	return left
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/propose"
	"github.com/slotsql/slotsql/doctor"
)

// errBlind: something could not be seen.
var errBlind = errors.New("some information is not visible")

//nolint:funlen // one command: its help, its flags and what it runs
func doctorCommand(o *options) *cobra.Command {
	var opts doctor.Options
	cmd := &cobra.Command{
		Use:     "doctor",
		Example: "  slotsql doctor --driver postgres --dsn postgres://localhost/app --for 1m",
		Short:   "Show which sessions wait for locks, and whether slots would help",
		Long: `Observe for a while which sessions of the database wait for locks: for which rows,
with which statements, and what the sessions that hold the locks do. Doctor plans the
waiting statements, reports whether slotsql would help, and proposes a configuration.

It changes nothing. A configuration is not needed; with one it also reports statements
that write whole rows back, counters included. If privileges are missing it prints the
GRANT for each, and the exit code is 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := o.engine()
			if err != nil {
				return err
			}
			switch {
			case o.dsn == "":
				return errNoDSN
			case opts.For < 0 || opts.Every <= 0:
				return errors.New("--for must not be negative, and --every must be positive")
			}
			config, err := o.load()
			switch {
			case err == nil:
				opts.Config = slotsql.ConfigOf(config)
			case !errors.Is(err, fs.ErrNotExist) || o.config != "" || os.Getenv("SLOTSQL_CONFIG") != "":
				return err
			}
			if e.file {
				if err := fileExists(o.dsn); err != nil {
					return err
				}
			}
			db, err := sql.Open(e.parent, o.dsn)
			if err != nil {
				return err
			}
			defer db.Close()
			opts.Explain = func(ctx context.Context, config *slotsql.Config) (*slotsql.Explainer, error) {
				valid, err := config.Resolve()
				if err != nil {
					return nil, err
				}
				c, err := o.connector(e, valid)
				if err != nil {
					return nil, err
				}
				return slotsql.NewExplainer(ctx, c)
			}
			opts.Propose = propose.ForDoctor
			var finish func()
			opts.Progress, finish = looking(cmd.ErrOrStderr(), opts.For)
			report, err := doctor.Look(cmd.Context(), db, e.dialect, opts)
			finish()
			if errors.Is(err, doctor.ErrNothing) {
				report = &doctor.Report{Spots: []*doctor.Spot{}, Notes: []string{oneWriter}}
			} else if err != nil {
				return err
			}
			return o.printDoctor(cmd.OutOrStdout(), report, opts.Config != nil)
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	cmd.Flags().DurationVar(&opts.For, "for", 5*time.Second, "how long to observe")
	cmd.Flags().DurationVar(&opts.Every, "every", 200*time.Millisecond, "interval between two looks")
	return cmd
}

const oneWriter = "SQLite has one writer at a time, and does not show which sessions wait for it: every write waits for every other one, whatever rows they change. " +
	"Slots do not change that, so a table has none there (slots: 0). What slotsql gains is coalescing: concurrent increments of one process share one statement and one commit"

// looking shows a bar of the time.
func looking(w io.Writer, total time.Duration) (progress func(time.Duration), finish func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || total <= 0 {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(total.Milliseconds(), progressbar.OptionSetWriter(f), progressbar.OptionSetDescription("looking"),
		progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish())
	return func(d time.Duration) { _ = bar.Set64(d.Milliseconds()) }, func() { _ = bar.Finish() }
}

func (o *options) printDoctor(w io.Writer, r *doctor.Report, configured bool) error {
	var blind error
	if len(r.Lacks) > 0 {
		blind = reportedError{errBlind}
	}
	if o.json {
		if err := printJSON(w, r); err != nil {
			return err
		}
		return blind
	}
	if r.Looks > 0 && len(r.Spots) == 0 {
		fmt.Fprintf(w, "no session waited for a lock (%s in %s)\n", number(r.Looks, "look"), r.Took.Round(100*time.Millisecond))
	}
	if len(r.Spots) > 0 {
		fmt.Fprintf(w, "seen in %s (%s):\n", r.Took.Round(100*time.Millisecond), number(r.Looks, "look"))
	}
	for _, s := range r.Spots {
		printSpot(w, s)
	}
	for _, s := range r.Saves {
		fmt.Fprintf(
			w,
			"warning: a statement writes %s of %s back along with other columns; it drains each time it runs, and overwrites increments made since the row was read:\n  %s\n",
			strings.Join(s.Counters, ", "),
			s.Table,
			s.SQL,
		)
	}
	if len(r.Counts) > 0 {
		var counts []string
		for _, c := range r.Counts {
			counts = append(counts, fmt.Sprintf("%d %s", c.N, c.What))
		}
		fmt.Fprintf(w, "counted by the server in %s: %s\n", r.Took.Round(100*time.Millisecond), strings.Join(counts, ", "))
	}
	if d := r.Deadlock; d != nil {
		fmt.Fprintf(w, "the latest deadlock that the server reports, at %s, for %s, was between:\n", d.At, d.Table)
		for _, st := range d.Statements {
			fmt.Fprintf(w, "  %s\n", st)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	for _, l := range r.Lacks {
		fmt.Fprintf(w, "not seen: %s; to see it: %s\n", l.What, l.Grant)
	}
	if r.Propose != "" {
		where := "this configuration would help, as slotsql.yaml"
		if configured {
			where = "this would help, added to the tables of the configuration"
		}
		fmt.Fprintf(w, "\n%s:\n\n%s", where, r.Propose)
	}
	return blind
}

func printSpot(w io.Writer, s *doctor.Spot) {
	name := s.Table
	if name == "" {
		name = "(table not known)"
	}
	var key []string
	for _, k := range slices.Sorted(maps.Keys(s.Key)) {
		key = append(key, k+"="+s.Key[k])
	}
	switch {
	case len(key) > 0:
		name += " " + strings.Join(key, ", ")
	case s.Table != "":
		name += " (row not known)"
	}
	fmt.Fprintf(
		w,
		"%s: %.1f s lost in %s, up to %d at a time, the longest %s\n",
		name,
		s.Lost.Seconds(),
		number(s.Waits, "wait"),
		s.Most,
		s.Longest.Round(time.Millisecond),
	)
	for _, st := range s.Statements {
		class := ""
		if st.Class != "" {
			class = " [" + st.Class + "]"
		}
		if st.By != "" {
			class = " [in " + st.By + "]"
		}
		query := st.SQL
		if query == "" {
			query = "(statement not shown)"
		}
		fmt.Fprintf(w, "  waits %dx%s: %s\n", st.Seen, class, query)
	}
	for _, h := range s.Holders {
		how := "for"
		if h.Idle {
			how = "for an idle transaction, whose last statement was"
		}
		query := h.SQL
		if query == "" {
			query = "(statement not shown)"
		}
		fmt.Fprintf(w, "  %s %dx: %s\n", how, h.Seen, query)
	}
	fmt.Fprintf(w, "  would slotsql help? %s: %s\n", s.Verdict, s.Why)
}

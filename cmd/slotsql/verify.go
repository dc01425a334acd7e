package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
)

// errWrong means that an audit has found problems that it has not fixed.
var errWrong = errors.New("problems remain")

func verifyCommand(o *options) *cobra.Command {
	var opts slotsql.VerifyOptions
	cmd := &cobra.Command{
		Use:     "verify [TABLE...]",
		Example: "  slotsql verify --driver postgres --dsn postgres://localhost/app",
		Short:   "Audit slots and totals while applications run",
		Long: `Audit the named tables (default: every configured table) for slot rows without a
base row, slot rows with unused numbers, totals below "min", and totals that differ
from the "recount" of their counter. What looks wrong is locked and checked again
before it is reported. If anything is wrong, the exit code is 1.

With --fix a total is set to the result of its recount, under the same lock; slot rows
without a base row are deleted, and those with unused numbers are folded into their base
row.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, config, err := o.target(cmd)
			if err != nil {
				return err
			}
			if opts.Patience <= 0 {
				return errors.New("--patience must be positive")
			}
			if err := configured(config, args); err != nil {
				return err
			}
			c, err := o.connector(e, config)
			if err != nil {
				return err
			}
			opts.Tables = args
			var finish func()
			opts.Progress, finish = counting(cmd.ErrOrStderr(), "rows checked under lock")
			reports, err := slotsql.Verify(cmd.Context(), c, opts)
			finish()
			if perr := o.printVerify(cmd.OutOrStdout(), reports, err); perr != nil {
				return perr
			}
			return err
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	cmd.Flags().BoolVar(&opts.Fix, "fix", false, "fix what has a known right value")
	cmd.Flags().DurationVar(&opts.Patience, "patience", time.Minute, "how long to keep trying to lock a row")
	return cmd
}

// printVerify prints what has been found, also before an error, which it leaves
// to the caller.
func (o *options) printVerify(w io.Writer, reports []slotsql.VerifyReport, failed error) error {
	wrong := 0
	for _, r := range reports {
		wrong += r.Wrong()
	}
	var problem error
	if wrong > 0 && failed == nil {
		problem = reportedError{errWrong}
	}
	if o.json {
		if failed != nil && len(reports) == 0 {
			return nil
		}
		if err := printJSON(w, map[string]any{"tables": orEmpty(reports), "wrong": wrong}); err != nil {
			return err
		}
		return problem
	}
	for i, r := range reports {
		if failed != nil && i == len(reports)-1 && len(r.Findings) == 0 {
			break // the error is about this one
		}
		o.printAudit(w, &r)
	}
	return problem
}

// examples is how many findings of a kind are printed.
const examples = 10

func (o *options) printAudit(w io.Writer, r *slotsql.VerifyReport) {
	checked := ""
	if len(r.Recounted) > 0 {
		checked = ", recounted: " + strings.Join(r.Recounted, ", ")
	}
	found := 0
	of := map[string]int{}
	for _, f := range r.Findings {
		if !f.Info {
			found++
			of[f.Kind+f.Counter]++
		}
	}
	switch left := r.Wrong(); {
	case found == 0:
		fmt.Fprintf(w, "%s: nothing wrong%s\n", r.Table, checked)
	case left == 0:
		fmt.Fprintf(w, "%s: %d wrong, all fixed%s\n", r.Table, found, checked)
	default:
		fmt.Fprintf(w, "%s: %d wrong, %d fixed%s\n", r.Table, found, found-left, checked)
	}
	printed := map[string]int{}
	for _, f := range r.Findings {
		kind := f.Kind + f.Counter
		switch printed[kind]++; {
		case f.Info:
			fmt.Fprintf(w, "  note: %s\n", leftoverText(f))
		case printed[kind] <= examples:
			fmt.Fprintf(w, "  %s\n", o.advice(findingText(f)))
		case printed[kind] == of[kind]:
			fmt.Fprintf(w, "  and %d more like %s (--json lists them all)\n", of[kind]-examples, kindText(f))
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "  note: %s\n", o.advice(n))
	}
}

// kindText names a finding's kind, for those that are not printed one by one.
func kindText(f slotsql.Finding) string {
	switch f.Kind {
	case slotsql.FindingDrift:
		return "this: " + f.Counter + " differs from its recount"
	case slotsql.FindingMin:
		return "this: " + f.Counter + " is below its min"
	case slotsql.FindingOrphan:
		return "this: slot rows have no base row"
	}
	return "this: slot rows have numbers out of range"
}

func leftoverText(f slotsql.Finding) string {
	what := "totals include them, and --fix or `slotsql drain` folds them"
	if f.Fixed {
		what = "folded into the base rows"
	}
	return fmt.Sprintf(
		"%d slot rows of %d rows have numbers beyond slots: left from a higher value, or written by a process that has one; %s",
		f.Slots,
		f.Rows,
		what,
	)
}

func findingText(f slotsql.Finding) string {
	var key []string
	for _, k := range slices.Sorted(maps.Keys(f.Key)) {
		key = append(key, k+"="+f.Key[k])
	}
	at := ""
	if len(key) > 0 {
		at = " of " + strings.Join(key, ", ")
	}
	var line string
	switch f.Kind {
	case slotsql.FindingFit:
		return f.Problem
	case slotsql.FindingDrift:
		line = fmt.Sprintf("%s%s is %s and should be %s", f.Counter, at, f.Is, f.Should)
	case slotsql.FindingMin:
		line = fmt.Sprintf("%s%s is %s, below its min of %s", f.Counter, at, f.Is, f.Should)
	case slotsql.FindingOrphan:
		line = fmt.Sprintf("%d slot rows%s have no base row", f.Slots, at)
	default:
		line = fmt.Sprintf("%d slot rows%s have numbers out of range", f.Slots, at)
	}
	if f.Fixed {
		line += " (fixed)"
	}
	return line
}

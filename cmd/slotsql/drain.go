package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
)

// errRefilled: applications have counted in slots after a drain.
var errRefilled = errors.New("increments still go to slots")

func drainCommand(o *options) *cobra.Command {
	var opts slotsql.DrainOptions
	cmd := &cobra.Command{
		Use:     "drain [TABLE...]",
		Example: "  slotsql drain --driver postgres --dsn postgres://localhost/app posts",
		Short:   "Fold all slots into the base rows",
		Long: `Fold all slots of the named tables (default: every configured table) into the base
rows, and check that none is left. Afterwards the plain driver alone is exact.

Most slots are moved while increments go on; each table is then locked for a moment,
during which its increments wait, to move and check the rest. Drain can be interrupted
and run again at any time.

When the last table is drained, all of them are watched for --watch and locked once
more. If slot rows have been added by then, applications still count in slots: drain
reports it and exits with code 1. Otherwise base values were the totals at that moment
(with --json: empty); an application that counts less often goes unnoticed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, config, err := o.target(cmd)
			if err != nil {
				return err
			}
			if opts.Patience <= 0 {
				return errors.New("--patience must be positive")
			}
			if opts.Watch <= 0 {
				return errors.New("--watch must be positive")
			}
			if err := configured(config, args); err != nil {
				return err
			}
			c, err := o.connector(e, config.WithoutAutoMigrate())
			if err != nil {
				return err
			}
			opts.Tables = args
			var finish func()
			opts.Progress, finish = moving(cmd.ErrOrStderr())
			reports, err := slotsql.Drain(cmd.Context(), c, opts)
			finish()
			if perr := o.printDrains(cmd.OutOrStdout(), reports, err); perr != nil {
				return perr
			}
			return err
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	cmd.Flags().DurationVar(&opts.Patience, "patience", time.Minute, "how long to keep trying to lock a table")
	cmd.Flags().DurationVar(&opts.Watch, "watch", time.Second, "how long to watch for increments that still go to slots")
	return cmd
}

// printDrains prints what has been done, also before an error.
func (o *options) printDrains(w io.Writer, reports []slotsql.DrainReport, failed error) error {
	var refilled error
	for _, r := range reports {
		if r.Refilled > 0 && failed == nil {
			refilled = errRefilled
		}
	}
	if o.json {
		if failed != nil && len(reports) == 0 {
			return nil
		}
		if err := printJSON(w, orEmpty(reports)); err != nil || refilled == nil {
			return err
		}
		return reportedError{refilled}
	}
	for _, r := range reports {
		if r.NoSlots {
			fmt.Fprintf(w, "%s: has no slots\n", r.Table)
			continue
		}
		if r.Empty.IsZero() {
			break // the error is about this one
		}
		line := fmt.Sprintf("%s: %d slot rows folded, %d of them with the table locked", r.Table, r.Moved+r.Folded, r.Folded)
		if r.Orphans > 0 {
			line += fmt.Sprintf(", %d without a base row deleted", r.Orphans)
		}
		if r.Refilled > 0 {
			line += fmt.Sprintf("; %d were added since: applications still count in slots", r.Refilled)
		}
		fmt.Fprintln(w, line)
	}
	return refilled
}

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/internal/catalog"
	internalconfig "github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// errRights: programs cannot connect as this user.
var errRights = errors.New("rights are missing: programs cannot connect as this user")

func checkCommand(o *options) *cobra.Command {
	var file, fail string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration against the database and against statements",
		Long: `Check the configuration and the slot tables against the database, and list how
the increments of each counter run. Nothing is changed. All problems are reported
at once, and the GRANTs of rights that are missing; if there are any, the exit code is 1.

With --schema the tables come from a file of CREATE TABLE statements, and slot
tables are not checked.

With --sql it also reports how the statements of a file (- for standard input)
run: SQL with semicolons or one statement per line, a general or slow query log
of MySQL or MariaDB, a log of PostgreSQL (stderr, csvlog or jsonlog), or YAML with
statements under keys sql. The format is detected. Placeholders may have any style.
The report shows no values. --fail-on sets the statements that make the exit code 1:
refused (the default), drained (or refused), or base (those, and increments that
run on the base row).`,
		Example: `  slotsql check --driver postgres --dsn postgres://localhost/app
  slotsql check --driver mysql --schema schema.sql --sql statements.sql --fail-on drained`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, ok := failOn[fail]; !ok {
				return fmt.Errorf("--fail-on must be %s or %s, got %q", strings.Join(failOnNames[:3], ", "), failOnNames[3], fail)
			}
			if file == "" && cmd.Flags().Changed("fail-on") {
				return errors.New("--fail-on is given without --sql: name a file of statements")
			}
			return o.checkAll(cmd, file, fail)
		},
	}
	o.database(cmd, true)
	o.output(cmd)
	cmd.Flags().StringVar(&file, "sql", "", "`file` of statements, or a log of the server")
	cmd.Flags().StringVar(&fail, "fail-on", "refused", "statements that make the exit code 1: never, refused, drained or base")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(failOnNames, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// checkAll checks tables and statements, and prints both. Statements are looked
// at in spite of problems with slot tables: what becomes of them does not depend
// on these.
func (o *options) checkAll(cmd *cobra.Command, file, fail string) error {
	e, config, err := o.target(cmd)
	if err != nil {
		return err
	}
	tables, failed := o.check(cmd, e, config)
	var problems *slotsql.ConfigError
	if failed != nil && !errors.As(failed, &problems) {
		return failed
	}
	var statements *statementsReport
	if file != "" {
		statements, err = o.checkStatements(cmd, e, config, file, fail)
		if err != nil && !errors.As(err, new(*slotsql.ConfigError)) {
			return err
		}
	}
	var unusable error
	if slices.ContainsFunc(tables, func(t slotsql.TableStatus) bool { return len(t.Lacks) > 0 }) {
		unusable = errRights
	}
	out := cmd.OutOrStdout()
	if o.json {
		r := o.report(tables, problems)
		r.Statements = statements
		if err := printJSON(out, r); err != nil {
			return err
		}
	} else {
		o.printTables(out, tables)
		switch {
		case problems != nil:
			for _, p := range problems.Problems {
				fmt.Fprintln(out, o.advice(p.String()))
			}
		case unusable != nil:
			fmt.Fprintln(out, unusable)
		default:
			fmt.Fprintln(out, "no problems")
		}
		switch {
		case statements != nil:
			statements.print(out)
		case file != "":
			fmt.Fprintln(out, "the statements were not checked: the configuration does not fit the database")
		}
	}
	switch {
	case failed != nil:
		return reportedError{failed}
	case unusable != nil:
		return reportedError{unusable}
	case statements != nil && statements.Failing > 0:
		return reportedError{errFailing}
	}
	return nil
}

func (o *options) check(cmd *cobra.Command, e engine, config *internalconfig.Config) ([]slotsql.TableStatus, error) {
	if o.schema != "" {
		f, err := o.schemaFile(e)
		if err != nil {
			return nil, err
		}
		return f.Check(config)
	}
	c, err := o.connector(e, config)
	if err != nil {
		return nil, err
	}
	return slotsql.Check(cmd.Context(), c)
}

func (o *options) printTables(w io.Writer, tables []slotsql.TableStatus) {
	for _, t := range tables {
		mode, missing := internalconfig.Mode(t.Mode), ""
		switch {
		case t.Missing && len(t.Lacks) > 0:
			missing = " (missing, or not shown to this user)"
		case t.Missing && (mode == internalconfig.ModeOn || mode == internalconfig.ModePassive):
			missing = " (created at first connect)"
		case t.Missing && mode == internalconfig.ModeShadow:
			missing = " (missing: reads are not compared; run slotsql migrate)"
		case t.Missing:
			missing = " (missing)"
		}
		if mode == internalconfig.ModeOff {
			fmt.Fprintf(w, "%s: mode off", t.Table)
			if t.SlotTable != "" {
				fmt.Fprintf(w, ", slots in %s%s", t.SlotTable, missing)
			}
			fmt.Fprintln(w)
			continue
		}
		if mode == internalconfig.ModeShadow {
			fmt.Fprintf(w, "%s: mode shadow: statements run as they are; with mode on:\n", t.Table)
		}
		fmt.Fprintf(w, "%s: key [%s], %s%s\n", t.Table, strings.Join(t.Key, ", "), slotsOf(&t), missing)
		for _, c := range t.Counters {
			how := "slotted"
			if !c.Slotted {
				how = "not slotted: " + o.advice(c.Reason)
			}
			fmt.Fprintf(w, "  %s: %s\n", c.Column, how)
		}
		if t.NoForeignKey {
			fmt.Fprintf(w, "  no foreign key: a DELETE drains; rows deleted without slotsql leave their slots behind\n")
		}
		for _, r := range t.Risks {
			fmt.Fprintf(
				w,
				"  warning: %s without slotsql, and leave their slots behind: give %s a foreign key, or run `slotsql verify --fix` beside a roll-up\n",
				r,
				t.SlotTable,
			)
		}
		for _, s := range t.Stored {
			fmt.Fprintf(w, "  %s %s", s.Kind, s.Name)
			if s.Older {
				fmt.Fprintf(w, ": warning: not as slotsql would create it now: run slotsql migrate --%ss", s.Kind)
			}
			fmt.Fprintln(w)
		}
		printRemarks(w, &t)
	}
}

// printRemarks prints what a table's views and the user's rights are about.
func printRemarks(w io.Writer, t *slotsql.TableStatus) {
	for _, v := range t.Views {
		fmt.Fprintf(w, "  view %s: drains\n", v.View)
	}
	if t.Unnamed != "" {
		fmt.Fprintf(w, "  warning: %s\n", t.Unnamed)
	}
	for _, l := range t.Lacks {
		fmt.Fprintf(w, "  missing right: %s: run, as the owner: %s\n", l.What, l.Grant)
	}
	if len(t.FoldLacks) > 0 {
		fmt.Fprintf(w, "  warning: statements that drain fail while there are slots, which this user may not move: run, as the owner: %s\n",
			strings.Join(catalog.Grants(t.FoldLacks), "; "))
	}
}

// slotsOf says where the slots of a table are.
func slotsOf(t *slotsql.TableStatus) string {
	switch {
	case t.LeftOver:
		return fmt.Sprintf("slots: 0, but there is slot table %s, which totals include: "+
			"once no process counts in slots run slotsql drain, then slotsql migrate --down", t.SlotTable)
	case t.Slots == 0:
		return "no slots"
	case schema.Layout(t.Layout) == schema.LayoutJournal:
		return "a journal, which a roll-up moves, in " + t.SlotTable
	}
	return fmt.Sprintf("%d slots in %s", t.Slots, t.SlotTable)
}

// report is the JSON of check.
type report struct {
	Tables   []slotsql.TableStatus `json:"tables"`
	Problems []problem             `json:"problems"`

	Statements *statementsReport `json:"statements,omitempty"` // with --sql
}

type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func (o *options) report(tables []slotsql.TableStatus, problems *slotsql.ConfigError) report {
	r := report{Tables: orEmpty(tables), Problems: []problem{}}
	if problems != nil {
		for _, p := range problems.Problems {
			p.Message = o.advice(p.Message)
			r.Problems = append(r.Problems, problem(p))
		}
	}
	return r
}

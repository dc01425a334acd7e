package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
)

func checkCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Hold the configuration against the database",
		Long: `Hold the configuration and the slot tables against the database, and list the
counters with how their increments run. Nothing is changed. All problems come
at once; with any, the exit code is 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tables, err := o.check(cmd)
			var problems *slotsql.ConfigError
			if err != nil && !errors.As(err, &problems) {
				return err
			}
			out := cmd.OutOrStdout()
			if o.json {
				if perr := printJSON(out, reportOf(tables, problems)); perr != nil {
					return perr
				}
				if err != nil {
					return reportedError{err}
				}
				return nil
			}
			printTables(out, tables)
			if err == nil {
				fmt.Fprintln(out, "no problems")
				return nil
			}
			for _, p := range problems.Problems {
				fmt.Fprintln(out, p)
			}
			return reportedError{err}
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	return cmd
}

func (o *options) check(cmd *cobra.Command) ([]slotsql.TableStatus, error) {
	e, config, err := o.target(cmd)
	if err != nil {
		return nil, err
	}
	c, err := o.connector(e, config)
	if err != nil {
		return nil, err
	}
	return slotsql.Check(cmd.Context(), c)
}

func printTables(w io.Writer, tables []slotsql.TableStatus) {
	for _, t := range tables {
		missing := ""
		if t.Missing {
			missing = " (created at first connect)"
		}
		fmt.Fprintf(w, "%s: key [%s], %d slots in %s%s\n", t.Table, strings.Join(t.Key, ", "), t.Slots, t.SlotTable, missing)
		for _, c := range t.Counters {
			how := "slotted"
			if !c.Slotted {
				how = "not slotted: " + c.Reason
			}
			fmt.Fprintf(w, "  %s: %s\n", c.Column, how)
		}
		if t.NoForeignKey {
			fmt.Fprintf(w, "  no foreign key: a DELETE is drained for; rows that are deleted without slotsql leave their slots behind\n")
		}
		for _, r := range t.Risks {
			fmt.Fprintf(w, "  warning: %s without slotsql, and leave their slots behind: give %s a foreign key, or run `slotsql verify --fix` beside a roll-up\n", r, t.SlotTable)
		}
		for _, v := range t.Views {
			fmt.Fprintf(w, "  view %s: drained for\n", v.View)
		}
		if t.Unnamed != "" {
			fmt.Fprintf(w, "  warning: %s\n", t.Unnamed)
		}
	}
}

// report is the JSON of check.
type report struct {
	Tables   []slotsql.TableStatus `json:"tables"`
	Problems []problem             `json:"problems"`
}

type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func reportOf(tables []slotsql.TableStatus, problems *slotsql.ConfigError) report {
	r := report{Tables: orEmpty(tables), Problems: []problem{}}
	if problems != nil {
		for _, p := range problems.Problems {
			r.Problems = append(r.Problems, problem(p))
		}
	}
	return r
}

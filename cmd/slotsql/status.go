package main

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
)

func statusCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Example: "  slotsql status --driver postgres --dsn postgres://localhost/app",
		Short:   "Show slots, lag and waiting sessions of each table",
		Long: `For each configured table, show how many rows have slots, the age of the oldest
increment in a slot, and how many sessions wait for locks, as the database reports it.
With --page, also show what a process knows: since when a table is awake or asleep, what
woke it, and how its reads ran. It changes nothing and takes no locks.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i, err := o.inspector(cmd)
			if err != nil {
				return err
			}
			defer i.Close()
			seen, err := o.look(cmd.Context(), i)
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(cmd.OutOrStdout(), seen)
			}
			printStatus(cmd.OutOrStdout(), seen)
			return nil
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	o.pageFlag(cmd)
	return cmd
}

func (o *options) inspector(cmd *cobra.Command) (*slotsql.Inspector, error) {
	e, config, err := o.target(cmd)
	if err != nil {
		return nil, err
	}
	c, err := o.connector(e, config)
	if err != nil {
		return nil, err
	}
	return slotsql.NewInspector(c)
}

// printStatus prints one look at the database, at most 80 columns wide where names are short.
func printStatus(w io.Writer, seen look) {
	t := newTable(table.Row{"table", "state", "rows with slots", "slots", "idle", "lag", "waiting", "longest wait"}, 3)
	for _, ti := range seen.Tables {
		if ti.SlotTable == "" {
			t.AppendRow(table.Row{ti.Table, "no slots", "", "", "", "", ti.Waits, waitText(ti.Longest)})
			continue
		}
		t.AppendRow(table.Row{
			ti.Table, stateText(ti.Awake), atLeast(ti.Rows, ti.More), atLeast(ti.Slots, ti.More), atLeast(ti.Idle, ti.More),
			lagText(ti.Lag), ti.Waits + ti.SlotWaits, waitText(ti.Longest),
		})
	}
	fmt.Fprintln(w, t.Render())
	for _, name := range seen.Missing {
		fmt.Fprintf(w, "table %q does not exist in the database: create it, or correct the name in the configuration\n", name)
	}
	switch {
	case seen.RollUp == nil:
	case *seen.RollUp:
		fmt.Fprintln(w, "a roll-up is running")
	default:
		fmt.Fprintln(w, "no roll-up is running (see `slotsql rollup`)")
	}
	for _, l := range seen.Lacks {
		fmt.Fprintf(w, "not seen: %s; to see it: %s\n", l.What, l.Grant)
	}
	if seen.Page != nil {
		printProcess(w, seen)
	}
}

// newTable returns a table without lines. Columns from the given one on are numbers.
func newTable(header table.Row, numbers int) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleDefault)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	var right []table.ColumnConfig
	for n := numbers; n <= len(header); n++ {
		right = append(right, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(right)
	return t
}

func stateText(awake bool) string {
	if awake {
		return "awake"
	}
	return "asleep"
}

func atLeast(n int, more bool) string {
	if more {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

func lagText(lag *time.Duration) string {
	if lag == nil {
		return ""
	}
	return lag.Round(100 * time.Millisecond).String()
}

func waitText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Round(time.Millisecond).String()
}

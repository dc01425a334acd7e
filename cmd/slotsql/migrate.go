package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
)

func migrateCommand(o *options) *cobra.Command {
	var down bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create the slot tables that are missing",
		Long: `Create the slot tables of the configuration that are missing. Tables that are
there are checked, and left as they are. It may be run again, and by several
processes at once.

With --down it drops them again, if none of them holds anything.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, config, err := o.target(cmd)
			if err != nil {
				return err
			}
			c, err := o.connector(e, config)
			if err != nil {
				return err
			}
			migrate, done, none := slotsql.Migrate, "created", "all slot tables are there"
			if down {
				migrate, done, none = slotsql.MigrateDown, "dropped", "no slot table is there"
			}
			tables, err := migrate(cmd.Context(), c)
			out := cmd.OutOrStdout()
			if o.json {
				if perr := printJSON(out, map[string]any{done: orEmpty(tables)}); perr != nil {
					return perr
				}
				return err
			}
			for _, name := range tables {
				fmt.Fprintf(out, "%s %s\n", done, name)
			}
			if len(tables) == 0 && err == nil {
				fmt.Fprintln(out, none)
			}
			return err
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	cmd.Flags().BoolVar(&down, "down", false, "drop the slot tables, which must hold nothing")
	return cmd
}

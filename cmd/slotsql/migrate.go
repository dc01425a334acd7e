package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
)

func migrateCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create the slot tables that are missing",
		Long: `Create the slot tables of the configuration that are missing. Tables that are
there are checked, and left as they are. It may be run again, and by several
processes at once.`,
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
			created, err := slotsql.Migrate(cmd.Context(), c)
			out := cmd.OutOrStdout()
			if o.json {
				if perr := printJSON(out, map[string]any{"created": orEmpty(created)}); perr != nil {
					return perr
				}
				return err
			}
			for _, name := range created {
				fmt.Fprintf(out, "created %s\n", name)
			}
			if len(created) == 0 && err == nil {
				fmt.Fprintln(out, "all slot tables are there")
			}
			return err
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	return cmd
}

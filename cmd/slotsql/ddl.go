package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
)

func ddlCommand(o *options) *cobra.Command {
	var noForeignKeys bool
	cmd := &cobra.Command{
		Use:   "ddl",
		Short: "Print the statements that create the slot tables",
		Long: `Print the statements that create the configured slot tables, whether they exist or
not, for use with a migration tool instead of slotsql migrate. Run them in one
transaction where the database allows it. Comments name the locks that they take on
the base tables.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, config, err := o.target(cmd)
			if err != nil {
				return err
			}
			statements, err := o.ddl(cmd, e, withForeignKeys(config, noForeignKeys))
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"statements": orEmpty(statements)})
			}
			for _, s := range statements {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s;\n", s); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.database(cmd, true)
	o.output(cmd)
	foreignKeys(cmd, &noForeignKeys)
	return cmd
}

func (o *options) ddl(cmd *cobra.Command, e engine, config *slotsql.Config) ([]string, error) {
	if o.schema != "" {
		f, err := o.schemaFile(e)
		if err != nil {
			return nil, err
		}
		return f.DDL(config)
	}
	c, err := o.connector(e, config)
	if err != nil {
		return nil, err
	}
	return slotsql.DDL(cmd.Context(), c)
}

// orEmpty makes a list that JSON writes as [] and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
	internalconfig "github.com/slotsql/slotsql/internal/config"
)

func ddlCommand(o *options) *cobra.Command {
	var noForeignKeys, triggers bool
	var stored slotsql.Stored
	cmd := &cobra.Command{
		Use: "ddl",
		Example: `  slotsql ddl --driver postgres --schema schema.sql
  slotsql ddl --driver postgres --dsn postgres://localhost/app --functions`,
		Short: "Print the statements that create the slot tables, functions and views",
		Long: `Print the statements that create the configured slot tables, whether they exist or
not, for use with a migration tool instead of slotsql migrate. Run them in one
transaction where the database allows it. Comments name the locks that they take on
the base tables.

--functions and --views print what lets triggers and programs without slotsql count in
slots and read totals, instead of the slot tables: a function such as
posts_count(id, views), and a view such as posts_totals.

--triggers looks for triggers, procedures and functions of the database that increment
a configured counter, and prints them with calls of that function in place of the
UPDATE, for you to check and run. What cannot be replaced is named in a comment.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, config, err := o.target(cmd)
			if err != nil {
				return err
			}
			statements, err := o.ddl(cmd, e, withForeignKeys(config, noForeignKeys), stored, triggers)
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"statements": orEmpty(statements)})
			}
			for _, s := range statements {
				if _, err := fmt.Fprint(cmd.OutOrStdout(), terminated(e, s)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.database(cmd, true)
	o.output(cmd)
	foreignKeys(cmd, &noForeignKeys)
	storedFlags(cmd, &stored)
	cmd.Flags().BoolVar(&triggers, "triggers", false, "print the triggers and routines that increment counters, with calls of the functions")
	cmd.MarkFlagsMutuallyExclusive("triggers", "schema")
	return cmd
}

// storedFlags adds the flags of the commands that create functions and views.
func storedFlags(cmd *cobra.Command, stored *slotsql.Stored) {
	cmd.Flags().BoolVar(&stored.Functions, "functions", false, "functions that count, for triggers and other programs (not SQLite)")
	cmd.Flags().BoolVar(&stored.Views, "views", false, "views of totals, for other programs")
	cmd.Flags().BoolVar(&stored.Definer, "definer", false, "functions with the rights of their owner, not of their caller")
}

func (o *options) ddl(
	cmd *cobra.Command, e engine, config *internalconfig.Config, stored slotsql.Stored, triggers bool,
) (out []string, err error) {
	inside := stored.Functions || stored.Views
	if o.schema != "" {
		f, err := o.schemaFile(e)
		if err != nil {
			return nil, err
		}
		if inside {
			return f.StoredDDL(config, stored)
		}
		return f.DDL(config)
	}
	c, err := o.connector(e, config)
	if err != nil {
		return nil, err
	}
	if !inside && !triggers {
		return slotsql.DDL(cmd.Context(), c)
	}
	if inside {
		if out, err = slotsql.StoredDDL(cmd.Context(), c, stored); err != nil {
			return nil, err
		}
	}
	if triggers {
		more, err := slotsql.TriggerDDL(cmd.Context(), c)
		return append(out, more...), err
	}
	return out, nil
}

// terminated ends a statement as the engine's own client reads it: one of MySQL that has semicolons in it needs
// another delimiter there.
func terminated(e engine, statement string) string {
	switch code := strings.TrimSpace(withoutComments(statement)); {
	case code == "":
		return statement
	case e.delimited && strings.Contains(code, ";"):
		return "DELIMITER $$\n" + statement + "$$\nDELIMITER ;\n"
	}
	return statement + ";\n"
}

// withoutComments returns a statement without the comment lines above it.
func withoutComments(statement string) string {
	for strings.HasPrefix(statement, "-- ") {
		_, statement, _ = strings.Cut(statement, "\n")
	}
	return statement
}

// orEmpty makes a list that JSON writes as [] and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/internal/catalog"
	internalconfig "github.com/slotsql/slotsql/internal/config"
)

func migrateCommand(o *options) *cobra.Command {
	var down, noForeignKeys bool
	var stored slotsql.Stored
	cmd := &cobra.Command{
		Use:     "migrate",
		Example: "  slotsql migrate --driver postgres --dsn postgres://localhost/app",
		Short:   "Create the slot tables that are missing",
		Long: `Create the configured slot tables that are missing. Existing slot tables are checked
and kept, except that missing counter columns are added, the slot column is widened for
a journal, and types, foreign key and triggers follow a changed base table. Migrate can
be run again, and by several processes at once, while applications run.

The foreign key of a slot table takes a short lock on the base table (on PostgreSQL
one that blocks writes). Migrate retries the lock with a short timeout rather than wait
for it. --no-foreign-keys leaves the foreign key out; a DELETE then drains.

--functions and --views also create, or replace, the functions that count and the
views of totals that triggers and programs without slotsql use (slotsql ddl prints them).

With --down the slot tables are dropped, if all of them are empty, with the functions and
views. With --functions or --views only these are dropped. A function that a trigger or routine
calls stays, and so does everything else.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, cfg, err := o.target(cmd)
			if err != nil {
				return err
			}
			c, err := o.connector(e, withForeignKeys(cfg, noForeignKeys))
			if err != nil {
				return err
			}
			return o.migrate(cmd, e, cfg, c, down, stored)
		},
	}
	o.database(cmd, false)
	o.output(cmd)
	cmd.Flags().BoolVar(&down, "down", false, "drop the slot tables, which must hold nothing")
	foreignKeys(cmd, &noForeignKeys)
	storedFlags(cmd, &stored)
	cmd.MarkFlagsMutuallyExclusive("down", "no-foreign-keys")
	cmd.MarkFlagsMutuallyExclusive("down", "definer")
	return cmd
}

func (o *options) migrate(
	cmd *cobra.Command, e engine, cfg *internalconfig.Config, c *slotsql.Connector, down bool, stored slotsql.Stored,
) (err error) {
	done, none := "created", "all slot tables exist"
	if !hasSlots(e, cfg) {
		none = "no table has slots: there is nothing to create"
	}
	var tables []string
	inside := stored.Functions || stored.Views
	switch {
	case down && inside:
		done, none = "dropped", "there are none"
		tables, err = slotsql.DropStored(cmd.Context(), c, stored)
	case down:
		done, none = "dropped", "there are no slot tables"
		tables, err = slotsql.MigrateDown(cmd.Context(), c)
	default:
		if tables, err = slotsql.Migrate(cmd.Context(), c); err == nil && inside {
			var more []string
			more, err = slotsql.MigrateStored(cmd.Context(), c, stored)
			tables = append(tables, more...)
		}
	}
	out := cmd.OutOrStdout()
	if err != nil && len(tables) == 0 {
		return err
	}
	if o.json {
		if perr := printJSON(out, map[string]any{done: orEmpty(tables)}); perr != nil {
			return perr
		}
		return err
	}
	for _, name := range tables {
		fmt.Fprintf(out, "%s %s\n", done, name)
	}
	if len(tables) == 0 {
		fmt.Fprintln(out, none)
	}
	return err
}

// hasSlots reports whether any table is to have slots on that engine.
func hasSlots(e engine, cfg *internalconfig.Config) bool {
	return catalog.NewCatalog(e.dialect, cfg, cfg.Tables()).HasSlots()
}

// foreignKeys adds the flag of the commands that create slot tables.
func foreignKeys(cmd *cobra.Command, without *bool) {
	cmd.Flags().BoolVar(without, "no-foreign-keys", false, "create slot tables without a foreign key to the base table")
}

// withForeignKeys returns the configuration that the flag asks for.
func withForeignKeys(c *internalconfig.Config, without bool) *internalconfig.Config {
	if without {
		return internalconfig.WithoutForeignKeys(c)
	}
	return c
}

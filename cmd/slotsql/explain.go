package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
)

// maxStatement is the longest statement that is read from standard input.
const maxStatement = 64 << 20

func explainCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   `explain "SQL"`,
		Short: "Show how slotsql runs a statement, without running it",
		Long: `Show how slotsql runs a statement: its class, what is sent instead of it, and why
it drains if it does. The statement is not run.

The tables come from the database (--dsn) or from a file of CREATE TABLE
statements (--schema). With -, the statement is read from standard input.`,
		Example: `  slotsql explain --driver mysql --schema schema.sql "UPDATE posts SET views = views + 1 WHERE id = ?"
  slotsql explain --driver sqlite --dsn app.db --json - < statement.sql`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf(
					"explain takes one statement, in quotes, or - to read it from standard input; got %d arguments",
					len(args),
				)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, config, err := o.target(cmd)
			if err != nil {
				return err
			}
			query := args[0]
			if query == "-" {
				if query, err = readStatement(cmd.InOrStdin()); err != nil {
					return err
				}
			}
			out, err := o.explain(cmd, e, config, query)
			if err != nil {
				return err
			}
			if o.json {
				return printJSON(cmd.OutOrStdout(), out)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), out)
			return err
		},
	}
	o.database(cmd, true)
	o.output(cmd)
	return cmd
}

func (o *options) explain(cmd *cobra.Command, e engine, config *slotsql.Config, query string) (*slotsql.Explanation, error) {
	if o.schema != "" {
		f, err := o.schemaFile(e)
		if err != nil {
			return nil, err
		}
		return f.Explain(config, query)
	}
	c, err := o.connector(e, config)
	if err != nil {
		return nil, err
	}
	x, err := slotsql.NewExplainer(cmd.Context(), c)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return x.Explain(query)
}

func readStatement(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxStatement+1))
	if err == nil && len(b) > maxStatement {
		err = errors.New("the statement is longer than 64 MiB")
	}
	return string(b), err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/workload"
	internalconfig "github.com/slotsql/slotsql/internal/config"
)

// maxStatement is the longest statement that is read from standard input.
const maxStatement = 64 << 20

func explainCommand(o *options) *cobra.Command {
	var detailed bool
	cmd := &cobra.Command{
		Use:   `explain "SQL"`,
		Short: "Show how slotsql runs a statement, without running it",
		Long: `Show how slotsql runs a statement: a verdict (fast, as plain, slower or refused, and
why), and what happens while its tables are asleep and awake. --sql adds the SQL that
is sent. The statement is not run.

The tables come from the database (--dsn) or from a file of CREATE TABLE
statements (--schema). With -, the statement is read from standard input.
Placeholders may have any style.`,
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
			x, err := o.explainer(cmd, e, config)
			if err != nil {
				return err
			}
			defer x.Close()
			out, err := o.explain(cmd.Context(), e, x, config, workload.Adapt(e.dialect, query))
			switch {
			case err != nil:
				return err
			case o.json:
				return printJSON(cmd.OutOrStdout(), out)
			case detailed:
				_, err = fmt.Fprint(cmd.OutOrStdout(), out.Detailed(e.dialect))
			default:
				_, err = fmt.Fprint(cmd.OutOrStdout(), out)
			}
			return err
		},
	}
	o.database(cmd, true)
	o.output(cmd)
	cmd.Flags().BoolVar(&detailed, "sql", false, "print the SQL that is sent as well")
	return cmd
}

// explain explains a statement that the database takes.
func (o *options) explain(
	ctx context.Context, e engine, x *slotsql.Explainer, config *internalconfig.Config, query string,
) (*slotsql.Explanation, error) {
	list, err := o.parsed(ctx, e, x, query)
	if err != nil {
		return nil, err
	}
	out, err := x.Explain(query)
	if err != nil {
		return nil, err
	}
	return out, addTable(e, x, config, list, out)
}

func readStatement(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxStatement+1))
	if err == nil && len(b) > maxStatement {
		err = errors.New("the statement is longer than 64 MiB")
	}
	return strings.TrimSpace(string(b)), err
}

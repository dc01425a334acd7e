package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitOK       = 0
	exitProblems = 1 // the configuration does not fit, or a statement; a benchmark was not exact; slots could not be moved, or fill up again
	exitError    = 2 // wrong usage, no connection, a file that cannot be read
	exitStandby  = 3 // rollup --once: another worker has the lease
)

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o := &options{stderr: stderr}
	root := rootCommand(o)
	root.SetArgs(commentIsNoFlag(args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if unknown := unknownCommand(root, args); unknown != nil {
		err = unknown
	}
	o.json = o.json || asksForJSON(args)
	return o.fail(stderr, err)
}

// unknownCommand is the error of a command that does not exist, where flags follow it that the root command does not have either.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	if found, _, err := root.Find(args[:1]); err != nil || found != root {
		return nil
	}
	return knownCommand(root, args[:1])
}

// commentIsNoFlag moves a statement that begins with a comment behind the flags.
func commentIsNoFlag(args []string) []string {
	i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-- ") || strings.HasPrefix(a, "--\n") })
	if i < 0 || slices.Contains(args, "--") {
		return args
	}
	return append(slices.Concat(args[:i], args[i+1:]), "--", args[i])
}

// asksForJSON reports whether --json is among the arguments: flags after one that is wrong are not parsed.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// reportedError is an error whose text has been printed as data.
type reportedError struct{ error }

var errReported = errors.New("reported")

func (reportedError) Is(target error) bool { return target == errReported }
func (e reportedError) Unwrap() error      { return e.error }

func rootCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "slotsql",
		Short: "Explain statements, and create, check and maintain slot tables",
		Long: `slotsql works on the counter tables named in slotsql.yaml. Start with init and explain;
migrate creates slot tables. Documentation: docs/cli.md.`,
		Args:          knownCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return o.takeDSN(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return reportedError{errors.New("no command")}
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	cmd.AddCommand(
		initCommand(o),
		explainCommand(o),
		ddlCommand(o),
		migrateCommand(o),
		checkCommand(o),
		rollupCommand(o),
		drainCommand(o),
		verifyCommand(o),
		statusCommand(o),
		topCommand(o),
		doctorCommand(o),
		benchCommand(o),
		versionCommand(o),
	)
	return cmd
}

// knownCommand refuses a command that does not exist, and names those that are spelled much like it.
func knownCommand(cmd *cobra.Command, args []string) error {
	err := cobra.NoArgs(cmd, args)
	if err == nil {
		return nil
	}
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		return fmt.Errorf("%w: did you mean %s?", err, strings.Join(similar, " or "))
	}
	return err
}

// printJSON writes one JSON value.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

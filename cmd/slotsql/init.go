package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/propose"
)

// initFlags are the flags of init as they are written.
type initFlags struct {
	sql    string
	output string
	force  bool
}

func initCommand(o *options) *cobra.Command {
	f := &initFlags{}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Propose a configuration for a database",
		Long: `Propose a configuration: find the columns that statements add to, list for each
table the statements that suggest it, and name what will be slow or is a risk. The
database is only read.

The statements come from the server's statistics (pg_stat_statements,
performance_schema) and, with --sql, from a file: SQL or a log, as for check.
Columns that only look like counters are comments: remove the # to try them.
With --schema, a file of CREATE TABLE statements replaces the database.

The proposal is printed, or with --output written to a file, which is not
overwritten without --force. It contains no values of your data.`,
		Example: `  slotsql init --driver postgres --dsn postgres://localhost/app --output slotsql.yaml
  slotsql init --driver mysql --dsn 'root@/app' --sql general.log`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.init(cmd, f) },
	}
	o.database(cmd, true)
	o.output(cmd)
	_ = cmd.Flags().MarkHidden("config")
	cmd.Flags().StringVar(&f.sql, "sql", "", "`file` of statements, or a log of the server; - for standard input")
	cmd.Flags().StringVar(&f.output, "output", "", "write the proposal to this `file`")
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite the file of --output")
	return cmd
}

// initReport is the JSON of init.
type initReport struct {
	Config     string              `json:"config"` // the proposal, as it is written to a file
	Sources    []string            `json:"sources"`
	Statements int                 `json:"statements"` // different ones
	Classes    []classShare        `json:"classes"`    // of statements, with the proposal
	Tables     []*propose.Proposal `json:"tables"`
}

func (o *options) init(cmd *cobra.Command, f *initFlags) error {
	e, err := o.engine()
	if err != nil {
		return err
	}
	switch {
	case o.config != "":
		return errors.New("init has no --config: name the file to write with --output")
	case o.dsn == "" && o.schema == "":
		return errNoTables
	case o.dsn != "" && o.schema != "":
		return errors.New("--dsn and --schema are both given: leave one out")
	case f.force && f.output == "":
		return errors.New("--force is given without --output: name the file to write")
	}
	if f.output != "" && !f.force { // before the work, and again when it is written
		if _, err := os.Lstat(f.output); err == nil {
			return fmt.Errorf("%s already exists: name another file, or overwrite it with --force", f.output)
		}
	}
	s, err := o.survey(cmd, e)
	if err != nil {
		return err
	}
	statements, err := s.statements(cmd, f.sql)
	if err != nil {
		return err
	}
	proposals := propose.Propose(s.dialect, s.tables, statements, s.transactions)
	if err := s.hold(cmd, proposals); err != nil {
		return err
	}
	if err := s.fit(cmd, proposals); err != nil {
		return err
	}
	classes, err := s.explained(cmd, proposals, statements)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	header := propose.Header{Database: s.name, Sources: s.sources, Summary: summary(classes)}
	if err := propose.Write(&text, header, proposals); err != nil {
		return err
	}
	if f.output != "" {
		if err := writeProposal(f.output, text.Bytes(), f.force); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	if o.json {
		return printJSON(out, initReport{text.String(), orEmpty(s.sources), len(statements), orEmpty(classes), orEmpty(proposals)})
	}
	if f.output == "" {
		_, err := out.Write(text.Bytes())
		return err
	}
	return s.told(out, f.output, proposals)
}

// told says on the screen what has been written to the file.
func (s *known) told(w io.Writer, file string, proposals []*propose.Proposal) error {
	for _, line := range s.sources {
		fmt.Fprintln(w, line)
	}
	tables, counters, off, guesses := 0, 0, 0, 0
	for _, p := range proposals {
		switch {
		case p.Guess:
			guesses++
		case p.Off != "":
			off++
		default:
			tables++
			for _, c := range p.Counters {
				if c.Off == "" {
					counters++
				}
			}
		}
	}
	_, err := fmt.Fprintf(w, "%s: %s of %s proposed; as comments: %s with the reason against it, guesses at %s\n",
		file, number(counters, "counter"), number(tables, "table"), number(off, "table"), number(guesses, "table"))
	return err
}

// writeProposal writes the file as a whole: under another name first, which
// becomes the file's own unless that is taken.
func writeProposal(path string, text []byte, force bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".slotsql-init-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(f.Name(), path)
	}
	if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists: name another file, or overwrite it with --force", path)
	}
	return err
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// environmentDSN names the database where no flag does. A DSN on the command line is seen by
// everyone who may list processes, with its password.
const environmentDSN = "SLOTSQL_DSN"

// dataSource adds the flags that name the database.
func (o *options) dataSource(cmd *cobra.Command, usage string) {
	f := cmd.Flags()
	f.StringVar(&o.dsn, "dsn", "", usage)
	f.StringVar(&o.dsnFile, "dsn-file", "", "`file` that holds the DSN, - for standard input")
}

// takeDSN finds the DSN, and checks its form.
func (o *options) takeDSN(cmd *cobra.Command) error {
	if err := o.findDSN(cmd); err != nil || o.dsn == "" || o.schema != "" {
		return err
	}
	if e, ok := engines[o.driver]; ok {
		if err := e.parse(o.dsn); err != nil {
			return dsnError{err}
		}
	}
	return nil
}

// findDSN finds the DSN where --dsn does not give it: in a file, or in the environment.
func (o *options) findDSN(cmd *cobra.Command) error {
	if cmd.Flags().Lookup("dsn-file") == nil {
		return nil
	}
	switch {
	case o.dsnFile != "" && cmd.Flags().Changed("dsn"):
		return errors.New("--dsn and --dsn-file are both given: leave one out")
	case o.dsnFile == "-":
		return o.readDSN(cmd.InOrStdin())
	case o.dsnFile != "":
		f, err := os.Open(o.dsnFile)
		if err != nil {
			return err
		}
		defer f.Close()
		return o.readDSN(f)
	case !cmd.Flags().Changed("dsn") && o.schema == "" && o.driver != "":
		o.dsn = strings.TrimSpace(os.Getenv(environmentDSN))
	}
	return nil
}

// maxDSN is more than any DSN has: a larger file is another one.
const maxDSN = 64 << 10

func (o *options) readDSN(r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, maxDSN+1))
	if err != nil {
		return err
	}
	o.dsn = strings.TrimSpace(string(b))
	if o.dsn == "" || len(b) > maxDSN || strings.ContainsAny(o.dsn, "\n\x00") {
		o.dsn = ""
		return fmt.Errorf("%s does not hold a DSN: it must be one line", o.dsnFile)
	}
	return nil
}

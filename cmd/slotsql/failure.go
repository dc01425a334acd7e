package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/internal/catalog"
)

// failure is the JSON of an error, on standard error, for every command that has --json.
type failure struct {
	Error    string          `json:"error"`
	Exit     int             `json:"exit"` // the exit code
	Problems []configProblem `json:"problems,omitempty"`
}

// configProblem is one of the configuration's.
type configProblem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"` // such as tables.posts.slots
	Message string `json:"message"`
}

// fail reports an error, unless it has been, and returns the exit code.
func (o *options) fail(w io.Writer, err error) int {
	code := exitCode(err)
	if errors.Is(err, errReported) {
		return code
	}
	text := o.advice(trimName(err.Error())) + o.dsnForm(err)
	if !o.json {
		fmt.Fprintln(w, "slotsql: "+text)
		return code
	}
	out := failure{Error: text, Exit: code}
	if e := (*slotsql.ConfigError)(nil); errors.As(err, &e) {
		for _, p := range e.Problems {
			out.Problems = append(out.Problems, configProblem{p.File, p.Line, p.Column, p.Path, o.advice(p.Message)})
		}
	}
	_ = printJSON(w, out)
	return code
}

// advice is a message of the library as this command gives it.
func (o *options) advice(text string) string { return o.redact(o.filled(text)) }

// filled puts what the command was given into the advice of an error, and replaces advice that is followed already.
func (o *options) filled(text string) string {
	if !strings.Contains(text, catalog.MigrateCommand) {
		return text
	}
	command := "slotsql migrate --driver " + o.driver
	switch {
	case o.dsnFile != "" && o.dsnFile != "-":
		command += " --dsn-file " + o.dsnFile
	case strings.TrimSpace(os.Getenv(environmentDSN)) != o.dsn: // as findDSN takes it
		command += " --dsn '" + o.dsn + "'"
	}
	if o.config != "" {
		command += " --config " + o.config
	}
	text = strings.ReplaceAll(text, catalog.MigrateCommand, command)
	if config, err := o.load(); err == nil && config.AutoMigrate() {
		text = strings.ReplaceAll(text, catalog.OrAutoMigrate, "or start the application, which creates it (auto_migrate: true)")
	}
	return text
}

// exitCode tells what was found from what went wrong.
func exitCode(err error) int {
	var problems *slotsql.ConfigError
	if errors.Is(err, errStandby) {
		return exitStandby
	}
	if errors.As(err, &problems) || errors.As(err, new(inexactError)) || errors.As(err, new(statementError)) {
		return exitProblems
	}
	for _, found := range []error{errLeft, errRefilled, errFailing, errWrong, errBlind, errRights} {
		if errors.Is(err, found) {
			return exitProblems
		}
	}
	return exitError
}

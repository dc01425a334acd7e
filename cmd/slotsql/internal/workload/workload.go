// Package workload reads the statements of an application from a file: SQL, or
// a log of the database server. It recognises the form by itself, needs no
// configuration of the log's format beyond the server's own, and never looks at
// a database. What it returns are statements as they stand there; [Adapt] turns
// placeholders of other kinds into the dialect's own.
package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// Statement is one statement of a file, or of a server's statistics.
type Statement struct {
	SQL  string
	Line int    // where it begins in the file, from 1; 0 when it is from no file
	Conn string // names the connection, in logs that tell them apart and are complete
	By   string // the trigger or routine that runs it; "" for the application
	Runs int64  // how often it was run: 1 for each place in a log, 0 where the file does not say
	// Time is how long the server was busy with it, Lock how much of that went
	// by waiting for locks, all runs together; 0 where it is not known.
	Time, Lock time.Duration
}

// Form says how a file was read.
type Form struct {
	Name string `json:"name"` // sql, lines, yaml, mysql-general, mysql-slow, postgres, postgres-csv, postgres-json
	// Log reports whether each statement stands there as often as it was run.
	Log  bool   `json:"log"`
	Text string `json:"-"` // for people
}

var (
	formSQL      = Form{"sql", false, "SQL, statements end with ;"}
	formLines    = Form{"lines", false, "SQL, one statement on each line"}
	formYAML     = Form{"yaml", false, "YAML, the values of the keys sql"}
	formGeneral  = Form{"mysql-general", true, "general log of MySQL or MariaDB"}
	formSlow     = Form{"mysql-slow", true, "slow query log of MySQL or MariaDB"}
	formPostgres = Form{"postgres", true, "log of PostgreSQL"}
	formCSV      = Form{"postgres-csv", true, "csvlog of PostgreSQL"}
	formJSON     = Form{"postgres-json", true, "jsonlog of PostgreSQL"}
)

const (
	peekBytes = 64 << 10
	// maxWhole is the largest file of those forms that are read as a whole.
	maxWhole = 256 << 20
	// maxSQL is the longest statement of a log that is kept; of a longer one
	// the rest is cut off, so that no parser takes it.
	maxSQL = 16 << 20
)

// Read calls f for each statement of r, in the file's order, and says how the
// file was read. An error of f ends it. Logs are read as they come; a file of
// SQL or YAML is held in memory, and may have 256 MiB.
func Read(r io.Reader, lexRules *lex.Rules, f func(Statement) error) (Form, error) {
	b := bufio.NewReaderSize(r, peekBytes)
	head, err := b.Peek(peekBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return Form{}, err
	}
	form := recognise(head)
	switch form {
	case formGeneral:
		return form, readGeneral(newLines(b), f)
	case formSlow:
		return form, readSlow(newLines(b), f)
	case formPostgres:
		return form, readPostgres(newLines(b), f)
	case formCSV:
		return form, readCSV(b, f)
	case formJSON:
		return form, readJSON(newLines(b), f)
	}
	text, err := io.ReadAll(io.LimitReader(b, maxWhole+1))
	if err != nil {
		return form, err
	}
	if len(text) > maxWhole {
		return form, fmt.Errorf("the file is larger than %d MiB and is not a log: split it", maxWhole>>20)
	}
	if form == formYAML {
		return form, readYAML(text, f)
	}
	return readSQL(lexRules, string(text), f)
}

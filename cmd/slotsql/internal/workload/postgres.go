package workload

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// postgresEntry is the first line of an entry, behind whatever log_line_prefix
// writes.
var postgresEntry = regexp.MustCompile(
	`(?:^|[^A-Za-z])(LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG\d?|DETAIL|HINT|STATEMENT|CONTEXT|QUERY|LOCATION):  (.*)$`,
)

// postgresRun is the message of a statement that is run: by log_statement, or
// by log_min_duration_statement with its time. Parsing and binding have entries
// of their own there, and fetching more rows is no new run.
var postgresRun = regexp.MustCompile(`(?s)^(?:duration: ([\d.]+) ms  )?(?:statement|execute ([^\n]*?)): (.*)$`)

func postgresStatement(message string, line int) (Statement, string, bool) {
	m := postgresRun.FindStringSubmatch(message)
	if m == nil || strings.HasPrefix(m[2], "fetch from ") {
		return Statement{}, "", false
	}
	st := Statement{Line: line}
	if ms, err := strconv.ParseFloat(m[1], 64); err == nil && ms < 1e12 {
		st.Time = time.Duration(ms * float64(time.Millisecond))
	}
	return st, m[3], true
}

// postgresPID is the process in the default log_line_prefix, "%m [%p] ", and in those of
// most distributions and services.
var postgresPID = regexp.MustCompile(`\[(\d+)\]`)

// sessions names the connections of a log once the log has shown that it has every
// statement. With log_statement = mod the statements that begin and end transactions are
// missing, and with log_min_duration_statement above 0, which is in whole milliseconds,
// all fast ones: a transaction would look like statements in autocommit.
type sessions struct{ complete bool }

func (s *sessions) name(st *Statement, sql, id string) {
	if st.Time > 0 {
		s.complete = s.complete || st.Time < time.Millisecond
	} else {
		s.complete = s.complete || unmodifying.MatchString(sql)
	}
	if s.complete {
		st.Conn = id
	}
}

// unmodifying are statements that only log_statement = all logs.
var unmodifying = regexp.MustCompile(`(?i)^\s*(?:BEGIN|START|COMMIT|END|ROLLBACK|SELECT|SET|SHOW)\b`)

func readPostgres(l *lines, f func(Statement) error) error {
	c, in := &collector{f: f}, sessions{}
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err != nil {
			return err
		}
		// The server indents the further lines of a message by a tab.
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			c.add(rest)
			continue
		}
		at := postgresEntry.FindStringSubmatchIndex(line)
		if at == nil {
			c.add(line) // logged without tabs, by a service
			continue
		}
		if err := c.end(); err != nil {
			return err
		}
		if st, sql, ok := postgresStatement(line[at[4]:], l.line); ok && line[at[2]:at[3]] == "LOG" {
			if pid := postgresPID.FindStringSubmatch(line[:at[2]]); pid != nil {
				in.name(&st, sql, pid[1])
			}
			c.begin(st, sql)
		}
	}
}

// The places of session, severity and message in a csvlog.
const csvSession, csvSeverity, csvMessage = 5, 11, 13

var severities = []string{
	"LOG",
	"ERROR",
	"FATAL",
	"PANIC",
	"WARNING",
	"NOTICE",
	"INFO",
	"DEBUG",
	"DEBUG1",
	"DEBUG2",
	"DEBUG3",
	"DEBUG4",
	"DEBUG5",
}

func isCSVLog(fields []string) bool {
	return len(fields) > 20 && slices.Contains(severities, fields[csvSeverity])
}

func readCSV(b *bufio.Reader, f func(Statement) error) error {
	r := csv.NewReader(b)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	c, in := &collector{f: f}, sessions{}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !isCSVLog(fields) || fields[csvSeverity] != "LOG" {
			continue
		}
		line, _ := r.FieldPos(0)
		if st, sql, ok := postgresStatement(fields[csvMessage], line); ok {
			in.name(&st, sql, strings.Clone(fields[csvSession]))
			c.begin(st, strings.Clone(sql))
			if err := c.end(); err != nil {
				return err
			}
		}
	}
}

func readJSON(l *lines, f func(Statement) error) error {
	c, in := &collector{f: f}, sessions{}
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var entry struct {
			Session  string `json:"session_id"`
			Severity string `json:"error_severity"`
			Message  string `json:"message"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Severity != "LOG" {
			continue // cut off by a crash, perhaps
		}
		if st, sql, ok := postgresStatement(entry.Message, l.line); ok {
			in.name(&st, sql, entry.Session)
			c.begin(st, sql)
			if err := c.end(); err != nil {
				return err
			}
		}
	}
}

package workload

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// generalEntry is the first line of an entry of the general log: time (left
// out when it is the last one's, in older versions), thread, command, argument.
var generalEntry = regexp.MustCompile(`^(?:\d{6} +\d{1,2}:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|\t)\t *(\d+) ` +
	`(Query|Execute|Prepare|Connect|Quit|Init DB|Close stmt|Reset stmt|Field List|Statistics|Ping|Long Data|Fetch|Change user|Binlog Dump|Register Slave|` +
	`Set option|Debug|Refresh|Shutdown|Processlist|Kill|Sleep|Bulk_execute|Delayed insert|Daemon|Error|Create DB|Drop DB|Table Dump|Connect Out|Time|Binlog Dump GTID|Reset Connection|clone)\b(?:\t| *$)(.*)$`)

// readGeneral takes what was run: plain statements, and prepared statements each time they
// are executed, which the log gives with their arguments.
func readGeneral(l *lines, f func(Statement) error) error {
	c := &collector{f: f}
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err != nil {
			return err
		}
		m := generalEntry.FindStringSubmatch(line)
		if m == nil {
			if restarted(line) {
				err = c.end()
			} else {
				c.add(line)
			}
		} else if err = c.end(); err == nil && (m[2] == "Query" || m[2] == "Execute" || m[2] == "Bulk_execute") {
			c.begin(Statement{Line: l.line, Conn: m[1]}, m[3])
		}
		if err != nil {
			return err
		}
	}
}

// restarted is a line that a server writes when it opens a log.
func restarted(line string) bool {
	return strings.HasSuffix(line, "started with:") || strings.HasPrefix(line, "Tcp port: ") || generalBegin.MatchString(line)
}

var (
	slowTimes = regexp.MustCompile(`^# Query_time: +([\d.]+) +Lock_time: +([\d.]+)`)
	slowSkip  = regexp.MustCompile(`^(?:use [^;]*;|SET (?:timestamp|last_insert_id|insert_id)=[^;]*;|# administrator command: .*)$`)
)

// readSlow takes the statements after the comments of each entry, and their times.
func readSlow(l *lines, f func(Statement) error) error {
	c := &collector{f: f}
	var times Statement
	head := false // in the comments of an entry
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err != nil {
			return err
		}
		switch m := slowTimes.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "# Time: ") || strings.HasPrefix(line, "# User@Host: "):
			err, head, times = c.end(), true, Statement{}
		case m != nil && !c.open:
			times.Time, times.Lock = seconds(m[1]), seconds(m[2])
			head = true
		case head && !c.open && (strings.HasPrefix(line, "#") || slowSkip.MatchString(line)):
		case restarted(line):
			err, head = c.end(), false
		case head && !c.open:
			times.Line = l.line
			c.begin(times, line)
		default:
			c.add(line)
		}
		if err != nil {
			return err
		}
	}
}

func seconds(s string) time.Duration {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 || v > 1e9 {
		return 0
	}
	return time.Duration(v * float64(time.Second))
}

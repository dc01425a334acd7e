package mysql

import (
	"context"
	"regexp"
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.DeadlockReader = (*Dialect)(nil)

// Deadlock reads the latest deadlock from InnoDB's status, which keeps one, of
// any database.
func (d *Dialect) Deadlock(ctx context.Context, s dialect.Session) (*dialect.Deadlock, error) {
	rows, err := s.Query(ctx, "SHOW ENGINE INNODB STATUS")
	if err != nil || len(rows) == 0 || len(rows[0]) < 3 {
		return nil, err
	}
	own, err := s.Query(ctx, "SELECT DATABASE()")
	if err != nil || len(own) == 0 {
		return nil, err
	}
	found := readDeadlock(dialect.String(rows[0][2]))
	if found != nil && found.Schema != dialect.String(own[0][0]) {
		return nil, nil
	}
	return found, nil
}

var (
	deadlockHead   = regexp.MustCompile(`(?m)^LATEST DETECTED DEADLOCK\n-+\n(\d{4}-\d\d-\d\d +\d+:\d\d:\d\d)`)
	deadlockThread = regexp.MustCompile(`(?m)^(?:MySQL|MariaDB) thread id .*query id.*\n`)
	deadlockTable  = regexp.MustCompile("of table (`(?:[^`]|``)+`\\.`(?:[^`]|``)+`)")
)

// readDeadlock finds the section of the latest deadlock in InnoDB's status, the
// statements of its transactions and the table of its first lock.
func readDeadlock(status string) *dialect.Deadlock {
	head := deadlockHead.FindStringSubmatchIndex(status)
	if head == nil {
		return nil
	}
	out := &dialect.Deadlock{At: strings.Join(strings.Fields(status[head[2]:head[3]]), " ")}
	section := status[head[1]:]
	if end := strings.Index(section, "\n------------\nTRANSACTIONS\n"); end >= 0 {
		section = section[:end]
	}
	if m := deadlockTable.FindStringSubmatch(section); m != nil {
		out.Schema, out.Table = lockedTable(m[1])
	}
	for _, at := range deadlockThread.FindAllStringIndex(section, -1) {
		statement, _, _ := strings.Cut(section[at[1]:], "\n***")
		if statement = strings.TrimSpace(statement); statement != "" {
			out.Statements = append(out.Statements, statement)
		}
	}
	if len(out.Statements) == 0 || out.Table == "" {
		return nil
	}
	return out
}

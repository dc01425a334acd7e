package survey

import (
	"context"
	"fmt"
	"strconv"

	"github.com/slotsql/slotsql/dialect"
)

// What the summary by digest lacks. MariaDB counts no executions of prepared
// statements in it, and go-sql-driver/mysql prepares each statement that has
// arguments: of a Go program it shows next to nothing. The general log has them,
// where it is kept as a table.

// minPrepared is the least number of prepared executions that are reported if the log has none of them. A few runs of slotsql
// execute fewer.
const minPrepared = 100

// maxLogged bounds how many rows of the general log are read.
const maxLogged = 200000

// prepared compares the server's counts of prepared executions with the summary,
// and reads them from the general log if the summary lacks them.
func (d MySQL) prepared(ctx context.Context, s dialect.Session, out *Statistics) error {
	counts, err := s.Query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_stmt_execute', 'Questions')")
	if err != nil {
		return fmt.Errorf("mysql: reading the counts of statements: %w", err)
	}
	var executed, sent int64
	for _, r := range counts {
		n, _ := strconv.ParseInt(dialect.String(r[1]), 10, 64)
		if dialect.String(r[0]) == "Questions" {
			sent = n
		} else {
			executed = n
		}
	}
	var summed int64
	if out.Missing == "" {
		rows, err := s.Query(ctx, "SELECT CAST(SUM(COUNT_STAR) AS CHAR) FROM "+digestsOf)
		if err != nil || len(rows) != 1 {
			return nil // the summary has been read: it is the sum alone that may not be
		}
		summed, _ = strconv.ParseInt(dialect.String(rows[0][0]), 10, 64)
	}
	// All but those that were prepared would be there.
	if executed == 0 || sent-summed < executed/2 {
		return nil
	}
	where := "the general log has them: SET GLOBAL log_output = 'TABLE', general_log = 1 for a while under load, then run init again; or give the log's file with --sql"
	n, err := d.logged(ctx, s, out)
	switch {
	case n == 0 && executed < minPrepared:
		return nil
	case err != nil:
		where = "mysql.general_log, which may have them, cannot be read: " + err.Error()
	case n > 0:
		where = fmt.Sprintf("%d were read from mysql.general_log, which does not record their database", n)
	}
	out.Notes = append(
		out.Notes,
		fmt.Sprintf(
			"the server has executed prepared statements %d times, as Go programs do when they pass arguments, and %s does not include them; %s",
			executed,
			digestsOf,
			where,
		),
	)
	return nil
}

// logged adds the statements in the table of the general log, in their order; the
// prepared executions as runs, each with its arguments written into it.
func (d MySQL) logged(ctx context.Context, s dialect.Session, out *Statistics) (n int64, err error) {
	rows, err := s.Query(
		ctx,
		fmt.Sprintf(
			"SELECT CONVERT(argument USING utf8mb4), thread_id, command_type FROM mysql.general_log WHERE command_type IN ('Execute', 'Query') LIMIT %d",
			maxLogged,
		),
	)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		st := RunStatement{SQL: dialect.String(r[0]), Conn: dialect.String(r[1])}
		if dialect.String(r[2]) == "Execute" { // the others are in the summary, and here for their order
			st.Runs = 1
			n++
		}
		if st.SQL != "" {
			out.Statements = append(out.Statements, st)
		}
	}
	if n > 0 {
		out.Missing = ""
	}
	return n, nil
}

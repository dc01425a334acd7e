package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.Observer = (*Dialect)(nil)

// MariaDB has InnoDB's locks in information_schema, MySQL 8 in
// performance_schema.
const (
	waitsHead = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, r.trx_query, b.trx_query, TIMESTAMPDIFF(MICROSECOND, r.trx_wait_started, NOW(6)), b.trx_state, DATABASE(), "
	waitsOld  = waitsHead + "l.lock_table, l.lock_index, l.lock_data, l.lock_mode, p.QUERY_ID FROM information_schema.INNODB_LOCK_WAITS w" +
		" JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id" +
		" JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id" +
		" LEFT JOIN information_schema.PROCESSLIST p ON p.ID = r.trx_mysql_thread_id"
	waitsNew = waitsHead + "CONCAT('`', l.OBJECT_SCHEMA, '`.`', l.OBJECT_NAME, '`'), l.INDEX_NAME, l.LOCK_DATA, l.LOCK_MODE, l.EVENT_ID FROM performance_schema.data_lock_waits w" +
		" JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID" +
		" JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID AND l.ENGINE = w.ENGINE"
)

// maxTrxQuery is how much of a statement INNODB_TRX has.
const maxTrxQuery = 1024

// Waits implements dialect.Observer. The server's lists are of all its databases;
// other applications' statements are not this one's to show. MariaDB renews the
// lists when they have not been read for 0.1 s.
func (d *Dialect) Waits(ctx context.Context, s dialect.Session) ([]dialect.Wait, error) {
	query := waitsNew
	if maria, err := isMariaDB(ctx, s); err != nil {
		return nil, err
	} else if maria {
		query = waitsOld
	}
	rows, err := s.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("reading lock waits: %w", err)
	}
	var out []dialect.Wait
	for _, r := range rows {
		schema, table := lockedTable(dialect.String(r[7]))
		if !strings.EqualFold(schema, dialect.String(r[6])) {
			continue
		}
		w := dialect.Wait{
			Waiter:    dialect.String(r[0]),
			Holder:    dialect.String(r[1]),
			Execution: dialect.String(r[0]) + " " + dialect.String(r[11]),
			Statement: dialect.String(r[2]),
			Holding:   dialect.String(r[3]),
			Schema:    schema,
			Table:     table,
			Kind:      dialect.String(r[10]),
			Index:     dialect.String(r[8]),
			Row:       dialect.String(r[9]),
		}
		w.Cut = len(w.Statement) >= maxTrxQuery-3
		w.Idle = r[3] == nil && dialect.String(r[5]) == "RUNNING"
		us, _ := strconv.ParseInt(dialect.String(r[4]), 10, 64)
		w.For = max(0, time.Duration(us)*time.Microsecond)
		out = append(out, w)
	}
	return out, nil
}

// lockedTable reads `schema`.`table`; a partition is named behind it.
func lockedTable(name string) (schema, table string) {
	var parts []string
	for _, t := range lex.Tokens(&lexRules, name) {
		if t.Kind == lex.QuotedIdent {
			parts = append(parts, unquote(name[t.Start:t.End]))
		}
	}
	if len(parts) < 2 {
		return "", ""
	}
	return parts[0], parts[1]
}

func isMariaDB(ctx context.Context, s dialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SELECT VERSION()")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return strings.Contains(strings.ToLower(dialect.String(rows[0][0])), "mariadb"), nil
}

// Statements implements dialect.Observer: the SQL that sessions of the database run.
func (d *Dialect) Statements(ctx context.Context, s dialect.Session) ([]string, error) {
	rows, err := s.Query(
		ctx,
		"SELECT INFO FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID() AND INFO IS NOT NULL AND COMMAND IN ('Query', 'Execute')",
	)
	if err != nil {
		return nil, fmt.Errorf("reading the list of sessions: %w", err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, dialect.String(r[0]))
	}
	return out, nil
}

// counted are the server's own counts.
var counted = []struct{ variable, what string }{
	{"Innodb_row_lock_waits", "waits for row locks"},
	{"Innodb_row_lock_time", "milliseconds waited for row locks"},
	{"Innodb_deadlocks", "deadlocks"},
}

// Totals implements dialect.Observer. (MySQL does not count deadlocks there.)
func (d *Dialect) Totals(ctx context.Context, s dialect.Session) ([]dialect.Total, error) {
	rows, err := s.Query(
		ctx,
		"SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_row_lock_waits', 'Innodb_row_lock_time', 'Innodb_deadlocks')",
	)
	if err != nil {
		return nil, fmt.Errorf("reading the status: %w", err)
	}
	var out []dialect.Total
	for _, c := range counted {
		for _, r := range rows {
			if n, err := strconv.ParseInt(dialect.String(r[1]), 10, 64); err == nil && strings.EqualFold(dialect.String(r[0]), c.variable) {
				out = append(out, dialect.Total{What: c.what, Value: n})
			}
		}
	}
	return out, nil
}

// Rights implements dialect.Observer by trying.
func (d *Dialect) Rights(ctx context.Context, s dialect.Session) ([]dialect.Lack, error) {
	rows, err := s.Query(ctx, "SELECT CURRENT_USER()")
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	name, host, _ := strings.Cut(dialect.String(rows[0][0]), "@")
	account := quoteText(name) + "@" + quoteText(host)
	maria, err := isMariaDB(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []dialect.Lack
	if _, err := s.Query(ctx, "SELECT 1 FROM information_schema.INNODB_TRX LIMIT 1"); err != nil {
		out = append(
			out,
			dialect.Lack{
				What:  "transactions and lock waits, and the statements of other accounts",
				Grant: "GRANT PROCESS ON *.* TO " + account,
			},
		)
	}
	if !maria {
		if _, err := s.Query(ctx, "SELECT 1 FROM performance_schema.data_lock_waits LIMIT 1"); err != nil {
			out = append(out, dialect.Lack{What: "which rows are locked", Grant: "GRANT SELECT ON performance_schema.* TO " + account})
		}
	}
	return out, nil
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Locked implements dialect.Observer: the data of a lock are the values of the
// index, which in the primary key's are the key's, and in another one end with
// them.
func (d *Dialect) Locked(_ context.Context, _ dialect.Session, t *schema.Table, key []string, w *dialect.Wait) ([]string, error) {
	var primary *schema.Unique
	for i := range t.Uniques {
		if t.Uniques[i].Primary {
			primary = &t.Uniques[i]
		}
	}
	values := lockData(w.Row)
	if primary == nil || len(values) < len(primary.Columns) {
		return nil, nil
	}
	values = values[len(values)-len(primary.Columns):]
	if w.Index == "PRIMARY" && len(values) != len(lockData(w.Row)) {
		return nil, nil
	}
	out := make([]string, len(key))
	for i, k := range key {
		at := -1
		for j, c := range primary.Columns {
			if c == k {
				at = j
			}
		}
		if at < 0 {
			return nil, nil // the key of the configuration is another one
		}
		out[i] = values[at]
	}
	return out, nil
}

// lockData cuts "1, 'it”s', 2" into values; nil for a gap's, which is no row's.
func lockData(data string) (out []string) {
	if data == "" || strings.HasPrefix(data, "supremum") {
		return nil
	}
	for _, t := range lex.Tokens(&lexRules, data) {
		v := data[t.Start:t.End]
		switch t.Kind {
		case lex.String:
			out = append(out, strings.ReplaceAll(v[1:len(v)-1], "''", "'"))
		case lex.Operator:
			if v == "-" {
				out = append(out, "-")
			}
		default:
			if n := len(out); n > 0 && out[n-1] == "-" {
				out[n-1] += v
				continue
			}
			out = append(out, v)
		}
	}
	return out
}

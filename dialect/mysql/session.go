package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.SessionAware = (*Dialect)(nil)

var _ dialect.ClusterAware = (*Dialect)(nil)

// ForServer returns the dialect for the server of a session.
func ForServer(ctx context.Context, s dialect.Session) (*Dialect, error) {
	rows, err := s.Query(ctx, "SELECT @@lower_case_table_names, VERSION() LIMIT 1")
	if err != nil {
		return nil, fmt.Errorf("reading lower_case_table_names and version: %w", err)
	}
	d := New()
	if len(rows) == 1 && len(rows[0]) == 2 {
		d.FoldTableNames = dialect.String(rows[0][0]) != "0"
		d.MariaDB = strings.Contains(dialect.String(rows[0][1]), "MariaDB")
		d.MySQL = !d.MariaDB
		if d.Isolation = "transaction_isolation"; d.MariaDB {
			d.Isolation = "tx_isolation"
		}
		d.NoWait = noWait(dialect.String(rows[0][1]))
		d.KeepsReplaced = keepsReplaced(dialect.String(rows[0][1]))
	}
	return d, d.readVariables(ctx, s)
}

// readVariables finds out whether the binary log, if there is one, would hold statements,
// whether there is snapshot isolation, and whether the time of statements is limited. SHOW answers on servers that do not know
// a variable, too.
func (d *Dialect) readVariables(ctx context.Context, s dialect.Session) error {
	rows, err := s.Query(ctx, "SHOW VARIABLES WHERE Variable_name IN ('binlog_format', 'innodb_snapshot_isolation', 'max_statement_time', 'max_execution_time')")
	if err != nil {
		return fmt.Errorf("reading binlog_format and the like: %w", err)
	}
	for _, r := range rows {
		switch value := dialect.String(r[1]); strings.ToLower(dialect.String(r[0])) {
		case "binlog_format":
			d.StatementLog = strings.EqualFold(value, "STATEMENT")
		case "innodb_snapshot_isolation":
			d.SnapshotIsolation = strings.EqualFold(value, "ON")
		case "max_statement_time", "max_execution_time":
			d.TimeLimit = strings.Trim(value, "0.") != ""
		}
	}
	return nil
}

// noWait reads a version such as 10.11.6-MariaDB-1, or 5.5.5-10.11.6-MariaDB
// where a proxy has left the prefix that old replicas need.
func noWait(version string) bool {
	version = strings.TrimPrefix(version, "5.5.5-")
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return strings.Contains(strings.ToLower(version), "mariadb") && (major > 10 || major == 10 && minor >= 6)
}

// keepsReplaced: MySQL 9.6 follows foreign keys outside InnoDB. Its REPLACE gives a row that
// conflicts by the key that others refer to its new values, without a cascade; one that
// conflicts by another key, and has another value there, it deletes with a cascade. With
// innodb_native_foreign_keys it is as before, and a drain costs time only.
func keepsReplaced(version string) bool { return sinceMySQL(version, 9, 6, 0) }

// sinceMySQL judges a version as VERSION() writes it, 8.0.36-0ubuntu1 or
// 10.11.6-MariaDB. TiDB says 8.0.11-TiDB-v8.5.0, and has neither of these.
func sinceMySQL(version string, since ...int) bool {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n != 3 || strings.Contains(version, "MariaDB") ||
		strings.Contains(version, "TiDB") {
		return false
	}
	return slices.Compare([]int{major, minor, patch}, since) >= 0
}

// Shares reports whether a session begins in autocommit, and returns to it with
// each COMMIT.
func (d *Dialect) Shares(ctx context.Context, s dialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SELECT @@autocommit, @@completion_type LIMIT 1")
	if err != nil {
		return false, fmt.Errorf("reading autocommit and completion_type: %w", err)
	}
	return len(rows) == 1 && dialect.String(rows[0][0]) == "1" && dialect.String(rows[0][1]) == "NO_CHAIN", nil
}

// Node names the node of a Galera cluster. SHOW answers on servers that do not
// know the variables, too. Nodes may be given one name, or run on one host.
func (d *Dialect) Node(ctx context.Context, s dialect.Session) (string, error) {
	rows, err := s.Query(ctx, "SHOW VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_node_name', 'hostname', 'port', 'datadir')")
	if err != nil {
		return "", fmt.Errorf("reading the node of the cluster: %w", err)
	}
	name, member := "", false
	for _, r := range rows {
		if strings.EqualFold(dialect.String(r[0]), "wsrep_on") {
			member = dialect.String(r[1]) == "ON"
			continue
		}
		name += dialect.String(r[1]) + "\n"
	}
	if !member {
		return "", nil
	}
	return name, nil
}

// commit and rollback end a transaction of slotsql's own and nothing else: a bare
// COMMIT begins the next transaction, or ends the session, where completion_type
// says so, and what follows in autocommit would not be committed.
const (
	commit   = "COMMIT AND NO CHAIN NO RELEASE"
	rollback = "ROLLBACK AND NO CHAIN NO RELEASE"
)

// Drain reports that a drain outside a transaction opens one. START TRANSACTION
// commits a transaction that is open, so it is not for use inside one.
func (d *Dialect) Drain() dialect.DrainTx {
	return dialect.DrainTx{
		Begin:    []string{"START TRANSACTION"},
		Commit:   []string{commit},
		Rollback: []string{rollback},
	}
}

// OneState implements dialect.StateReader. Reads wait for DDL only.
func (*Dialect) OneState() (begin, end []string) {
	return []string{
		"SET SESSION lock_wait_timeout = 1",
		"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
	}, []string{rollback}
}

// InTransaction sets a savepoint and releases it. Outside a transaction (in
// autocommit) the server forgets it at once, so that the release fails.
func (d *Dialect) InTransaction(ctx context.Context, s dialect.Session) (bool, error) {
	if err := s.Exec(ctx, "SAVEPOINT slotsql_probe"); err != nil {
		return false, fmt.Errorf("asking for the transaction state: %w", err)
	}
	err := s.Exec(ctx, "RELEASE SAVEPOINT slotsql_probe")
	switch {
	case err == nil:
		return true, nil
	case noSavepoint(err):
		return false, nil
	}
	return false, fmt.Errorf("asking for the transaction state: %w", err)
}

// noSavepoint recognises ER_SP_DOES_NOT_EXIST. The driver's error type cannot
// be named here, but every driver puts the number into the message.
func noSavepoint(err error) bool { return strings.Contains(err.Error(), "1305") }

package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.SnapshotIsolation = (*Dialect)(nil)

// settings are those on which a change of a row may depend: its values, and what it fires or refuses.
var settings = []string{
	"session_authorization", "is_superuser", "session_replication_role", "row_security", "default_transaction_isolation",
	"default_transaction_read_only",
	"synchronous_commit", "TimeZone", "DateStyle", "IntervalStyle", "lc_monetary", "lc_numeric", "lc_time", "extra_float_digits",
	"bytea_output",
	"xmlbinary", "xmloption", "array_nulls", "transform_null_equals", "standard_conforming_strings", "backslash_quote",
	"default_text_search_config", "client_encoding",
}

// Namespace is the database, the user (for "$user" and for what the search
// path may see) and the schemas that are searched. A temporary one comes with what
// is in it: a procedure or a DO block may have put it there, and the server gives
// the schema of a session that has gone to another one.
func (d *Dialect) Namespace(ctx context.Context, s dialect.Session) (ns dialect.Namespace, err error) {
	rows, err := s.Query(ctx, namespaceQuery)
	if err != nil {
		return ns, err
	}
	if len(rows) != 1 || len(rows[0]) != 4 {
		return ns, errors.New("postgres: the search path query returned no row")
	}
	ns.Names = strings.Join([]string{dialect.String(rows[0][0]), dialect.String(rows[0][1]), dialect.String(rows[0][2])}, "\x00")
	ns.Settings = dialect.String(rows[0][3])
	return ns, nil
}

var namespaceQuery = `SELECT pg_catalog.current_database()::pg_catalog.text, current_user::pg_catalog.text, pg_catalog.current_schemas(true)::pg_catalog.text ||
  CASE WHEN pg_catalog.pg_my_temp_schema() <> 0 THEN COALESCE((SELECT pg_catalog.string_agg(c.oid::pg_catalog.text, ' ' ORDER BY c.oid) FROM pg_catalog.pg_class c
    WHERE c.relnamespace = pg_catalog.pg_my_temp_schema() AND c.relkind IN ('r', 'p', 'v', 'm')), '') ELSE '' END,
  pg_catalog.concat_ws(' ', pg_catalog.current_setting('` + strings.Join(settings, "', true), pg_catalog.current_setting('") + `', true))`

// Drain opens a transaction of its own.
func (d *Dialect) Drain() dialect.DrainTx {
	return dialect.DrainTx{Begin: []string{"BEGIN"}, Commit: []string{"COMMIT"}, Rollback: []string{"ROLLBACK"}}
}

// OneState implements dialect.StateReader. Reads wait for DDL only.
func (*Dialect) OneState() (begin, end []string) {
	return beginOwn("ISOLATION LEVEL REPEATABLE READ READ ONLY", "1s"), []string{"ROLLBACK"}
}

// InTransaction tries to set a savepoint, which only works in a transaction
// block. The driver's own transaction status is cheaper where it is known.
func (d *Dialect) InTransaction(ctx context.Context, s dialect.Session) (bool, error) {
	return inTransaction(ctx, s, func(err error) (string, bool) {
		var state interface{ SQLState() string }
		if errors.As(err, &state) {
			return state.SQLState(), true
		}
		return "", false
	})
}

// inTransaction is InTransaction with a function that reads the SQLSTATE of the parent's errors.
func inTransaction(ctx context.Context, s dialect.Session, code func(error) (string, bool)) (bool, error) {
	err := s.Exec(ctx, "SAVEPOINT slotsql_probe")
	if err == nil {
		return true, s.Exec(ctx, "RELEASE SAVEPOINT slotsql_probe")
	}
	state, known := code(err)
	switch {
	case state == "25P01": // no_active_sql_transaction
		return false, nil
	case state == "25P02": // in_failed_sql_transaction
		return true, nil
	case known, ctx.Err() != nil, errors.Is(err, driver.ErrBadConn):
		return false, err
	}
	return false, fmt.Errorf("slotsql: cannot tell whether a session is in a transaction: the SQLSTATE of the parent driver's error cannot be read: "+
		"give postgres.Over a Fault that reads it (errors of lib/pq have a method SQLState from 1.10.6 on); "+
		"if a wrapper hides the driver, have it wrap errors with %%w, or give its connection a method Unwrap() driver.Conn: %w", err)
}

// IsolationQuery asks for the isolation level of the transaction that is open; it
// takes no snapshot.
func (d *Dialect) IsolationQuery() string { return "SHOW transaction_isolation" }

// Conflicts reports of a level whether a transaction that changes a row gets an error
// when others have changed it since its snapshot.
func (d *Dialect) Conflicts(level string) bool {
	return level == "repeatable read" || level == "serializable"
}

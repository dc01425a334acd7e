package mysql

import "github.com/slotsql/slotsql/dialect"

var _ dialect.OwnSettings = (*Dialect)(nil)

// OwnSettings gives a session the settings that slotsql's statements are written
// for, whatever its DSN says: one of them is committed when it has run, may
// write, returns all rows, may take its time, update by any condition and join any
// number of rows. What it locks may be newer than what it has read, see isolation.go.
func (d *Dialect) OwnSettings() []string {
	set := "SET SESSION autocommit = 1, completion_type = 0, sql_safe_updates = 0, sql_big_selects = 1," +
		" sql_select_limit = 18446744073709551615"
	if d.SnapshotIsolation {
		set += ", innodb_snapshot_isolation = OFF"
	}
	switch {
	case d.MariaDB:
		set += ", max_statement_time = 0"
	case d.MySQL:
		set += ", max_execution_time = 0"
	}
	return []string{set, "SET SESSION TRANSACTION READ WRITE"}
}

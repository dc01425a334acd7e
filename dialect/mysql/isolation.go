package mysql

import "github.com/slotsql/slotsql/dialect"

var _ dialect.SelectiveSnapshots = (*Dialect)(nil)

// With innodb_snapshot_isolation (MariaDB, ON by default from 11.6.2) a transaction at
// REPEATABLE READ or SERIALIZABLE that has a snapshot fails when it locks a version of a row that
// the snapshot does not show: error 1020, with which InnoDB rolls it back. At REPEATABLE READ
// the first ordinary query opens the snapshot, at SERIALIZABLE any statement that reads. An
// ordinary subquery of a locking query does so, too, even at READ COMMITTED.
//
// Plain, a statement in autocommit at REPEATABLE READ has no snapshot before its locks, and so
// never fails in this way. So a transaction of slotsql's own opens none either: another
// session finds the slots that a drain is to lock. slotsql's own sessions switch the setting
// off. They lock what they have read, and judge by what they have locked, as on servers
// without the setting. (SET STATEMENT would switch it off for one statement, but not for
// the application's, which would meet the snapshot after the drain.)
//
// In a transaction of the application's the error is right where others have changed the
// row since the snapshot, be it in slots, as on PostgreSQL: see dialect.SnapshotIsolation.

// Snapshots implements dialect.SelectiveSnapshots.
func (d *Dialect) Snapshots() dialect.SnapshotIsolation {
	if !d.SnapshotIsolation {
		return nil
	}
	return snapshots{d}
}

type snapshots struct{ d *Dialect }

// IsolationQuery asks for the session's level. The application may have switched the
// setting off since.
func (s snapshots) IsolationQuery() string {
	return "SELECT IF(@@innodb_snapshot_isolation, " + s.d.level() + ", '')"
}

// Conflicts implements dialect.SnapshotIsolation: they are the levels at which gaps are locked,
// too.
func (s snapshots) Conflicts(level string) bool { return level != "" && s.d.GapLocks(level) }

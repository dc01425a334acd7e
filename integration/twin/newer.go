package twin

import (
	"context"
	"database/sql"
	"errors"
)

// Newer is the class of MariaDB's error, with innodb_snapshot_isolation, when a transaction locks or
// changes a row that is newer than its snapshot.
const Newer = "MySQL 1020 (HY000)"

// SnapshotIsolation reports whether the sessions of a MySQL server begin with
// innodb_snapshot_isolation, as those of MariaDB do from 11.6.2 on. SHOW answers on servers that do
// not know it, too.
func SnapshotIsolation(ctx context.Context, db *sql.DB) (bool, error) {
	var name, value string
	err := db.QueryRowContext(ctx, "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").Scan(&name, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return value == "ON", err
}

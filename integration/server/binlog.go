package server

import "testing"

var statementLog = &engine{
	name:         "MariaDB with binlog_format=STATEMENT",
	driver:       mariadb.driver,
	withDatabase: mariadb.withDatabase,
	create:       mariadb.create,
	drop:         mariadb.drop,
	find: func() (layout, error) {
		return serving(flavored, "--log-bin=log", "--binlog-format=STATEMENT", "--server-id=1", "--max-connections=100")
	},
}

// MariaDBStatementLog is MariaDB that writes statements to its binary log.
func MariaDBStatementLog(t testing.TB) string {
	t.Helper()
	return statementLog.fresh(t)
}

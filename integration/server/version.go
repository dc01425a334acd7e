package server

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// A Version is that of the server whose databases MariaDB gives.
type Version struct {
	MySQL        bool // and not MariaDB
	Major, Minor int
}

// AtLeast reports whether the version is this one, or a later one.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Isolation is the name of the variable that holds a session's isolation level.
func (v Version) Isolation() string {
	if v.MySQL || v.AtLeast(11, 1) {
		return "transaction_isolation"
	}
	return "tx_isolation"
}

var asked struct {
	once sync.Once
	v    Version
	err  error
}

// MySQLVersion asks the server for its version, once.
func MySQLVersion(t testing.TB) Version {
	t.Helper()
	asked.once.Do(func() {
		mariadb.once.Do(mariadb.open)
		if asked.err = mariadb.err; asked.err == nil {
			asked.v, asked.err = versionOf(mariadb.admin)
		}
	})
	if asked.err != nil {
		t.Fatal(asked.err)
	}
	return asked.v
}

func versionOf(db *sql.DB) (Version, error) {
	var text string
	if err := db.QueryRow("SELECT VERSION()").Scan(&text); err != nil {
		return Version{}, err
	}
	v := Version{MySQL: !strings.Contains(text, "MariaDB")}
	_, err := fmt.Sscanf(strings.TrimPrefix(text, "5.5.5-"), "%d.%d", &v.Major, &v.Minor)
	return v, err
}

// Isolated is a parameter of a DSN that sets a session's isolation level, such as READ-COMMITTED.
func Isolated(t testing.TB, level string) string {
	t.Helper()
	return MySQLVersion(t).Isolation() + "='" + level + "'"
}

// Series is a source of the numbers from 1 to n, AS s with a column seq, which MySQL and MariaDB both take.
func Series(n int) string {
	const rows = "JSON_TABLE(CONCAT('[', REPEAT('0,', %d), '0]'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS j"
	return fmt.Sprintf("(SELECT CAST(n AS SIGNED) AS seq FROM "+rows+") AS s", n-1)
}

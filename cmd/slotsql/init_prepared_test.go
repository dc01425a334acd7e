package main

import (
	"database/sql"
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
)

// MariaDB's summary of statements leaves out prepared executions, which is how Go
// programs send arguments. init says so, and reads them from the general log where
// that is a table.
func TestInitPrepared(t *testing.T) {
	dsn, remembers := server.MariaDBStatistics(t)
	if !remembers {
		t.Log("without performance_schema the summary is missing as a whole")
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	flags := []string{"init", "--driver", "mysql", "--dsn", dsn}
	var executed string
	if err := db.QueryRow("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'").Scan(new(string), &executed); err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.Atoi(executed); err != nil || n < 50 { // a server of this test alone
		for range 2 {
			if out, errs, code := command(t, "", flags...); code != 0 || strings.Contains(out, "prepared statements") {
				t.Errorf("what init executes itself is told: %d: %s%s", code, out, errs)
			}
		}
	}
	exec := func(q string, args ...any) {
		t.Helper()
		if _, err := db.Exec(q, args...); err != nil {
			t.Fatal(q, err)
		}
	}
	exec("CREATE TABLE prepared_posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL DEFAULT 0)")
	exec("INSERT INTO prepared_posts (id) VALUES (1)")
	count := func() {
		for range 2000 { // more than other tests send meanwhile
			exec("UPDATE prepared_posts SET views = views + 1 WHERE id = ?", 1)
		}
	}
	count()
	out, errs, code := command(t, "", flags...)
	if code != 0 || !strings.Contains(out, "prepared statements") || !strings.Contains(out, "general_log = 1") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	exec("SET GLOBAL log_output = 'TABLE'")
	exec("SET GLOBAL general_log = 1")
	count()
	for range 5 {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := tx.QueryRow("SELECT views FROM prepared_posts WHERE id = ? FOR UPDATE", 1).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("UPDATE prepared_posts SET views = views + 1 WHERE id = ?", 1); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	exec("SET GLOBAL general_log = 0")
	defer exec("TRUNCATE mysql.general_log")
	out, errs, code = command(t, "", flags...)
	if code != 0 || !strings.Contains(out, "read from mysql.general_log") || !strings.Contains(out, "\n  prepared_posts:\n") ||
		!strings.Contains(out, "views:") ||
		!strings.Contains(out, "f 2005 increments of prepared_posts") ||
		!strings.Contains(out, "5 came after their transaction had locked") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}

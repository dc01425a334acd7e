package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// An error that a wrong DSN may have caused shows what one looks like; any other does not.
func TestDSNForm(t *testing.T) {
	for _, c := range []struct{ driver, dsn string }{
		{"mysql", "root@localhost"},
		{"mysql", "root@tcp(127.0.0.1:1)/app"},
		{"postgres", "postgres://root@127.0.0.1:1/app"},
		{"postgres", "mysql://root@127.0.0.1/app"},
		{"sqlite", "absent.db"},
	} {
		form := "A DSN for --driver " + c.driver + " looks like this: " + engines[c.driver].form
		for _, name := range []string{"check", "migrate", "doctor", "init", "status", "drain", "verify"} {
			args := []string{name, "--driver", c.driver, "--dsn", c.dsn}
			if name != "doctor" && name != "init" {
				args = append(args, "--config", config)
			}
			_, stderr, code := command(t, "", args...)
			if code != exitError || !strings.HasSuffix(stderr, "\n"+form+"\n") {
				t.Errorf("%v: %d %s", args, code, stderr)
			}
		}
		var failed failure
		_, stderr, _ := command(t, "", "check", "--json", "--driver", c.driver, "--dsn", c.dsn, "--config", config)
		if err := json.Unmarshal([]byte(stderr), &failed); err != nil || !strings.HasSuffix(failed.Error, form) {
			t.Errorf("%v: %s", err, stderr)
		}
	}
	o := &options{driver: "mysql"}
	for err, blamed := range map[error]bool{
		&mysql.MySQLError{Number: 1045}: true, &mysql.MySQLError{Number: 1049}: true,
		&mysql.MySQLError{Number: 1213}: false, errors.New("x"): false,
	} {
		if got := o.dsnForm(err) != ""; got != blamed {
			t.Errorf("%v: %t", err, got)
		}
	}
}

func TestSimilarEngine(t *testing.T) {
	for name, want := range map[string]string{
		"postgresql": "postgres", "pg": "postgres", "PGX": "postgres", "sqlite3": "sqlite", "mysql-slotsql": "mysql", "MariaDB": "mysql", "my": "mysql", "oracle": "",
	} {
		if got := similarEngine(name); want == "" && got != "" || want != "" && got != ": did you mean "+want+"?" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

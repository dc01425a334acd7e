package main

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// dsnError is an error of a DSN.
type dsnError struct{ error }

func (e dsnError) Unwrap() error { return e.error }

func parseMySQL(dsn string) error {
	_, err := mysql.ParseDSN(dsn)
	return err
}

func parsePostgres(dsn string) error {
	_, err := pgx.ParseConfig(dsn)
	return err
}

// dsnForm says how a DSN is written, behind an error that a wrong one may have caused.
func (o *options) dsnForm(err error) string {
	e, ok := engines[o.driver]
	if !ok || !errors.Is(err, errNoDSN) && !errors.Is(err, errNoTables) && !blamesDSN(err) {
		return ""
	}
	return fmt.Sprintf("\nA DSN for --driver %s looks like this: %s", o.driver, e.form)
}

// blamesDSN reports whether the database that a DSN names cannot be found or entered.
func blamesDSN(err error) bool {
	var denied *mysql.MySQLError
	if errors.As(err, &denied) {
		switch denied.Number {
		case 1044, 1045, 1049: // ER_DBACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR, ER_BAD_DB_ERROR
			return true
		}
	}
	return errors.As(err, new(dsnError)) || errors.As(err, new(*net.OpError)) || errors.As(err, new(*pgconn.ConnectError))
}

// otherNames are what engines are also called.
var otherNames = map[string]string{"pg": "postgres", "pgx": "postgres", "psql": "postgres", "mariadb": "mysql"}

// similarEngine asks whether another engine is meant.
func similarEngine(name string) string {
	name = strings.ToLower(name)
	meant := otherNames[name]
	for _, e := range engineNames {
		if strings.HasPrefix(name, e) || name != "" && strings.HasPrefix(e, name) {
			meant = e
		}
	}
	if meant == "" {
		return ""
	}
	return ": did you mean " + meant + "?"
}

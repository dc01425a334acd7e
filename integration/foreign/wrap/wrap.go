// Package wrap puts slotsql around the drivers of a suite's tests. The suites' binaries have it linked in.
package wrap

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"log/slog"
	"os"

	gomysql "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
	modernc "modernc.org/sqlite"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
	overpostgres "github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/sqlite"
)

// The environment of a suite's process: the configuration's file, without which nothing is wrapped, the file that
// gets the counts when the process exits, and the DSN that takes the place of those that a suite has in its code.
const (
	EnvConfig = "SLOTSQL_FOREIGN_CONFIG"
	EnvCounts = "SLOTSQL_FOREIGN_COUNTS"
	EnvDSN    = "SLOTSQL_FOREIGN_DSN"
)

// Counts is what slotsql did in a process.
type Counts struct {
	Connectors int // wrapped ones
	Statements int64
	Observed   int64 // queries that ran as written because there were no slots
	Rewritten  int64 // queries that ran in another way, drains, and increments of slots
	Grouped    int64 // increments that ran alone on base rows or shared a statement there
}

var connectors int

// Connector wraps a connector of a driver that is known here.
func Connector(c driver.Connector) driver.Connector {
	path := os.Getenv(EnvConfig)
	d := dialectOf(c.Driver())
	if dsn := os.Getenv(EnvDSN); dsn != "" && d != nil {
		c = opener{c.Driver(), dsn}
	}
	if path == "" || d == nil {
		return c
	}
	cfg, err := slotsql.Load(path)
	if err != nil {
		panic(err)
	}
	w, err := slotsql.WrapConnector(c, d, cfg, slotsql.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		panic(err)
	}
	connectors++
	return w
}

// opener opens connections by a DSN.
type opener struct {
	driver driver.Driver
	dsn    string
}

func (o opener) Connect(context.Context) (driver.Conn, error) { return o.driver.Open(o.dsn) }
func (o opener) Driver() driver.Driver                        { return o.driver }

// Conn returns the parent's connection, as docs/drivers.md tells applications to with sql.Conn.Raw.
func Conn(c driver.Conn) driver.Conn {
	if w, ok := c.(interface{ Unwrap() driver.Conn }); ok {
		return w.Unwrap()
	}
	return c
}

// Exit writes the counts.
func Exit() {
	path := os.Getenv(EnvCounts)
	if path == "" {
		return
	}
	n := Counts{Connectors: connectors}
	for _, s := range slotsql.Stats() {
		n.Statements += int64(s.Statements)
		n.Observed += int64(s.Observed)
		n.Rewritten += int64(s.FoldedFirst + s.Exact + s.Drains + s.Slotted)
		n.Grouped += int64(s.Cold + s.Grouped)
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		slog.Error("no counts", "error", err)
	}
}

// mattn returns the dialect for mattn/go-sqlite3, which needs cgo.
var mattn = func(driver.Driver) dialect.Dialect { return nil }

func dialectOf(d driver.Driver) dialect.Dialect {
	switch d.(type) {
	case *gomysql.MySQLDriver, gomysql.MySQLDriver:
		return mysql.Dialect()
	case *stdlib.Driver:
		return postgres.Dialect()
	case *pq.Driver:
		return overpostgres.Over{Dialect: overpostgres.New(), Fault: faultOfPq}
	case *modernc.Driver:
		return sqlite.Dialect()
	}
	return mattn(d)
}

func faultOfPq(err error) (f overpostgres.Fault, ok bool) {
	var e *pq.Error
	if ok = errors.As(err, &e); ok {
		f = overpostgres.Fault{Severity: e.Severity, Code: string(e.Code), Message: e.Message, Routine: e.Routine}
	}
	return f, ok
}

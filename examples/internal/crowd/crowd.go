// Package crowd is what the examples of bounded counters have in common: a database, and clients
// that all come at once.
package crowd

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql"
	_ "github.com/slotsql/slotsql/mysql"
	_ "github.com/slotsql/slotsql/postgres"
	_ "github.com/slotsql/slotsql/sqlite"
)

// Example is something that clients take from until there is none left.
type Example struct {
	Name   string
	Config string   // slotsql.yaml
	Schema []string // statements that make the tables
	// Inside are triggers that the tables have, for each engine, and Migrate what slotsql makes of these; both may be missing.
	Inside  map[string][]string
	Migrate func(ctx context.Context, engine string, c *slotsql.Connector, plain *sql.DB) error

	Tables []string // their names, in the order in which they may be dropped
	Right  string   // why it is right that clients are refused

	// Take takes for the number-th time for a client, from 0. It reports false when there is
	// nothing left.
	Take func(ctx context.Context, db *sql.DB, client, number int) (bool, error)
	// Report checks and prints what has come of it: how often something was taken, and how many
	// clients were refused in the end.
	Report func(ctx context.Context, db *sql.DB, out io.Writer, taken, refused int64) error
}

// drivers are the plain and the wrapped one of each engine.
var drivers = map[string][2]string{
	"sqlite": {"sqlite", "sqlite3-slotsql"}, "mysql": {"mysql", "mysql-slotsql"}, "postgres": {"pgx", "postgres-slotsql"},
}

// Main runs the example as the flags of the command say.
func Main(e Example) {
	engine := flag.String("driver", "sqlite", "sqlite, mysql (MariaDB, too) or postgres")
	dsn := flag.String("dsn", "", "data source name; SQLite needs none")
	clients := flag.Int("clients", 16, "clients that come at once")
	flag.Parse()
	if err := e.Run(context.Background(), *engine, *dsn, *clients, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, e.Name+":", err)
		os.Exit(1)
	}
}

// Run runs the example on a database, on a new SQLite file if dsn is empty: with the plain driver, and then through slotsql, whose
// tables it leaves there.
func (e Example) Run(ctx context.Context, engine, dsn string, clients int, out io.Writer) (err error) {
	if dsn == "" {
		dir, err := os.MkdirTemp("", "slotsql-"+e.Name+"-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		dsn = "file:" + filepath.Join(dir, e.Name+".db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)&_txlock=immediate"
	}
	config, err := slotsql.Parse([]byte(e.Config), e.Name+".yaml")
	if err != nil {
		return err
	}
	driver, ok := drivers[engine]
	if !ok {
		return fmt.Errorf("-driver is sqlite, mysql or postgres, not %q", engine)
	}
	plain, err := sql.Open(driver[0], dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	schema := slices.Concat(e.Schema, e.Inside[engine])
	if err := Exec(ctx, plain, schema...); err != nil {
		return err
	}
	if err := e.visit(ctx, plain, driver[0], clients, out); err != nil {
		return err
	}
	for _, t := range e.Tables {
		if err := Exec(ctx, plain, "DROP TABLE "+t); err != nil {
			return err
		}
	}
	if err := Exec(ctx, plain, schema...); err != nil {
		return err
	}
	connector, err := slotsql.OpenConnector(driver[1], dsn, slotsql.WithConfig(config))
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	if e.Migrate != nil {
		if err := e.Migrate(ctx, engine, connector, plain); err != nil {
			return err
		}
	}
	if err := e.visit(ctx, db, driver[1], clients, out); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, e.Right)
	return err
}

// Exec runs statements.
func Exec(ctx context.Context, db *sql.DB, statements ...string) error {
	for _, q := range statements {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// visit has the crowd come, and prints what has come of it and how long that took.
func (e Example) visit(ctx context.Context, db *sql.DB, driver string, clients int, out io.Writer) error {
	db.SetMaxIdleConns(clients)
	fmt.Fprintf(out, "%-17s", driver+":")
	start := time.Now()
	taken, refused, err := e.crowd(ctx, db, clients)
	if err != nil {
		return err
	}
	took := time.Since(start)
	if err := e.Report(ctx, db, out, taken, refused); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, ", %.2f s\n", took.Seconds())
	return err
}

// crowd has each client take until it is refused.
func (e Example) crowd(ctx context.Context, db *sql.DB, clients int) (taken, refused int64, err error) {
	var takes, refusals atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	for client := range clients {
		wg.Go(func() {
			for number := 0; ; number++ {
				ok, err := e.Take(ctx, db, client, number)
				switch {
				case err != nil:
					errs <- err
					return
				case !ok:
					refusals.Add(1)
					return
				}
				takes.Add(1)
			}
		})
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return takes.Load(), refusals.Load(), err
}

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
	"github.com/slotsql/slotsql/examples/internal/tables"
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
	Right  string   // what was refused, and why that is right

	// Take takes for the number-th time for a client, from 0. It reports false when there is
	// nothing left.
	Take func(ctx context.Context, db *sql.DB, client, number int) (bool, error)
	// Report checks what the tables say, and returns it.
	Report func(ctx context.Context, db *sql.DB, o Outcome) ([]Line, error)
}

// Outcome is what the clients have done.
type Outcome struct {
	Taken, Refused int64 // how often something was taken; clients that were refused in the end
	Shared         int64 // executions that were part of another one's statement
}

// Line is a line of the report.
type Line struct {
	What  string
	Count int64
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

// Run runs the example on a database, on a new SQLite file if dsn is empty: with the plain driver, and then through slotsql.
// It prints what has come of both, side by side, and drops the tables.
func (e Example) Run(ctx context.Context, engine, dsn string, clients int, out io.Writer) (err error) {
	driver, ok := drivers[engine]
	switch {
	case !ok:
		return fmt.Errorf("-driver is sqlite, mysql or postgres, not %q", engine)
	case dsn == "" && engine != "sqlite":
		return fmt.Errorf("-driver %s needs a -dsn", engine)
	case dsn == "":
		dir, err := os.MkdirTemp("", "slotsql-"+e.Name+"-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		dsn = "file:" + filepath.Join(dir, e.Name+".db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)&_txlock=immediate"
	}
	plain, err := sql.Open(driver[0], dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	plainLines, err := e.with(ctx, engine, plain, func() (*sql.DB, error) { return plain, nil }, clients)
	if err != nil {
		return fmt.Errorf("driver %s: %w", driver[0], err)
	}
	var db *sql.DB
	wrappedLines, err := e.with(ctx, engine, plain, func() (_ *sql.DB, err error) {
		db, err = e.wrapped(ctx, engine, driver[1], dsn, plain)
		return db, err
	}, clients)
	if db != nil {
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		return fmt.Errorf("driver %s: %w", driver[1], err)
	}
	fmt.Fprintf(out, "%-34s %20s %20s\n", fmt.Sprintf("%s, %d clients at once", e.Name, clients), driver[0], driver[1])
	for i, l := range plainLines {
		fmt.Fprintf(out, "%-34s %20d %20d\n", l.What, l.Count, wrappedLines[i].Count)
	}
	_, err = fmt.Fprintf(out, "\n%s\n", e.Right)
	return err
}

// with makes the tables, has the crowd come, and drops the tables.
func (e Example) with(
	ctx context.Context, engine string, plain *sql.DB, open func() (*sql.DB, error), clients int,
) (lines []Line, err error) {
	if err := tables.Absent(ctx, plain, e.Tables...); err != nil {
		return nil, err
	}
	defer func() {
		for _, t := range e.Tables {
			err = errors.Join(err, Exec(context.WithoutCancel(ctx), plain, "DROP TABLE IF EXISTS "+t+"_slots", "DROP TABLE IF EXISTS "+t))
		}
	}()
	if err := Exec(ctx, plain, slices.Concat(e.Schema, e.Inside[engine])...); err != nil {
		return nil, err
	}
	db, err := open()
	if err != nil {
		return nil, err
	}
	return e.visit(ctx, db, clients)
}

// wrapped opens the database through slotsql.
func (e Example) wrapped(ctx context.Context, engine, driver, dsn string, plain *sql.DB) (*sql.DB, error) {
	config, err := slotsql.Parse([]byte(e.Config), e.Name+".yaml")
	if err != nil {
		return nil, err
	}
	connector, err := slotsql.OpenConnector(driver, dsn, slotsql.WithConfig(config))
	if err != nil {
		return nil, err
	}
	if e.Migrate != nil {
		if err := e.Migrate(ctx, engine, connector, plain); err != nil {
			return nil, errors.Join(err, connector.Close())
		}
	}
	return sql.OpenDB(connector), nil
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

// visit has the crowd come, and returns what has come of it and how long that took.
func (e Example) visit(ctx context.Context, db *sql.DB, clients int) ([]Line, error) {
	db.SetMaxIdleConns(clients)
	if err := connect(ctx, db, clients); err != nil {
		return nil, err
	}
	before, start := shared(), time.Now()
	o, err := e.crowd(ctx, db, clients)
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	o.Shared = shared() - before
	lines, err := e.Report(ctx, db, o)
	return append(lines, Line{"milliseconds", took.Milliseconds()}), err
}

func shared() (n int64) {
	for _, s := range slotsql.Stats() {
		n += int64(s.Coalesced)
	}
	return n
}

// connect opens the clients' connections, so that this is not part of the time.
func connect(ctx context.Context, db *sql.DB, clients int) error {
	for range clients {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // back into the pool
	}
	return nil
}

// crowd has each client take until it is refused.
func (e Example) crowd(ctx context.Context, db *sql.DB, clients int) (o Outcome, err error) {
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
	return Outcome{Taken: takes.Load(), Refused: refusals.Load()}, err
}

// Package replay runs a published incident: an application's load, with the plain driver and through slotsql by turns, each on
// a database of its own. It starts the database server, unless the environment names one (package integration/server).
package replay

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/slotsql/slotsql/examples/internal/pageviews"
	"github.com/slotsql/slotsql/integration/server"
)

// Incident is a load that has queued for a row.
type Incident struct {
	Name      string
	Files     embed.FS      // slotsql.yaml, and schema.sql or one for each engine: mysql.sql, postgres.sql
	Processes int           // of the application: each has a pool, and a slotsql, of its own
	Clients   int           // of each process
	RoundTrip time.Duration // to the database
	// InDatabase is for counters that triggers increment: the application keeps the plain driver, and the triggers call
	// slotsql's functions.
	InDatabase bool

	// Do is one operation of a client. An error is counted, and the client goes on with the next operation.
	Do func(ctx context.Context, c *Client) error
	// Totals are what the tables must hold after the last operation.
	Totals func(s *Side) []Total
}

// ErrOver is the error of an operation that finds nothing left: its client has no further one.
var ErrOver = errors.New("nothing is left")

// Client is one of those who use the application at once.
type Client struct {
	Session
	ID     int              // from 0, over all processes
	Counts map[string]int64 // for Do to remember what it has written

	took   []time.Duration // operations that succeeded
	failed map[string]int  // errors by kind
	over   bool
}

// Session is a client's database, or a transaction of it.
type Session struct {
	Engine string // mysql or postgres
	on     interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
}

// Exec executes a statement with placeholders ? on every engine.
func (s Session) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return s.on.ExecContext(ctx, s.text(query), args...)
}

// QueryRow runs a query with placeholders ? on every engine.
func (s Session) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return s.on.QueryRowContext(ctx, s.text(query), args...)
}

func (s Session) text(query string) string {
	if s.Engine == "postgres" {
		return pageviews.Numbered(query)
	}
	return query
}

// Tx runs f in a transaction, and commits it if f returns no error.
func (c *Client) Tx(ctx context.Context, f func(tx Session) error) error {
	tx, err := c.on.(*sql.DB).BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := f(Session{Engine: c.Engine, on: tx}); err != nil {
		return err
	}
	return tx.Commit()
}

// Total is a number that a query must return: one of those wanted.
type Total struct {
	Name, Query string
	Want        []int64
}

// Options are how an incident is replayed.
type Options struct {
	Engine   string        // mysql or postgres
	Duration time.Duration // of each side
	Out      io.Writer
}

// Main replays an incident as the flags of the command say.
func Main(in Incident) {
	o := Options{Out: os.Stdout}
	flag.StringVar(&o.Engine, "driver", "postgres", "postgres or mysql (MariaDB): a server that lives as long as the command")
	flag.DurationVar(&o.Duration, "duration", 6*time.Second, "of each side, in three turns")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// As on servers in use, a commit is on disk when it returns.
	err := os.Setenv(server.EnvDurable, "1")
	if err == nil {
		err = in.Run(ctx, o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", in.Name, err)
		os.Exit(1)
	}
}

const turns = 3 // of each side

// Run replays the incident. It returns an error when a total is not what it must be.
func (in Incident) Run(ctx context.Context, o Options) (err error) {
	if o.Engine != "mysql" && o.Engine != "postgres" {
		return fmt.Errorf("-driver is postgres or mysql, not %q", o.Engine)
	}
	var sides []*Side
	for _, name := range []string{"plain", "slotsql"} {
		s := &Side{name: name, engine: o.Engine}
		defer func() { err = errors.Join(err, s.close()) }()
		if err := s.open(ctx, in); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sides = append(sides, s)
	}
	for range turns {
		for _, s := range sides {
			if err := s.turn(ctx, in.Do, o.Duration/turns); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return report(ctx, in, sides, o.Out)
}

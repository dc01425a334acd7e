// Command seats sells the seats of one event to clients that all come at once. Each books in
// a transaction: the seat is taken by a guarded statement, and the booking is written down. Some
// change their minds and roll back, and their seats are free for others.
//
//	go run ./examples/seats
//	go run ./examples/seats -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no tables events and bookings; it leaves them there to look at.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql"
	_ "github.com/slotsql/slotsql/mysql"
	_ "github.com/slotsql/slotsql/postgres"
	_ "github.com/slotsql/slotsql/sqlite"
)

const capacity = 100

// config says that bookings keep attendees at or below the capacity of the same row.
const config = `version: 1
auto_migrate: true
tables:
  events: {counters: {attendees: {max: capacity}}}
`

var drivers = map[string]string{"sqlite": "sqlite3-slotsql", "mysql": "mysql-slotsql", "postgres": "postgres-slotsql"}

func main() {
	engine := flag.String("driver", "sqlite", "sqlite, mysql (MariaDB, too) or postgres")
	dsn := flag.String("dsn", "", "data source name; SQLite needs none")
	clients := flag.Int("clients", 16, "clients that book at once")
	flag.Parse()
	if err := run(context.Background(), *engine, *dsn, *clients, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "seats:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, engine, dsn string, clients int, out io.Writer) (err error) {
	if dsn == "" {
		dir, err := os.MkdirTemp("", "slotsql-seats-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		dsn = "file:" + filepath.Join(dir, "seats.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)&_txlock=immediate"
	}
	parsed, err := slotsql.Parse([]byte(config), "seats.yaml")
	if err != nil {
		return err
	}
	db, err := slotsql.Open(drivers[engine], dsn, slotsql.WithConfig(parsed))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, q := range []string{
		"CREATE TABLE events (id INT PRIMARY KEY, attendees INT NOT NULL, capacity INT NOT NULL)",
		"CREATE TABLE bookings (client INT NOT NULL, number INT NOT NULL, PRIMARY KEY (client, number))",
		fmt.Sprintf("INSERT INTO events VALUES (1, 0, %d)", capacity),
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	var booked, refused atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	for client := range clients {
		wg.Go(func() {
			for number := 0; ; number++ {
				ok, err := book(ctx, db, client, number)
				switch {
				case err != nil:
					errs <- err
					return
				case !ok:
					refused.Add(1)
					return
				}
				booked.Add(1)
			}
		})
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return report(ctx, db, out, booked.Load(), refused.Load())
}

// book takes a seat and writes the booking down; false where there is none.
func book(ctx context.Context, db *sql.DB, client, number int) (bool, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	res, err := tx.ExecContext(ctx, "UPDATE events SET attendees = attendees + 1 WHERE id = 1 AND attendees < capacity")
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO bookings VALUES (%d, %d)", client, number)); err != nil {
		return false, err
	}
	if number%5 == 4 { // thinks better of it: the seat is free again
		return true, tx.Rollback()
	}
	return true, tx.Commit()
}

// report compares the seats with the bookings.
func report(ctx context.Context, db *sql.DB, out io.Writer, tried, refused int64) error {
	var attendees, bookings int
	if err := db.QueryRowContext(ctx, "SELECT attendees FROM events WHERE id = 1").Scan(&attendees); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM bookings").Scan(&bookings); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d seats, %d attendees, %d bookings; %d seats taken in all, %d clients refused\n", capacity, attendees, bookings, tried, refused)
	if attendees > capacity || attendees != bookings {
		return fmt.Errorf("%d attendees and %d bookings of %d seats", attendees, bookings, capacity)
	}
	return nil
}

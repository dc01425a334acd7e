// Command seats sells the seats of one event to clients that all come at once. Each books in
// a transaction: the seat is taken by a guarded statement, and the booking is inserted. Some
// change their minds and roll back, and their seats are free for others.
//
//	go run ./examples/seats
//	go run ./examples/seats -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no tables events and bookings; it drops them at the end.
package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/slotsql/slotsql/examples/internal/crowd"
)

const capacity = 100

// config says that bookings keep attendees at or below the capacity of the same row.
const config = `version: 1
auto_migrate: true
tables:
  events: {counters: {attendees: {max: capacity}}}
`

var example = crowd.Example{
	Name:   "seats",
	Config: config,
	Schema: []string{
		"CREATE TABLE events (id INT PRIMARY KEY, attendees INT NOT NULL, capacity INT NOT NULL)",
		"CREATE TABLE bookings (client INT NOT NULL, number INT NOT NULL, PRIMARY KEY (client, number))",
		fmt.Sprintf("INSERT INTO events VALUES (1, 0, %d)", capacity),
	},
	Tables: []string{"bookings", "events"},
	Right:  "A client comes back until it is refused, which is right when every seat is\nbooked. A seat that one gives back goes to the next who asks.",
	Take:   book,
	Report: report,
}

func main() { crowd.Main(example) }

// book takes a seat and inserts the booking; it reports false if there is none.
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
func report(ctx context.Context, db *sql.DB, o crowd.Outcome) ([]crowd.Line, error) {
	var attendees, bookings int64
	if err := db.QueryRowContext(ctx, "SELECT attendees FROM events WHERE id = 1").Scan(&attendees); err != nil {
		return nil, err
	}
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM bookings").Scan(&bookings); err != nil {
		return nil, err
	}
	if attendees > capacity || attendees != bookings {
		return nil, fmt.Errorf("%d attendees and %d bookings of %d seats", attendees, bookings, capacity)
	}
	return []crowd.Line{
		{What: "seats", Count: capacity},
		{What: "seats taken", Count: o.Taken},
		{What: "- given back by a rollback", Count: o.Taken - bookings},
		{What: "= bookings", Count: bookings},
		{What: "attendees", Count: attendees},
		{What: "clients refused", Count: o.Refused},
	}, nil
}

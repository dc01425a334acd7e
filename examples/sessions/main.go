// Command sessions has clients use one session at once, as the tabs of a user or the callers of an API key do. Each request
// notes in the session when and from where it came (touch).
//
//	go run ./examples/sessions
//	go run ./examples/sessions -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no table sessions; it drops it at the end.
package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/slotsql/slotsql/examples/internal/crowd"
)

const requests = 100 // of each client

// config names the columns where the last write wins.
const config = `version: 1
tables:
  sessions: {touch: [last_used_at, last_ip]}
`

var example = crowd.Example{
	Name:   "sessions",
	Config: config,
	Schema: []string{
		"CREATE TABLE sessions (id VARCHAR(32) PRIMARY KEY, user_id INT NOT NULL, last_used_at TIMESTAMP NULL, last_ip VARCHAR(45))",
		"INSERT INTO sessions (id, user_id) VALUES ('4f1c', 7)",
	},
	Tables: []string{"sessions"},
	Right:  "Nothing is refused. The session has the time and address of the last request.",
	Take:   request,
	Report: report,
}

func main() { crowd.Main(example) }

// request looks the session up and notes its use. All tabs of the user have one address.
func request(ctx context.Context, db *sql.DB, _, number int) (bool, error) {
	if number == requests {
		return false, nil
	}
	var user int
	if err := db.QueryRowContext(ctx, "SELECT user_id FROM sessions WHERE id = '4f1c'").Scan(&user); err != nil {
		return false, err
	}
	_, err := db.ExecContext(ctx, "UPDATE sessions SET last_used_at = CURRENT_TIMESTAMP, last_ip = '10.0.0.7' WHERE id = '4f1c'")
	return true, err
}

// report checks that the session has been used, and prints how many statements that took.
func report(ctx context.Context, db *sql.DB, o crowd.Outcome) ([]crowd.Line, error) {
	var ip string
	if err := db.QueryRowContext(ctx, "SELECT last_ip FROM sessions WHERE last_used_at IS NOT NULL").Scan(&ip); err != nil {
		return nil, err
	}
	if ip != "10.0.0.7" {
		return nil, fmt.Errorf("the session was last used from %q", ip)
	}
	return []crowd.Line{
		{What: "requests", Count: o.Taken},
		{What: "- part of another one's statement", Count: o.Shared},
		{What: "= touches sent", Count: o.Taken - o.Shared},
	}, nil
}

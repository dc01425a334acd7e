// Command sessions has clients use one session at once, as the tabs of a user or the callers of an API key do. Each request
// notes in the session when and from where it came (touch).
//
//	go run ./examples/sessions
//	go run ./examples/sessions -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no table sessions; it leaves it there to look at.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"

	"github.com/slotsql/slotsql"
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
	Right:  "A client stops after its last request. The session has the time and address of the last request.",
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
func report(ctx context.Context, db *sql.DB, out io.Writer, used, _ int64) error {
	var ip string
	if err := db.QueryRowContext(ctx, "SELECT last_ip FROM sessions WHERE last_used_at IS NOT NULL").Scan(&ip); err != nil {
		return err
	}
	if ip != "10.0.0.7" {
		return fmt.Errorf("the session was last used from %q", ip)
	}
	shared := int64(0) // none with the plain driver, which comes first
	for _, s := range slotsql.Stats() {
		shared += int64(s.Coalesced)
	}
	_, err := fmt.Fprintf(out, "%d requests, %d touches sent", used, used-shared)
	return err
}

// Package survey reads what a database and its server know of an application: its tables, and the statements that were run.
// `slotsql init` proposes a configuration from that.
package survey

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A Source describes a whole database of one engine. It only reads.
type Source interface {
	// Database returns what people call the session's database: "database blog", or
	// the name of its file. It is "" when the session is in no database.
	Database(ctx context.Context, s dialect.Session) (string, error)
	// Tables returns the permanent base tables of the database's applications,
	// those first that the session finds without their schema.
	Tables(ctx context.Context, s dialect.Session) ([]TableName, error)
	// Indexed returns the columns of a table that any index holds.
	Indexed(ctx context.Context, s dialect.Session, t *schema.Table) ([]string, error)
	// Statistics returns what the server remembers of the statements that were run on
	// this database. It is not an error if the server remembers nothing, or does not show
	// it to this user.
	Statistics(ctx context.Context, s dialect.Session) (Statistics, error)
}

// TableName is a table's stored name.
type TableName struct {
	Schema, Name string
	Visible      bool // the session finds it without the schema
}

// Statistics are the statement statistics of a server.
type Statistics struct {
	Source     string // what they come from
	Since      string // when they began, as the server writes it; "" when it does not say
	Missing    string // why there are none, and what to do about it; "" when there are
	Hidden     int64  // runs whose SQL is not available
	Statements []RunStatement
	// Notes say what they lack, and where it may be had.
	Notes []string
}

// RunStatement is one statement as a server remembers it, without the values of its
// literals.
type RunStatement struct {
	SQL        string
	Conn       string // names the connection, of a log that has all its statements in their order
	Runs       int64
	Time, Lock time.Duration // all runs together: in the server, and of that waiting for locks; Lock is 0 where it does not tell
}

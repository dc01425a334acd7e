// Package doctor looks at who waits for whom in a database at this moment, by
// the server's own views, and reports whether slotsql would help. It changes
// nothing, and asks for no more rights than reading these views takes: what it
// may not see it names, with the GRANT.
//
// It samples: a wait that begins and ends between two looks is in the server's
// counts only. What it shows of statements has no values in it.
package doctor

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
)

// Options say how to look.
type Options struct {
	For   time.Duration // how long to look; one look if it is 0
	Every time.Duration // time from one look to the next; 200 ms if it is 0
	// Config is the configuration that the applications have; nil if none.
	Config *slotsql.Config
	// Explain opens the planner for a configuration, with the facts of the
	// database.
	Explain func(context.Context, *slotsql.Config) (*slotsql.Explainer, error)
	// Progress, if set, is called after each look with how much of For is over.
	Progress func(time.Duration)
}

// Report is what was seen.
type Report struct {
	Looks int           `json:"looks"`
	Took  time.Duration `json:"took_ns"`
	// Spots are the rows and tables that sessions waited for, those with the
	// most waits first.
	Spots []*Spot `json:"spots"`
	// Saves are statements that set configured counters along with other
	// columns.
	Saves []Save `json:"saves,omitempty"`
	// Counts is what the server has counted meanwhile, in all its databases
	// where it does not count by database.
	Counts []Count `json:"counts,omitempty"`
	// Deadlock is the latest one of the database that the server remembers.
	Deadlock *Deadlock `json:"deadlock,omitempty"`
	// Lacks are what may not be seen.
	Lacks []dialect.Lack `json:"lacks,omitempty"`
	Notes []string       `json:"notes,omitempty"`
	// Propose is the part of a configuration that would help.
	Propose string `json:"propose,omitempty"`
}

// Spot is a row that sessions wait for, or a table where the row is not known.
type Spot struct {
	Schema string            `json:"schema,omitempty"`
	Table  string            `json:"table,omitempty"` // "" when the server does not say
	Key    map[string]string `json:"key,omitempty"`
	// Waits is the number of waiting sessions, of all looks together; Most that
	// of one look.
	Waits   int           `json:"waits"`
	Most    int           `json:"most"`
	Longest time.Duration `json:"longest_ns"` // that a waiting statement has been seen to run
	// Statements wait, Holders are what the sessions they wait for run or have
	// run last.
	Statements []*Statement `json:"statements"`
	Holders    []*Holder    `json:"holders"`
	// Verdict reports whether slotsql would help: yes, partly, no, configured,
	// slots (it is a slot table's own row) or unknown.
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
}

// Statement is a statement without its values.
type Statement struct {
	SQL  string `json:"statement"`
	Seen int    `json:"seen"`
	// Class and Reason are what the planner makes of it, with the configuration
	// that is proposed or in use; Cut reports whether the server shows only its
	// beginning, which cannot be planned.
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"`
	Cut    bool   `json:"cut,omitempty"`

	full   string
	shares bool // a group on the base row has it
}

// Holder is a statement of sessions that others wait for. Idle reports whether the
// session was doing nothing: its transaction was open.
type Holder struct {
	SQL  string `json:"statement,omitempty"`
	Idle bool   `json:"idle_in_transaction,omitempty"`
	Seen int    `json:"seen"`
}

// Save is a full-row save: an UPDATE that writes counters back along with other
// columns, as an ORM does that has read the row before.
type Save struct {
	Table    string   `json:"table"`
	Counters []string `json:"counters"`
	SQL      string   `json:"statement"`
	Reason   string   `json:"reason"`
}

// Count is by how much a number of the server's has grown.
type Count struct {
	What string `json:"what"`
	N    int64  `json:"n"`
}

// Deadlock is a circle of sessions that waited for each other.
type Deadlock struct {
	At         string   `json:"at"` // by the server's clock
	Table      string   `json:"table"`
	Statements []string `json:"statements"`
}

// ErrNothing says of an engine that there is nothing to look at.
var ErrNothing = errors.New("this engine does not show which sessions wait")

const defaultEvery = 200 * time.Millisecond

// Look looks for a while at the database that db is connected to, by the plain
// driver.
func Look(ctx context.Context, db *sql.DB, d dialect.Dialect, o Options) (*Report, error) {
	observer, ok := d.(dialect.Observer)
	if !ok {
		return nil, ErrNothing
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	l := &looker{
		session:    dialect.PlainSession{Conn: conn},
		dialect:    d,
		observer:   observer,
		options:    o,
		report:     &Report{Spots: []*Spot{}},
		tables:     map[[2]string]*table{},
		statements: map[string]string{},
	}
	return l.report, l.look(ctx)
}

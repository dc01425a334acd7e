// Package doctor samples which sessions of a database wait for which others, as the
// server's own views show it, and reports whether slotsql would help. It changes nothing,
// and needs no more rights than those to read these views. If it may not see something,
// the report says what, with the GRANT.
//
// A wait that begins and ends between two looks appears only in the server's counts.
// Statements are shown without their values.
package doctor

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
)

// Options control how Look samples.
type Options struct {
	For   time.Duration // how long to look; one look if it is 0
	Every time.Duration // time from one look to the next; 200 ms if it is 0
	// Config is the configuration that the applications use; nil if there is none.
	Config *slotsql.Config
	// Explain opens the planner for a configuration, with the facts of the database.
	Explain func(context.Context, *slotsql.Config) (*slotsql.Explainer, error)
	// Propose makes a configuration for tables that sessions wait for, as slotsql init
	// does; what the command sets is part of its module. Without it nothing is proposed, and
	// the verdict on a table that is not configured is "unknown".
	Propose func(Request) (*Proposal, error)
	// Progress, if set, is called after each look with the part of For that has elapsed.
	Progress func(time.Duration)
}

// Report is the result of Look.
type Report struct {
	Looks int           `json:"looks"`
	Took  time.Duration `json:"took_ns"`
	// Spots are the rows and tables that sessions waited for, those that lost most time first.
	Spots []*Spot `json:"spots"`
	// Saves are statements that set configured counters along with other columns.
	Saves []Save `json:"saves,omitempty"`
	// Counts are the server's own counts during the sampling: of the database or, if the
	// server does not count by database, of all its databases.
	Counts []Count `json:"counts,omitempty"`
	// Deadlock is the latest deadlock of the database that the server remembers.
	Deadlock *Deadlock `json:"deadlock,omitempty"`
	// Lacks is what the session may not see.
	Lacks []dialect.Lack `json:"lacks,omitempty"`
	Notes []string       `json:"notes,omitempty"`
	// Propose is a configuration that would help; of tables that Options.Config has, it has what
	// is to be added to them.
	Propose string `json:"propose,omitempty"`
}

// Spot is a row that sessions wait for, or a table if the row is not known.
type Spot struct {
	Schema string            `json:"schema,omitempty"`
	Table  string            `json:"table,omitempty"` // "" when the server does not say
	Key    map[string]string `json:"key,omitempty"`
	// Waits is the number of executions that were seen to wait, and Most the highest number in
	// one look. Lost is how long all of them waited: each one that a look sees counts for the
	// time since the look before, and at the first look for all the time that it had waited by
	// then. So waits that are shorter than Options.Every are right on average.
	Waits   int           `json:"waits"`
	Most    int           `json:"most"`
	Lost    time.Duration `json:"lost_ns"`
	Longest time.Duration `json:"longest_ns"` // that a waiting statement has been seen to run
	// Statements are those that wait. Holders are what the sessions that they wait for
	// are running, or have run last.
	Statements []*Statement `json:"statements"`
	Holders    []*Holder    `json:"holders"`
	// Verdict reports whether slotsql would help: yes, partly, no, configured, slots (the
	// row is in a slot table) or unknown.
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
}

// Statement is a statement without its values. Seen is the number of its waits.
type Statement struct {
	SQL  string `json:"statement"`
	Seen int    `json:"seen"`
	// Class, Verdict and Reason are the planner's result, as in an Explanation, with the configuration that is proposed
	// or in use. Cut reports whether the server shows only the beginning of the
	// statement, so that it cannot be planned.
	Class   string `json:"class,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Cut     bool   `json:"cut,omitempty"`
	// By is the trigger or routine in which it waits; "" if it waits by itself. The planner's result is then that for
	// the routine's own statement.
	By string `json:"by,omitempty"`

	full   string
	inside []string // statements of the routine
	shares bool     // a group on the base row has it
	why    string   // it goes to no slot
}

// Holder is a statement of sessions that others wait for. Idle reports whether the
// session was idle in an open transaction, and Seen is the number of waits for it.
type Holder struct {
	SQL  string `json:"statement,omitempty"`
	Idle bool   `json:"idle_in_transaction,omitempty"`
	Seen int    `json:"seen"`
}

// Save is a full-row save: an UPDATE that writes counters back along with other columns,
// as an ORM does after it has read the row.
type Save struct {
	Table    string   `json:"table"`
	Counters []string `json:"counters"`
	SQL      string   `json:"statement"`
	Reason   string   `json:"reason"`
}

// Count is how much one of the server's numbers has grown.
type Count struct {
	What string `json:"what"`
	N    int64  `json:"n"`
}

// Deadlock is a cycle of sessions that waited for each other.
type Deadlock struct {
	At         string   `json:"at"` // by the server's clock
	Table      string   `json:"table"`
	Statements []string `json:"statements"`
}

// ErrNothing says of an engine that there is nothing to look at.
var ErrNothing = errors.New("this engine does not show which sessions wait")

const defaultEvery = 200 * time.Millisecond

// Look samples the database to which db is connected through the plain driver, for the
// time in Options.
func Look(ctx context.Context, db *sql.DB, d dialect.Dialect, o Options) (*Report, error) {
	if _, ok := d.(dialect.Observer); !ok {
		return nil, ErrNothing
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	session := dialect.PlainSession{Conn: conn}
	if s, ok := d.(dialect.ServerAware); ok {
		if d, err = s.ForServer(ctx, session); err != nil {
			return nil, err
		}
	}
	observer, ok := d.(dialect.Observer)
	if !ok {
		return nil, ErrNothing
	}
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	l := &looker{
		session:    session,
		dialect:    d,
		observer:   observer,
		options:    o,
		report:     &Report{Spots: []*Spot{}},
		tables:     map[[2]string]*table{},
		executions: map[string][]*wait{},
		statements: map[string]string{},
	}
	if o.Config != nil {
		valid, err := o.Config.Resolve()
		if err != nil {
			return nil, err
		}
		l.configs = valid.Tables()
	}
	return l.report, l.look(ctx)
}

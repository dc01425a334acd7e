package doctor

import (
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Request is what a proposal is made of: the tables that sessions wait for, and the
// statements that wait.
type Request struct {
	Dialect    dialect.Dialect
	Tables     []Table
	Statements []Waiting // most often seen first
}

// Table is a table that sessions wait for.
type Table struct {
	*schema.Table
	Visible    bool     // found without its schema
	Configured []string // columns that Options.Config has as counters
	// Held reports whether a transaction was seen to hold a row over round trips, and
	// Brief whether a row was seen to be held by a single statement.
	Held, Brief bool
}

// Waiting is a statement that waits: as it was sent, and without its values.
type Waiting struct {
	SQL, Shape string
	Seen       int64
	By         string // the trigger or routine that runs it; "" for the application
}

// Proposal is a configuration for some tables of a request.
type Proposal struct {
	Tables []Proposed
	// Config is a configuration file with the tables for which counters are proposed.
	Config string
}

// Proposed is what a proposal says about a table of the request.
type Proposed struct {
	Table    *schema.Table
	Counters []string // columns that are proposed as counters and not configured
	Off      string   // why there are none; "" if there are
	Slotless string   // why slots: 0 is proposed; "" if the table is to have slots
	// Unslotted is why slots cannot hold the table's counters; "" if they can.
	Unslotted string
}

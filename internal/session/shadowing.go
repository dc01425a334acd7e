package session

import (
	"context"
	"database/sql/driver"
)

// Shadow counts and compares the statements of an application that name tables
// with mode shadow. What it knows of a statement is kept with its plan.
type Shadow interface {
	// statement returns what counts a statement, nil for one that cannot concern
	// a table in shadow.
	Statement(query string) any
	// ran counts an execution of a statement.
	Ran(Statement any)
	// queried counts a statement that was run as a query, and has it compared now
	// and then.
	Queried(Statement any, args, options []driver.NamedValue)
	// catchUp does what waits for a connection that is not in use.
	CatchUp(ctx context.Context, c *Conn)
	// planner returns what plans statements as if the tables were on.
	Planner() *Shared
}

// shadowOf returns what counts a statement, nil where nothing does.
func (s *Shared) shadowOf(query string) any {
	if s.Shadow == nil {
		return nil
	}
	return s.Shadow.Statement(query)
}

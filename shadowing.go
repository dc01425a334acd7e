package slotsql

import (
	"context"
	"database/sql/driver"
)

// shadowing counts and compares the statements of an application that name tables
// with mode shadow. What it knows of a statement is kept with its plan.
type shadowing interface {
	// statement returns what counts a statement, nil for one that cannot concern
	// a table in shadow.
	statement(query string) any
	// ran counts an execution of a statement.
	ran(statement any)
	// queried counts a statement that was run as a query, and has it compared now
	// and then.
	queried(statement any, args, options []driver.NamedValue)
	// catchUp does what waits for a connection that is not in use.
	catchUp(ctx context.Context, c *conn)
	// planner returns what plans statements as if the tables were on.
	planner() *shared
}

// shadowOf returns what counts a statement, nil where nothing does.
func (s *shared) shadowOf(query string) any {
	if s.shadow == nil {
		return nil
	}
	return s.shadow.statement(query)
}

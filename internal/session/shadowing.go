package session

import (
	"context"
	"database/sql/driver"
)

// Shadow counts and compares the statements of an application that name tables
// with mode shadow. What it knows of a statement is kept with its plan.
type Shadow interface {
	// Statement returns what counts a statement, nil for one that cannot concern
	// a table in shadow.
	Statement(query string) any
	// Ran counts an execution of a statement.
	Ran(statement any)
	// Queried counts a statement that was run as a query, and has it compared now
	// and then.
	Queried(statement any, args, options []driver.NamedValue)
	// CatchUp does what waits for a connection that is not in use.
	CatchUp(ctx context.Context, c *Conn)
	// Planner returns what plans statements as if the tables were on.
	Planner() *Shared
}

// shadowOf returns what counts a statement, nil where nothing does.
func (s *Shared) shadowOf(query string) any {
	if s.Shadow == nil {
		return nil
	}
	return s.Shadow.Statement(query)
}

// shadowRan counts an execution of a plan's statement, where shadow mode does.
func (s *Shared) shadowRan(p *plan) {
	if p.shadow != nil {
		s.Shadow.Ran(p.shadow)
	}
}

// shadowQueried is shadowRan for a query, which may be compared.
func (s *Shared) shadowQueried(p *plan, args, options []driver.NamedValue) {
	if p.shadow != nil {
		s.Shadow.Queried(p.shadow, args, options)
	}
}

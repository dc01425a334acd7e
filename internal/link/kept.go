package link

import (
	"context"
	"database/sql/driver"
)

// Kept keeps slotsql's own statements prepared on one connection, for a parent that would
// otherwise parse a statement each time it runs.
type Kept struct {
	stmts map[any]driver.Stmt // by the part of a plan that the statement belongs to
	busy  map[any]bool        // rows of it are open
	stale bool                // the session may have changed since they were prepared
}

// Expire makes them be prepared again. They are not closed yet: rows of the statement that has
// changed the session may still be open, and while the server sends them MySQL's protocol allows
// no other command.
func (p *Kept) Expire() { p.stale = true }

// maxPrepared bounds their number; beyond it they are all closed.
const maxPrepared = 64

// Get returns the prepared statement of a key, which it prepares if there is none.
func (p *Kept) Get(ctx context.Context, c *Conn, key any, sql string) (driver.Stmt, error) {
	if p.stale {
		p.Close()
	}
	if st := p.stmts[key]; st != nil {
		return st, nil
	}
	st, err := c.prepareGuarded(ctx, sql)
	if err != nil {
		return nil, err
	}
	if len(p.stmts) >= maxPrepared && len(p.busy) == 0 {
		p.Close()
	}
	if p.stmts == nil {
		p.stmts = map[any]driver.Stmt{}
	}
	p.stmts[key] = st
	return st, nil
}

// Close closes all of them.
func (p *Kept) Close() {
	for _, st := range p.stmts {
		_ = st.Close()
	}
	clear(p.stmts)
	p.stale = false
}

// Query runs a query of slotsql's own on a kept statement. It returns nil if rows of another
// execution are still open, or the number of arguments is wrong.
func (p *Kept) Query(ctx context.Context, c *Conn, key any, sql string, args []driver.NamedValue) (driver.Rows, error) {
	if p.busy[key] {
		return nil, nil
	}
	st, err := p.Get(ctx, c, key, sql)
	if err != nil {
		return nil, err
	}
	if CheckArgCount(st, args) != nil {
		return nil, nil
	}
	if args, err = ConvertArgs(st, args); err != nil {
		return nil, err
	}
	rows, err := StmtQuery(ctx, st, args)
	if err != nil {
		return nil, err
	}
	if p.busy == nil {
		p.busy = map[any]bool{}
	}
	p.busy[key] = true
	return &FinishingRows{RowsBase: RowsBase{rows}, Finish: func(bool) error {
		delete(p.busy, key)
		return nil
	}}, nil
}

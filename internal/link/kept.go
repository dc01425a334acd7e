package link

import (
	"context"
	"database/sql/driver"
	"strconv"
)

// Kept keeps slotsql's own statements prepared on one connection, for a parent that would
// otherwise parse a statement each time it runs.
type Kept struct {
	stmts    map[any]*keptStmt // by the part of a plan that the statement belongs to
	prepared int               // how many of them are prepared
	open     int               // how many have rows open
	stale    bool              // the session may have changed since they were prepared
}

type keptStmt struct {
	driver.Stmt      // nil while it is not prepared
	busy        bool // rows of it are open
	runs        int  // so often it has been sent as it is, see QueryRecurring
}

// Expire makes them be prepared again. They are not closed yet: rows of the statement that has
// changed the session may still be open, and while the server sends them MySQL's protocol allows
// no other command.
func (p *Kept) Expire() { p.stale = true }

// maxPrepared bounds how many are prepared; beyond it they are all closed. maxKept bounds for how many others
// executions are counted.
const maxPrepared, maxKept = 64, 256

// Get returns the prepared statement of a key, which it prepares if there is none.
func (p *Kept) Get(ctx context.Context, c *Conn, key any, sql string) (driver.Stmt, error) {
	k, err := p.get(ctx, c, key, sql)
	if err != nil {
		return nil, err
	}
	return k.Stmt, nil
}

func (p *Kept) get(ctx context.Context, c *Conn, key any, sql string) (*keptStmt, error) {
	if p.stale {
		p.Close()
	}
	if other := c.yieldingSQL(sql); other != sql {
		key, sql = other, other
	}
	if k := p.stmts[key]; k != nil && k.Stmt != nil {
		return k, nil
	}
	st, err := c.prepareGuarded(ctx, sql)
	if err != nil {
		return nil, err
	}
	if p.prepared >= maxPrepared && p.open == 0 {
		p.Close()
	}
	k := p.entry(key)
	k.Stmt = st
	p.prepared++
	return k, nil
}

// entry returns what is known of a statement.
func (p *Kept) entry(key any) *keptStmt {
	k := p.stmts[key]
	if k == nil {
		if p.stmts == nil {
			p.stmts = map[any]*keptStmt{}
		}
		if len(p.stmts)-p.prepared >= maxKept {
			p.forget()
		}
		k = &keptStmt{}
		p.stmts[key] = k
	}
	return k
}

// forget removes the statements that are not prepared.
func (p *Kept) forget() {
	for key, k := range p.stmts {
		if k.Stmt == nil && !k.busy {
			delete(p.stmts, key)
		}
	}
}

// Close closes all of them.
func (p *Kept) Close() {
	for _, k := range p.stmts {
		if k.Stmt != nil {
			_ = k.Close()
			k.Stmt = nil
		}
	}
	p.prepared, p.stale = 0, false
	p.forget()
}

// manyRuns is how often a statement that need not be prepared runs before it is. A test binary linked with
// "-X github.com/slotsql/slotsql/internal/link.manyRuns=0" prepares each at once.
var manyRuns = "32"

// QueryRecurring is Query for a statement that need not be prepared. It returns nil unless the statement has run so often that
// it is prepared: an execution is then cheaper, but preparing it is a round trip, so what is lost on statements that do not recur is
// little beside what they have cost until then. It also returns nil if the statement cannot be prepared: as text it
// needs no room for that, and meets any other error itself.
func (p *Kept) QueryRecurring(ctx context.Context, c *Conn, sql string, args []driver.NamedValue) (driver.Rows, error) {
	if k := p.entry(sql); k.busy || !p.recurs(k) {
		return nil, nil
	}
	k, err := p.get(ctx, c, sql, sql)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return p.query(ctx, k, args)
}

// recurs counts an execution of such a statement, and reports whether it is prepared, or should be.
func (p *Kept) recurs(k *keptStmt) bool {
	if k.Stmt != nil && !p.stale {
		return true
	}
	k.runs++
	many, err := strconv.Atoi(manyRuns)
	return err == nil && k.runs > many
}

// Query runs a query of slotsql's own on a kept statement. It returns nil if rows of another
// execution are still open, or the number of arguments is wrong.
func (p *Kept) Query(ctx context.Context, c *Conn, key any, sql string, args []driver.NamedValue) (driver.Rows, error) {
	if k := p.stmts[key]; k != nil && k.busy {
		return nil, nil
	}
	k, err := p.get(ctx, c, key, sql)
	if err != nil {
		return nil, err
	}
	return p.query(ctx, k, args)
}

func (p *Kept) query(ctx context.Context, k *keptStmt, args []driver.NamedValue) (driver.Rows, error) {
	if CheckArgCount(k.Stmt, args) != nil {
		return nil, nil
	}
	args, err := ConvertArgs(k.Stmt, args)
	if err != nil {
		return nil, err
	}
	rows, err := StmtQuery(ctx, k.Stmt, args)
	if err != nil {
		return nil, err
	}
	k.busy = true
	p.open++
	return &FinishingRows{RowsBase: RowsBase{rows}, Finish: func(bool) error {
		k.busy = false
		p.open--
		return nil
	}}, nil
}

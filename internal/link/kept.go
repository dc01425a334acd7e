package link

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// Kept keeps slotsql's own statements prepared on one connection, for a parent that would
// otherwise parse a statement each time it runs.
type Kept struct {
	stmts map[any]*keptStmt // by the part of a plan that the statement belongs to
	open  int               // how many have rows open
	stale bool              // the session may have changed since they were prepared
	uses  int               // of all of them, to find the one that has not been used for longest
}

type keptStmt struct {
	driver.Stmt
	busy    bool // rows of it are open
	counted bool // by the server: see maxCounted
	used    int  // when it was last used, by uses
}

// Expire makes them be prepared again. They are not closed yet: rows of the statement that has
// changed the session may still be open, and while the server sends them MySQL's protocol allows
// no other command.
func (p *Kept) Expire() { p.stale = true }

// maxPrepared bounds how many are prepared; beyond it the one that has not been used for longest is closed.
const maxPrepared = 64

// A server may limit how many statements all its sessions have prepared (MySQL's max_prepared_stmt_count, 16,382 by
// default), and refuses more to other programs as well. There a connection keeps fewer, and all connections of the
// process together at most maxProcess. After one was refused, none is prepared to be kept for keptRest.
const (
	maxCounted = 16
	maxProcess = 512
	keptRest   = time.Minute
)

// counted is how many statements of such servers are kept in the process, and restUntil until when none is prepared,
// in Unix nanoseconds.
var counted, restUntil atomic.Int64

// Get returns the prepared statement of a key, which it prepares if there is none. It is nil if the statement is to be
// sent as it is, because the server has, or may have, no room for another one.
func (p *Kept) Get(ctx context.Context, c *Conn, key any, sql string) (driver.Stmt, error) {
	k, err := p.get(ctx, c, key, sql)
	if err != nil || k == nil {
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
	limited := c.Engine.limitsPrepared
	resting := limited && time.Now().UnixNano() < restUntil.Load()
	if resting && p.open == 0 {
		p.Close()
	}
	p.uses++
	if k := p.stmts[key]; k != nil {
		k.used = p.uses
		return k, nil
	}
	if resting || !p.makeRoom(limited) {
		return nil, nil
	}
	st, err := c.prepareGuarded(ctx, sql)
	if err != nil {
		if limited && c.Engine.means(err, dialect.TooManyPrepared) {
			restUntil.Store(time.Now().Add(keptRest).UnixNano())
			if p.open == 0 {
				p.Close()
			}
			return nil, nil
		}
		return nil, err
	}
	if p.stmts == nil {
		p.stmts = map[any]*keptStmt{}
	}
	k := &keptStmt{Stmt: st, counted: limited, used: p.uses}
	p.stmts[key] = k
	if k.counted {
		counted.Add(1)
	}
	return k, nil
}

// makeRoom closes a statement if there are as many as may be, and reports whether there is room for another one.
func (p *Kept) makeRoom(limited bool) bool {
	full := len(p.stmts) >= maxPrepared || limited && (len(p.stmts) >= maxCounted || counted.Load() >= maxProcess)
	if !full {
		return true
	}
	var oldest any
	for key, k := range p.stmts {
		if !k.busy && (oldest == nil || k.used < p.stmts[oldest].used) {
			oldest = key
		}
	}
	if oldest == nil {
		return false
	}
	p.close(oldest)
	return true
}

func (p *Kept) close(key any) {
	k := p.stmts[key]
	delete(p.stmts, key)
	_ = k.Close()
	if k.counted {
		counted.Add(-1)
	}
}

// Close closes all of them.
func (p *Kept) Close() {
	for key := range p.stmts {
		p.close(key)
	}
	p.stale = false
}

// Query runs a query of slotsql's own on a kept statement. It returns nil if the query is to be sent
// as it is (see Get), if rows of another execution are still open, or the number of arguments is wrong.
func (p *Kept) Query(ctx context.Context, c *Conn, key any, sql string, args []driver.NamedValue) (driver.Rows, error) {
	if k := p.stmts[key]; k != nil && k.busy {
		return nil, nil
	}
	k, err := p.get(ctx, c, key, sql)
	if err != nil || k == nil {
		return nil, err
	}
	if CheckArgCount(k.Stmt, args) != nil {
		return nil, nil
	}
	if args, err = ConvertArgs(k.Stmt, args); err != nil {
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

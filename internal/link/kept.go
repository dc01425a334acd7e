package link

import (
	"context"
	"database/sql/driver"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// Kept keeps slotsql's own statements prepared on one connection, for a parent that would
// otherwise parse a statement each time it runs.
type Kept struct {
	stmts    map[any]*keptStmt // by the part of a plan that the statement belongs to
	prepared int               // how many of them are prepared
	open     int               // how many have rows open
	stale    bool              // the session may have changed since they were prepared
	uses     int               // of statements that are prepared, to find the one that has not been used for longest
}

type keptStmt struct {
	driver.Stmt      // nil while it is not prepared
	busy        bool // rows of it are open
	runs        int  // so often it has been sent as it is, see QueryRecurring
	counted     bool // by the server: see maxCounted
	used        int  // when it was last used, by uses
}

// Expire makes them be prepared again. They are not closed yet: rows of the statement that has
// changed the session may still be open, and while the server sends them MySQL's protocol allows
// no other command.
func (p *Kept) Expire() { p.stale = true }

// maxPrepared bounds how many are prepared; beyond it the one that has not been used for longest is closed. maxKept
// bounds for how many others executions are counted.
const maxPrepared, maxKept = 64, 256

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
	if k := p.stmts[key]; k != nil && k.Stmt != nil {
		p.uses++
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
	k := p.entry(key)
	k.Stmt, k.counted = st, limited
	p.prepared++
	p.uses++
	k.used = p.uses
	if k.counted {
		counted.Add(1)
	}
	return k, nil
}

// makeRoom closes a statement if there are as many as may be, and reports whether there is room for another one.
func (p *Kept) makeRoom(limited bool) bool {
	full := p.prepared >= maxPrepared || limited && (p.prepared >= maxCounted || counted.Load() >= maxProcess)
	if !full {
		return true
	}
	var oldest *keptStmt
	for _, k := range p.stmts {
		if k.Stmt != nil && !k.busy && (oldest == nil || k.used < oldest.used) {
			oldest = k
		}
	}
	if oldest == nil {
		return false
	}
	oldest.close()
	p.prepared--
	return true
}

// close closes a statement that is prepared.
func (k *keptStmt) close() {
	_ = k.Close()
	k.Stmt = nil
	if k.counted {
		counted.Add(-1)
	}
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
			k.close()
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
	if err != nil || k == nil {
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

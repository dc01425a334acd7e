package slotsql

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/rewrite"
)

var (
	_ driver.Conn               = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)
	_ driver.NamedValueChecker  = (*conn)(nil)
)

// conn is one wrapped connection. Like every driver.Conn it is used by one
// goroutine at a time.
type conn struct {
	view
	shared    *shared
	node      *node                // that it is on
	slot      int                  // number among the live connections of the connector
	held      map[rowKey]int       // slots held until the transaction ends, see placement
	own       map[rowKey]ownChange // of the transaction that is open
	changes   int                  // of it so far
	marks     []mark               // its savepoints
	journaled bool                 // it has made rows of a journal
	trials    trials               // its first increments of their forms
	untied    map[string]bool      // slot tables whose base rows it has deleted
	looked    map[string]bool      // slot tables whose counters it has read, see conflicts
	level     level                // its isolation level

	led   int           // shared statements that this connection has run
	lent  chan struct{} // closed when a statement ends that has outlived its caller
	later []func()      // to be done then

	bare      []string // tables that a READ ONLY transaction has found without slots, and keeps so
	readOnly  bool     // the transaction that is open may not write, as it was begun
	mayRefuse bool     // transactions of the session may be READ ONLY without saying so

	begun  driver.IsolationLevel // of the transaction begun through BeginTx; 0: the session's
	closed bool
}

// wrapConn wraps a parent's connection without a look at the database.
func wrapConn(s *shared, parent driver.Conn) *conn {
	return &conn{view: *newView(s.catalog, parent), shared: s, node: &s.placement.home}
}

// ownConn wraps a connection that folds slots: on a node of a cluster it looks
// whether its transaction is still there, see guard.go.
func ownConn(ctx context.Context, s *shared, parent driver.Conn) *conn {
	c := wrapConn(s, parent)
	c.learnNode(ctx)
	return c
}

// newConn wraps a parent's connection for the application. When that fails it has
// closed it, or leaves it to those who do.
func newConn(ctx context.Context, s *shared, parent driver.Conn) (*conn, error) {
	if err := s.meet(ctx, parent); err != nil {
		_ = parent.Close()
		return nil, err
	}
	c := ownConn(ctx, s, parent)
	if len(s.tables) > 0 {
		if lent, err := c.opened(ctx); err != nil {
			if !lent {
				_ = parent.Close()
			}
			return nil, err
		}
	}
	c.slot = s.numbers.take()
	c.lease(ctx)
	return c, nil
}

// Unwrap returns the parent driver's own connection, for sql.Conn.Raw.
// Statements sent through it are not seen by slotsql, which lets no other
// session's increments share a statement with this one's from then on.
func (c *conn) Unwrap() driver.Conn {
	c.returned()
	c.strayed = true
	return c.parent
}

// Raw is Unwrap under the name that some tools look for.
func (c *conn) Raw() driver.Conn { return c.Unwrap() }

// Close implements driver.Conn.
func (c *conn) Close() error {
	if c.isLent() {
		// Nobody uses the connection any more but the statement.
		go func() {
			c.returned()
			_ = c.Close()
		}()
		return nil
	}
	if !c.closed {
		c.closed = true
		c.shared.numbers.free(c.slot)
		c.release()
		c.prepared.close()
	}
	return c.parent.Close()
}

// isLent says that a statement is under way whose caller has given up.
func (c *conn) isLent() bool {
	select {
	case <-c.lent: // closed, or nil and never ready
		return false
	default:
		return c.lent != nil
	}
}

// await waits until the connection is not lent.
func (c *conn) await(ctx context.Context) error {
	if c.lent == nil {
		return nil
	}
	select {
	case <-c.lent:
		c.returned()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// returned waits until the connection is not lent, and does what has been put
// off until then.
func (c *conn) returned() {
	if c.lent == nil {
		return
	}
	<-c.lent
	c.lent = nil
	for _, f := range c.later {
		f()
	}
	c.later = nil
}

// Ping implements driver.Pinger.
func (c *conn) Ping(ctx context.Context) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	if p, ok := c.parent.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession implements driver.SessionResetter.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.broken || c.isLent() {
		return driver.ErrBadConn
	}
	c.lasting, c.reading = false, false
	if c.tx.byText && !c.idle() {
		c.doubted() // a transaction that a text has begun may still be open
	} else {
		c.ended()
	}
	if r, ok := c.parent.(driver.SessionResetter); ok {
		if err := r.ResetSession(ctx); err != nil {
			return err
		}
	}
	c.heedHere(ctx)
	c.lease(ctx)
	if c.shared.shadow != nil {
		c.shared.shadow.catchUp(ctx, c)
	}
	if c.broken {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool {
	if c.broken || c.isLent() {
		return false
	}
	if v, ok := c.parent.(driver.Validator); ok {
		return v.IsValid()
	}
	return true
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.parent.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext. The text is planned, so
// that a statement that is refused fails here.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	p, err := c.plan(ctx, query)
	if err != nil {
		return nil, err
	}
	if err := c.allowed(p.Plan); err != nil {
		return nil, err
	}
	parent, err := c.parentPrepare(ctx, p.Text)
	if err != nil {
		if len(p.Tables) > 0 {
			c.learnFrom(err)
		}
		again := c.run(p, direct{c}, call{})
		if !again.replan(ctx, err) {
			return nil, err
		}
		p = again.plan
		if parent, err = c.parentPrepare(ctx, p.Text); err != nil {
			return nil, err
		}
	}
	return newStmt(c, query, p, parent), nil
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query, args, options, err := c.engine.rewriteArgs(ctx, c.parent, query, args)
	if err != nil {
		return nil, err
	}
	p, err := c.plan(ctx, query)
	if err != nil {
		return nil, err
	}
	if p.Class == rewrite.PassThrough && len(p.Changes) == 0 {
		e, ok := c.parent.(driver.ExecerContext)
		if !ok {
			return c.legacyExec(ctx, p, query, args)
		}
		res, err := e.ExecContext(ctx, query, joinArgs(options, args))
		c.after(p.Plan, err)
		if p.shadow != nil && err != driver.ErrSkip {
			c.shared.shadow.ran(p.shadow)
		}
		return res, err
	}
	if p.shadow != nil {
		c.shared.shadow.ran(p.shadow)
	}
	return c.run(p, direct{c}, call{args: args, options: options}).exec(ctx)
}

// legacyExec serves a parent that has the old Execer only, or none.
func (c *conn) legacyExec(ctx context.Context, p *plan, query string, args []driver.NamedValue) (driver.Result, error) {
	e, ok := c.parent.(driver.Execer) //nolint:staticcheck // the parent's choice
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	res, err := e.Exec(query, values)
	c.after(p.Plan, err)
	if p.shadow != nil && err != driver.ErrSkip {
		c.shared.shadow.ran(p.shadow)
	}
	return res, err
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, args, options, err := c.engine.rewriteArgs(ctx, c.parent, query, args)
	if err != nil {
		return nil, err
	}
	p, err := c.plan(ctx, query)
	if err != nil {
		return nil, err
	}
	defer c.queried()
	if p.Class == rewrite.PassThrough && (len(p.Changes) == 0 || c.inAutocommit()) {
		q, ok := c.parent.(driver.QueryerContext)
		if !ok {
			return c.legacyQuery(ctx, p, query, args)
		}
		rows, err := q.QueryContext(ctx, query, joinArgs(options, args))
		c.after(p.Plan, err)
		if p.shadow != nil && err != driver.ErrSkip {
			c.shared.shadow.queried(p.shadow, args, options)
		}
		return rows, err
	}
	if p.shadow != nil {
		c.shared.shadow.queried(p.shadow, args, options)
	}
	return c.run(p, direct{c}, call{args: args, options: options}).query(ctx)
}

func (c *conn) legacyQuery(ctx context.Context, p *plan, query string, args []driver.NamedValue) (driver.Rows, error) {
	q, ok := c.parent.(driver.Queryer) //nolint:staticcheck // the parent's choice
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(query, values)
	c.after(p.Plan, err)
	if p.shadow != nil && err != driver.ErrSkip {
		c.shared.shadow.queried(p.shadow, args, nil)
	}
	return rows, err
}

// allowed refuses what the plan or the configuration refuses.
func (c *conn) allowed(plan *rewrite.Plan) error {
	if plan.Class == rewrite.Refused {
		return &UnsupportedError{Reason: plan.Reason, Tables: plan.Tables}
	}
	if plan.Class != rewrite.Drain {
		return nil
	}
	for _, d := range plan.Drains {
		if d.Table.Counter.OnDrain == "error" {
			return &DrainError{Reason: plan.Reason, Table: d.Table.Name}
		}
	}
	return nil
}

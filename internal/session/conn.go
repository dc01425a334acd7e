package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

var (
	_ driver.Conn               = (*Conn)(nil)
	_ driver.ConnBeginTx        = (*Conn)(nil)
	_ driver.ConnPrepareContext = (*Conn)(nil)
	_ driver.ExecerContext      = (*Conn)(nil)
	_ driver.QueryerContext     = (*Conn)(nil)
	_ driver.Pinger             = (*Conn)(nil)
	_ driver.SessionResetter    = (*Conn)(nil)
	_ driver.Validator          = (*Conn)(nil)
	_ driver.NamedValueChecker  = (*Conn)(nil)
)

// Conn is one wrapped connection. Like every driver.Conn it is used by one
// goroutine at a time.
type Conn struct {
	catalog.View
	Shared  *Shared
	node    *slots.Node // that it is on
	slot    int         // number among the live connections of the connector
	history             // of the transaction that is open

	led      int // shared statements that this connection has run
	detached detached

	mayRefuse bool // transactions of the session may be READ ONLY without saying so
	closed    bool
}

// WrapConn wraps a parent's connection without a look at the database.
func WrapConn(s *Shared, parent driver.Conn) *Conn {
	return &Conn{View: *catalog.NewView(s.Catalog, parent), Shared: s, node: &s.placement.Home}
}

// OwnConn wraps a connection that folds slots: on a node of a cluster it looks
// whether its transaction is still there, see guard.go.
func OwnConn(ctx context.Context, s *Shared, parent driver.Conn) *Conn {
	c := WrapConn(s, parent)
	c.learnNode(ctx)
	return c
}

// NewConn wraps a parent's connection for the application. When that fails it has
// closed it, or leaves it to those who do.
func NewConn(ctx context.Context, s *Shared, parent driver.Conn) (*Conn, error) {
	if err := s.Meet(ctx, parent); err != nil {
		_ = parent.Close()
		return nil, err
	}
	c := OwnConn(ctx, s, parent)
	if len(s.Tables) > 0 {
		if lent, err := c.Opened(ctx); err != nil {
			if !lent {
				_ = parent.Close()
			}
			return nil, err
		}
	}
	c.slot = s.numbers.Take()
	c.lease(ctx)
	return c, nil
}

// Unwrap returns the parent driver's own connection, for sql.Conn.Raw.
// Statements sent through it are not seen by slotsql, which lets no other
// session's increments share a statement with this one's from then on.
func (c *Conn) Unwrap() driver.Conn {
	c.detached.attach()
	c.Dirty = true
	return c.Parent
}

// Raw is Unwrap under the name that some tools look for.
func (c *Conn) Raw() driver.Conn { return c.Unwrap() }

// Close implements driver.Conn.
func (c *Conn) Close() error {
	if c.detached.running() {
		// Nobody uses the connection any more but the statement.
		go func() {
			c.detached.attach()
			_ = c.Close()
		}()
		return nil
	}
	if !c.closed {
		c.closed = true
		c.Shared.numbers.Free(c.slot)
		c.release()
		c.Kept.Close()
	}
	return c.Parent.Close()
}

// Ping implements driver.Pinger.
func (c *Conn) Ping(ctx context.Context) error {
	if err := c.detached.await(ctx); err != nil {
		return err
	}
	if p, ok := c.Parent.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession implements driver.SessionResetter.
func (c *Conn) ResetSession(ctx context.Context) error {
	if c.Broken || c.detached.running() {
		return driver.ErrBadConn
	}
	c.RowsOpen = false
	if c.Tx.Reset(c.Idle()) {
		c.ended()
	} else {
		c.doubted()
	}
	if r, ok := c.Parent.(driver.SessionResetter); ok {
		if err := r.ResetSession(ctx); err != nil {
			return err
		}
	}
	c.HeedHere(ctx)
	c.lease(ctx)
	if c.Shared.Shadow != nil {
		c.Shared.Shadow.CatchUp(ctx, c)
	}
	if c.Broken {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *Conn) IsValid() bool {
	if c.Broken || c.detached.running() {
		return false
	}
	if v, ok := c.Parent.(driver.Validator); ok {
		return v.IsValid()
	}
	return true
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *Conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Parent.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// Prepare implements driver.Conn.
func (c *Conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext. The text is planned, so
// that a statement that is refused fails here.
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	p, err := c.Plan(ctx, query)
	if err != nil {
		return nil, err
	}
	if err := c.allowed(p.Plan); err != nil {
		return nil, err
	}
	parent, err := c.ParentPrepare(ctx, p.Text)
	if err != nil {
		if len(p.Tables) > 0 {
			c.LearnFrom(err)
		}
		again := c.run(p, direct{c}, call{})
		if !again.replan(ctx, err) {
			return nil, err
		}
		p = again.Plan
		if parent, err = c.ParentPrepare(ctx, p.Text); err != nil {
			return nil, err
		}
	}
	return newStmt(c, query, p, parent), nil
}

// ExecContext implements driver.ExecerContext.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query, args, options, err := c.Engine.RewriteArgs(ctx, c.Parent, query, args)
	if err != nil {
		return nil, err
	}
	p, err := c.Plan(ctx, query)
	if err != nil {
		return nil, err
	}
	if p.Class == rewrite.PassThrough && len(p.Changes) == 0 {
		e, ok := c.Parent.(driver.ExecerContext)
		if !ok {
			return c.legacyExec(ctx, p, query, args)
		}
		res, err := e.ExecContext(ctx, query, link.JoinArgs(options, args))
		c.after(p.Plan, err)
		if p.shadow != nil && err != driver.ErrSkip {
			c.Shared.Shadow.Ran(p.shadow)
		}
		return res, err
	}
	if p.shadow != nil {
		c.Shared.Shadow.Ran(p.shadow)
	}
	return c.run(p, direct{c}, call{args: args, options: options}).exec(ctx)
}

// legacyExec serves a parent that has the old Execer only, or none.
func (c *Conn) legacyExec(ctx context.Context, p *plan, query string, args []driver.NamedValue) (driver.Result, error) {
	e, ok := c.Parent.(driver.Execer) //nolint:staticcheck // the parent's choice
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := link.Unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	res, err := e.Exec(query, values)
	c.after(p.Plan, err)
	if p.shadow != nil && err != driver.ErrSkip {
		c.Shared.Shadow.Ran(p.shadow)
	}
	return res, err
}

// QueryContext implements driver.QueryerContext.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, args, options, err := c.Engine.RewriteArgs(ctx, c.Parent, query, args)
	if err != nil {
		return nil, err
	}
	p, err := c.Plan(ctx, query)
	if err != nil {
		return nil, err
	}
	defer c.queried(p.Plan)
	if p.Class == rewrite.PassThrough && (len(p.Changes) == 0 || c.InAutocommit()) {
		q, ok := c.Parent.(driver.QueryerContext)
		if !ok {
			return c.legacyQuery(ctx, p, query, args)
		}
		rows, err := q.QueryContext(ctx, query, link.JoinArgs(options, args))
		c.after(p.Plan, err)
		if p.shadow != nil && err != driver.ErrSkip {
			c.Shared.Shadow.Queried(p.shadow, args, options)
		}
		return rows, err
	}
	if p.shadow != nil {
		c.Shared.Shadow.Queried(p.shadow, args, options)
	}
	return c.run(p, direct{c}, call{args: args, options: options}).query(ctx)
}

func (c *Conn) legacyQuery(ctx context.Context, p *plan, query string, args []driver.NamedValue) (driver.Rows, error) {
	q, ok := c.Parent.(driver.Queryer) //nolint:staticcheck // the parent's choice
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := link.Unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(query, values)
	c.after(p.Plan, err)
	if p.shadow != nil && err != driver.ErrSkip {
		c.Shared.Shadow.Queried(p.shadow, args, nil)
	}
	return rows, err
}

// allowed refuses what the plan or the configuration refuses.
func (c *Conn) allowed(plan *rewrite.Plan) error {
	if plan.Class == rewrite.Refused {
		return unsupported(plan, plan.Reason)
	}
	if plan.Class != rewrite.Drain {
		return nil
	}
	for _, d := range plan.Drains {
		if d.Table.Counter.OnDrain == rewrite.OnDrainError {
			return &link.DrainError{Reason: plan.Reason, Table: d.Table.Name}
		}
	}
	return nil
}

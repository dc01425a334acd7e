package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

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
	shared   *shared
	parent   driver.Conn
	session  session
	engine   engine
	slot     int
	slots    slotMemory
	prepared preparedTexts

	schema  *schema // facts of the session's namespace; nil until they are needed
	moved   bool    // the namespace may have changed since schema was set
	private bool    // the facts are this session's own: see changed
	temp    bool    // and stay so: it may have temporary tables
	altered bool    // it has changed the schema in a transaction that may be open
	adrift  bool    // or its namespace, which may change back with that one's end

	tx      txState
	halfway bool // a fold has failed between two of its statements
	broken  bool // not to be used again: see lost
	closed  bool
}

// errBroken is returned for what comes after the statement in which the
// connection was lost, or in whose transaction half a fold is left.
var errBroken error = &lostError{"the connection is out of use"}

// wrapConn wraps a parent's connection without a look at the database.
func wrapConn(s *shared, parent driver.Conn) *conn {
	c := &conn{shared: s, parent: parent, engine: engineOf(s.dialect)}
	c.session.conn = c
	return c
}

func newConn(ctx context.Context, s *shared, parent driver.Conn) (*conn, error) {
	c := wrapConn(s, parent)
	sc, err := s.open(ctx, &c.session)
	if err != nil {
		return nil, err
	}
	c.schema = sc
	c.slot = s.takeSlot()
	return c, nil
}

// Unwrap returns the parent driver's own connection, for sql.Conn.Raw.
// Statements sent through it are not seen by slotsql.
func (c *conn) Unwrap() driver.Conn { return c.parent }

// Raw is Unwrap under the name that some tools look for.
func (c *conn) Raw() driver.Conn { return c.parent }

// Close implements driver.Conn.
func (c *conn) Close() error {
	if !c.closed {
		c.closed = true
		c.shared.freeSlot(c.slot)
		c.prepared.close()
	}
	return c.parent.Close()
}

// Ping implements driver.Pinger.
func (c *conn) Ping(ctx context.Context) error {
	if p, ok := c.parent.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession implements driver.SessionResetter.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.broken {
		return driver.ErrBadConn
	}
	if r, ok := c.parent.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool {
	if c.broken {
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
	if p.Class == rewrite.PassThrough {
		e, ok := c.parent.(driver.ExecerContext)
		if !ok {
			return c.legacyExec(ctx, p, query, args)
		}
		res, err := e.ExecContext(ctx, query, joinArgs(options, args))
		c.after(p.Plan, err)
		return res, err
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
	if p.Class == rewrite.PassThrough {
		q, ok := c.parent.(driver.QueryerContext)
		if !ok {
			return c.legacyQuery(ctx, p, query, args)
		}
		rows, err := q.QueryContext(ctx, query, joinArgs(options, args))
		c.after(p.Plan, err)
		return rows, err
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
	return rows, err
}

// plan returns the plan of a text: from the cache, or made now with whatever
// facts it needs read from the database.
func (c *conn) plan(ctx context.Context, query string) (*plan, error) {
	if c.broken {
		return nil, errBroken
	}
	if c.shared.viewDDL.Load() && c.schema != nil && c.schema.stale() {
		// A view may have come to be over a counter table, and its name is yet
		// unknown. In a transaction that has failed nothing can be read, nor run.
		_ = c.refresh(ctx)
	}
	if p := c.shared.untouched.get(query); p != nil {
		return p, nil
	}
	if !c.shared.mentions(query) {
		p := &plan{Plan: &rewrite.Plan{Class: rewrite.PassThrough, Text: query, Effects: rewrite.Effects(c.shared.dialect, query)}}
		c.shared.untouched.put(query, p)
		return p, nil
	}
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	sc := c.schema
	if p := sc.plans.get(query); p != nil {
		return p, nil
	}
	for tries := 0; ; tries++ {
		made, err := sc.planner.Plan(query)
		var missing *rewrite.MissingError
		if err == nil {
			p := &plan{Plan: made, source: query}
			sc.plans.put(query, p)
			return p, nil
		}
		if !errors.As(err, &missing) || tries > 16 {
			return nil, err
		}
		if err := sc.learn(ctx, &c.session, missing.Names); err != nil {
			return nil, err
		}
	}
}

// refresh makes c.schema the facts of the session's namespace as it is now.
func (c *conn) refresh(ctx context.Context) error {
	if c.schema != nil && !c.moved && !c.schema.stale() {
		return nil
	}
	sc, err := c.shared.load(ctx, &c.session, loading{private: c.private})
	if err != nil {
		return err
	}
	c.schema, c.moved = sc, false
	return nil
}

// after notes what a text that has been run may have done to the session.
func (c *conn) after(plan *rewrite.Plan, err error) {
	if plan.Effects&rewrite.TxControl != 0 || err != nil {
		c.tx.known = false
	}
	if plan.Effects&rewrite.Namespace != 0 {
		c.moved = true
		c.adrift = !c.committed()
	}
	if plan.Effects&rewrite.SchemaChange != 0 {
		c.changed(plan.Text)
	} else if plan.Effects&rewrite.TxControl != 0 && (c.private || c.altered || c.adrift) {
		c.settleFacts(endsTx(plan.Text))
	}
	if err != nil && len(plan.Tables) > 0 {
		c.learnFrom(err)
	}
}

// queried notes that a query has been run: its error may come with its rows.
func (c *conn) queried() { c.tx.known = false }

// changed notes that a text may have changed the schema. Others must look
// again, and must not take over what this session sees: not its temporary
// tables, and not a change that is not committed.
func (c *conn) changed(text string) {
	c.private, c.moved = true, true
	c.temp = c.temp || rewrite.ContainsFold(text, "temp")
	if !ofTemporary(c.shared.dialect.Lexis(), text) {
		c.altered = true
		if rewrite.ContainsFold(text, "view") {
			c.shared.viewDDL.Store(true)
		}
		c.shared.expire()
	}
	if c.committed() {
		c.altered, c.private = false, c.temp
	}
}

// committed says that a change of the schema that has just been made holds for
// everybody.
func (c *conn) committed() bool {
	return c.shared.dialect.Traits().DDLCommits || c.engine.watcher != nil && !c.engine.watcher.ConnInTransaction(c.parent)
}

// ofTemporary says that a text creates or drops a temporary table.
func ofTemporary(lx *rewrite.Lexis, text string) bool {
	if len(text) > maxCachedText {
		return false
	}
	temporary := false
	for i, t := range rewrite.Tokens(lx, text) {
		switch word := strings.ToUpper(text[t.Start:t.End]); {
		case i == 0 && word != "CREATE" && word != "DROP", word == ";":
			return false
		case i < 4 && (word == "TEMP" || word == "TEMPORARY"):
			temporary = true
		}
	}
	return temporary
}

// settleFacts notes that a transaction may have ended, or has: what it changed
// in the schema now holds for everybody, or for nobody.
func (c *conn) settleFacts(ended bool) {
	if !c.private && !c.altered && !c.adrift {
		return
	}
	c.moved = true
	if c.altered {
		c.shared.expire()
	}
	if ended || c.committed() {
		c.altered, c.adrift, c.private = false, false, c.temp
	}
}

// endsTx says that a text ends a transaction for certain.
func endsTx(text string) bool {
	text = strings.ToUpper(strings.Trim(text, "; \t\r\n"))
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "COMMIT", "END", "ROLLBACK", "ABORT":
		return !strings.Contains(rest, "TO") && !strings.Contains(rest, ";")
	}
	return false
}

// learnFrom has the facts read again when an error says that they are wrong.
func (c *conn) learnFrom(err error) {
	if c.engine.schemaChanged(err) {
		c.shared.expire()
	}
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

func unnamed(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	out := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("slotsql: the parent driver does not support named arguments")
		}
		out[i] = a.Value
	}
	return out, ctx.Err()
}

func joinArgs(options, args []driver.NamedValue) []driver.NamedValue {
	if len(options) == 0 {
		return args
	}
	out := make([]driver.NamedValue, 0, len(options)+len(args))
	out = append(out, options...)
	for i, a := range args {
		a.Ordinal = len(options) + i + 1
		out = append(out, a)
	}
	return out
}

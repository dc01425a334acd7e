package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

var (
	_ driver.Stmt              = (*stmt)(nil)
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
	_ driver.ColumnConverter   = (*convertingStmt)(nil) //nolint:staticcheck // delegated for old parents
	_ sender                   = (*stmt)(nil)
)

// stmt is a prepared statement: the plan's SQL prepared on the parent, or the form in which a query is observed, and the increment's own
// statements once they are used. The parent's statement takes as many arguments as the
// application's.
type stmt struct {
	conn  *Conn
	query string
	plan  *plan

	parent   *prepared // own or observed, whichever was prepared first
	own      prepared  // the plan's SQL
	observed prepared  // its Observed

	statements link.Kept // those of the plan's increment
}

// prepared is a statement of the parent.
type prepared struct {
	driver.Stmt        // nil until it is needed
	sql         string // that it was prepared with
}

// convertingStmt is a stmt whose parent has column converters. A stmt without them must not have
// the method: database/sql would no longer convert the arguments of a statement that does not know
// how many it takes.
type convertingStmt struct {
	*stmt
	converter driver.ColumnConverter //nolint:staticcheck // the parent's choice
}

// ColumnConverter implements driver.ColumnConverter.
func (s *convertingStmt) ColumnConverter(i int) driver.ValueConverter {
	return s.converter.ColumnConverter(i)
}

func newStmt(c *Conn, query string, p *plan, sql string, parent driver.Stmt) driver.Stmt {
	s := &stmt{conn: c, query: query, plan: p}
	s.parent = &s.own
	if sql != p.SQL {
		s.parent = &s.observed
	}
	*s.parent = prepared{Stmt: parent, sql: sql}
	if cc, ok := parent.(driver.ColumnConverter); ok { //nolint:staticcheck // the parent's choice
		return &convertingStmt{s, cc}
	}
	return s
}

// Unwrap returns the parent's statement for the plan's SQL.
func (s *stmt) Unwrap() driver.Stmt { return s.parent.Stmt }

// Close implements driver.Stmt.
func (s *stmt) Close() error {
	if s.conn.detached.putOff(func() { _ = s.Close() }) {
		return nil
	}
	err := s.parent.Close()
	for _, p := range []*prepared{&s.own, &s.observed} {
		if p != s.parent && p.Stmt != nil {
			_ = p.Close()
		}
	}
	s.statements.Close()
	return err
}

// NumInput implements driver.Stmt.
func (s *stmt) NumInput() int {
	n := s.parent.NumInput()
	if n >= 0 && s.plan.Read.Args != nil {
		return s.plan.Inputs
	}
	return n
}

// CheckNamedValue implements driver.NamedValueChecker: the parent's statement
// first, then its connection, as database/sql asks them.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.parent.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}

// Exec implements driver.Stmt.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

// Query implements driver.Stmt.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, v := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if s.conn.Rare.Any(mayBeBusy) && s.conn.busy() {
		return link.StmtExec(ctx, s.parent, args)
	}
	r, err := s.plannedRun(ctx, args, false)
	if err != nil {
		return nil, err
	}
	s.conn.Shared.shadowRan(r.Plan)
	a, err := r.run(ctx)
	s.conn.keepRun(r)
	return a.result, err
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if s.conn.Rare.Any(mayBeBusy) && s.conn.busy() {
		return link.StmtQuery(ctx, s.parent, args)
	}
	r, err := s.plannedRun(ctx, args, true)
	if err != nil {
		return nil, err
	}
	s.conn.Shared.shadowQueried(r.Plan, r.call.args, r.call.options)
	known := s.conn.Engine.Watcher == nil && s.conn.knownOpen(r.Plan.Plan)
	a, err := r.run(ctx)
	return s.conn.queried(r.Plan, known, a.rows, err)
}

// plannedRun plans the statement again, since the facts may have changed after it was prepared.
// While they have not, the plan comes from the cache.
func (s *stmt) plannedRun(ctx context.Context, args []driver.NamedValue, wantsRows bool) (*Run, error) {
	var options []driver.NamedValue
	var err error
	if len(args) > 0 && s.conn.Engine.Args != nil {
		if _, args, options, err = s.conn.Engine.Args.RewriteArgs(ctx, s.conn.Parent, s.query, args); err != nil {
			return nil, err
		}
	}
	p, err := s.conn.Plan(ctx, s.query)
	if err != nil {
		return nil, err
	}
	s.plan = p
	return s.conn.takeRun(p, s, call{args: args, options: options, wantsRows: wantsRows}), nil
}

// ready prepares SQL that is about to run, unless that has been done.
func (s *stmt) ready(ctx context.Context, p *prepared, sql string) error {
	if p.Stmt != nil && p.sql == sql {
		return nil
	}
	parent, err := s.conn.ParentPrepare(ctx, sql)
	if err != nil {
		return err
	}
	if p.Stmt != nil {
		_ = p.Close()
	}
	*p = prepared{parent, sql}
	return nil
}

// ownSQL returns the statement of the plan's SQL as it is sent now.
func (s *stmt) ownSQL(ctx context.Context, p *rewrite.Plan) (driver.Stmt, error) {
	if s.conn.Yields() {
		return s.statements.Get(ctx, &s.conn.Conn, p.SQL, p.SQL)
	}
	err := s.ready(ctx, &s.own, p.SQL)
	return s.own.Stmt, err
}

func (s *stmt) execSQL(ctx context.Context, p *rewrite.Plan, c call) (driver.Result, error) {
	st, err := s.ownSQL(ctx, p)
	if err != nil {
		return nil, err
	}
	return link.StmtExec(ctx, st, link.JoinArgs(c.options, c.args))
}

func (s *stmt) querySQL(ctx context.Context, p *rewrite.Plan, c call) (driver.Rows, error) {
	st, err := s.ownSQL(ctx, p)
	if err != nil {
		return nil, err
	}
	return link.StmtQuery(ctx, st, link.JoinArgs(c.options, c.args))
}

func (s *stmt) queryObserved(ctx context.Context, p *plan, c call) (driver.Rows, error) {
	if err := s.ready(ctx, &s.observed, p.Read.Observed.SQL.Of(p.Values)); err != nil {
		return nil, err
	}
	return link.StmtQuery(ctx, s.observed.Stmt, link.JoinArgs(c.options, c.args))
}

func (s *stmt) execBound(ctx context.Context, b *rewrite.Bound, sql string, args []driver.NamedValue) (driver.Result, error) {
	st, err := s.statements.Get(ctx, &s.conn.Conn, b, sql)
	if err != nil {
		return nil, err
	}
	return link.StmtExec(ctx, st, args)
}

func (s *stmt) queryBound(ctx context.Context, b *rewrite.Bound, sql string, args []driver.NamedValue) (driver.Rows, error) {
	st, err := s.statements.Get(ctx, &s.conn.Conn, b, sql)
	if err != nil {
		return nil, err
	}
	return link.StmtQuery(ctx, st, args)
}

package link

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

// ParentExec runs one statement on the parent, prepared if the parent wants that.
func (c *Conn) ParentExec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.yield.by != nil {
		query = c.yieldingSQL(query)
	}
	if e, ok := c.Parent.(driver.ExecerContext); ok {
		safe := retrySafe(ctx, c)
		if res, err := e.ExecContext(ctx, query, args); err != driver.ErrSkip {
			if err != nil && !safe {
				err = Settled(err)
			}
			return res, err
		}
		c.PreparesArgs = c.PreparesArgs || len(args) > 0
	} else if e, ok := c.Parent.(driver.Execer); ok { //nolint:staticcheck // the parent's choice
		values, err := Unnamed(ctx, args)
		if err != nil {
			return nil, err
		}
		if res, err := e.Exec(query, values); err != driver.ErrSkip {
			return res, err
		}
	}
	st, args, err := c.prepareCall(ctx, query, args)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return StmtExec(ctx, st, args)
}

// ParentQuery runs one query on the parent, prepared if the parent wants that. The statement is
// then closed with its rows.
func (c *Conn) ParentQuery(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if rows, err := c.QueryUnprepared(ctx, query, args); err != driver.ErrSkip {
		return rows, err
	}
	st, args, err := c.prepareCall(ctx, query, args)
	if err != nil {
		return nil, err
	}
	rows, err := StmtQuery(ctx, st, args)
	if err != nil {
		_ = st.Close()
		return nil, err
	}
	return &FinishingRows{RowsBase: RowsBase{rows}, Finish: func(bool) error { return st.Close() }}, nil
}

// QueryChanging is ParentQuery for a query that changes something.
func QueryChanging(ctx context.Context, c *Conn, query string, args []driver.NamedValue) (driver.Rows, error) {
	safe := retrySafe(ctx, c)
	rows, err := c.ParentQuery(ctx, query, args)
	if err != nil && !safe {
		err = Settled(err)
	}
	return rows, err
}

// retrySafe reports whether driver.ErrBadConn for the next statement means that it was not sent, so that database/sql may run
// it again. See dialect.BusyWatcher.
func retrySafe(ctx context.Context, c *Conn) bool {
	if c.Engine.busy == nil || ctx.Err() != nil {
		return true
	}
	_, closed := c.Engine.busy.ConnState(c.Parent)
	return closed
}

// QueryUnprepared runs one query on the parent. If the parent wants it prepared, which may depend
// on the arguments, it returns driver.ErrSkip, and nothing has been sent.
func (c *Conn) QueryUnprepared(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.yield.by != nil {
		query = c.yieldingSQL(query)
	}
	if q, ok := c.Parent.(driver.QueryerContext); ok {
		rows, err := q.QueryContext(ctx, query, args)
		c.Unprepared = err != driver.ErrSkip
		c.PreparesArgs = c.PreparesArgs || !c.Unprepared && len(args) > 0
		return rows, err
	}
	q, ok := c.Parent.(driver.Queryer) //nolint:staticcheck // the parent's choice
	if c.Unprepared = ok; !ok {
		return nil, driver.ErrSkip
	}
	values, err := Unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(query, values)
	c.Unprepared = err != driver.ErrSkip
	return rows, err
}

// prepareCall prepares a call's statement, and returns the arguments as the statement takes them.
func (c *Conn) prepareCall(ctx context.Context, query string, args []driver.NamedValue) (driver.Stmt, []driver.NamedValue, error) {
	st, err := c.ParentPrepare(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	if err = CheckArgCount(st, args); err == nil {
		args, err = ConvertArgs(st, args)
	}
	if err != nil {
		_ = st.Close()
		return nil, nil, err
	}
	return st, args, nil
}

// ParentPrepare prepares a statement on the parent. During a drain it fails if the transaction is
// gone, see guard.go.
func (c *Conn) ParentPrepare(ctx context.Context, query string) (driver.Stmt, error) {
	if c.Drain.UnderWay() {
		return c.prepareGuarded(ctx, query)
	}
	return c.prepareOnParent(ctx, query)
}

func (c *Conn) prepareOnParent(ctx context.Context, query string) (driver.Stmt, error) {
	query = c.yieldingSQL(query)
	if p, ok := c.Parent.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	st, err := c.Parent.Prepare(query)
	if err == nil && ctx.Err() != nil {
		_ = st.Close()
		return nil, ctx.Err()
	}
	return st, err
}

// CheckArgCount returns the error that database/sql returns when it prepares a call's statement: a
// parent that counts placeholders leaves it to database/sql to count the arguments, and would bind
// NULL for missing ones.
func CheckArgCount(st driver.Stmt, args []driver.NamedValue) error {
	if want := st.NumInput(); want >= 0 && want != len(args) {
		return fmt.Errorf("sql: expected %d arguments, got %d", want, len(args))
	}
	return nil
}

// ConvertArgs returns a call's arguments as database/sql would pass them to the statement that it
// prepares for the call. A connection such as that of ncruces/go-sqlite3 accepts all values, since
// its statements check them.
func ConvertArgs(st driver.Stmt, args []driver.NamedValue) ([]driver.NamedValue, error) {
	checker, ok := st.(driver.NamedValueChecker)
	if !ok {
		return args, nil
	}
	checked := args
	for i, a := range args {
		if driver.IsValue(a.Value) {
			continue
		}
		if &checked[0] == &args[0] {
			checked = slices.Clone(args) // the caller's may be used once more
		}
		err := checker.CheckNamedValue(&checked[i])
		if errors.Is(err, driver.ErrSkip) {
			checked[i].Value, err = driver.DefaultParameterConverter.ConvertValue(a.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("sql: converting argument $%d type: %w", a.Ordinal, err)
		}
	}
	return checked, nil
}

// StmtExec executes a statement of the parent, by the old interface if it has no other.
func StmtExec(ctx context.Context, st driver.Stmt, args []driver.NamedValue) (driver.Result, error) {
	if s, ok := st.(driver.StmtExecContext); ok {
		return s.ExecContext(ctx, args)
	}
	values, err := Unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	return st.Exec(values) //nolint:staticcheck // the parent's choice
}

// StmtQuery runs a query of the parent, by the old interface if it has no other.
func StmtQuery(ctx context.Context, st driver.Stmt, args []driver.NamedValue) (driver.Rows, error) {
	if s, ok := st.(driver.StmtQueryContext); ok {
		return s.QueryContext(ctx, args)
	}
	values, err := Unnamed(ctx, args)
	if err != nil {
		return nil, err
	}
	return st.Query(values) //nolint:staticcheck // the parent's choice
}

// Discard runs a statement whose rows, if any, do not matter.
func (c *Conn) Discard(ctx context.Context, query string, args []driver.NamedValue) error {
	_, err := c.ParentExec(ctx, query, args)
	return err
}

// Unnamed returns arguments for the old interfaces, which know no names.
func Unnamed(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	out := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("slotsql: the parent driver does not support named arguments")
		}
		out[i] = a.Value
	}
	return out, ctx.Err()
}

// JoinArgs returns arguments after the options for the parent, numbered again.
func JoinArgs(options, args []driver.NamedValue) []driver.NamedValue {
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

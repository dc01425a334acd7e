package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// call is a call of the application. Options are arguments for the parent driver, before the
// others.
type call struct {
	args      []driver.NamedValue
	options   []driver.NamedValue
	wantsRows bool // it is Query, and not Exec
}

// callWith returns the call with other arguments, and no options.
func callWith(r *Run, args []driver.NamedValue) call {
	return call{args: args, wantsRows: r.call.wantsRows}
}

// clone returns the execution for another goroutine, which may outlive the call: the caller may
// then change the arguments.
func (r *Run) clone() *Run {
	cp := *r
	cp.call.args = slices.Clone(r.call.args)
	for i := range cp.call.args {
		cp.call.args[i].Value, _ = argument.Kept(cp.call.args[i].Value)
	}
	return &cp
}

// args returns the arguments of the execution.
func (r *Run) args() argument.List {
	return argument.List{Args: r.call.args, Values: r.Plan.Values, SendsUnsigned: r.conn.Shared.Traits.UnsignedByProtocol}
}

// binding gives values to those arguments of a statement that are not the application's: the number of a slot, what a group adds.
type binding interface {
	// bound returns what an argument is bound to; false for one of the application's.
	bound(a rewrite.Arg) (any, bool)
}

// bind makes the argument list of one of the plan's own statements. Own is nil if all of its arguments are the application's.
func (r *Run) bind(list []rewrite.Arg, own binding) ([]driver.NamedValue, error) {
	out, args := make([]driver.NamedValue, len(list)), r.args()
	for i, a := range list {
		out[i].Ordinal = i + 1
		if own != nil {
			if v, ok := own.bound(a); ok {
				out[i].Value = v
				continue
			}
		}
		v, ok := args.Value(a)
		if !ok {
			return nil, fmt.Errorf("%w: %s", errNoArgument, placeholderName(a))
		}
		if out[i].Value = v.Value; a.Negate || a.Plus != nil {
			out[i].Value = args.Changed(a, v.Value)
		}
	}
	return out, nil
}

var errNoArgument = errors.New("slotsql: an argument of the statement is missing")

func placeholderName(a rewrite.Arg) string {
	if a.Name != "" {
		return a.Name
	}
	return fmt.Sprint(a.Index + 1)
}

// sender sends the SQL of a plan to the parent: as it is, or through statements prepared for it.
type sender interface {
	execSQL(ctx context.Context, p *rewrite.Plan, c call) (driver.Result, error)
	querySQL(ctx context.Context, p *rewrite.Plan, c call) (driver.Rows, error)
	// execBound runs one of slotsql's own statements, b of the plan.
	execBound(ctx context.Context, b *rewrite.Bound, sql string, args []driver.NamedValue) (driver.Result, error)
	// queryObserved runs the plan's Observed.
	queryObserved(ctx context.Context, p *plan, c call) (driver.Rows, error)
	// queryBound does so for one whose rows are the application's.
	queryBound(ctx context.Context, b *rewrite.Bound, sql string, args []driver.NamedValue) (driver.Rows, error)
}

// direct is the sender of db.Exec and db.Query.
type direct struct{ conn *Conn }

func (t direct) execSQL(ctx context.Context, p *rewrite.Plan, c call) (driver.Result, error) {
	if len(c.options) > 0 {
		return t.conn.ParentExec(ctx, p.SQL, link.JoinArgs(c.options, c.args))
	}
	slow := t.conn.Shared.Traits.SlowParse
	if (slow || t.conn.PreparesArgs) && ((p.Increment != nil || p.Group != nil) && (slow || len(c.args) > 0) ||
		(p.Drain.Proof != nil || len(p.Base.Changes) > 0) && t.keeps(c.args)) {
		return t.execBound(ctx, nil, p.SQL, c.args)
	}
	return t.conn.ParentExec(ctx, p.SQL, c.args)
}

func (t direct) querySQL(ctx context.Context, p *rewrite.Plan, c call) (driver.Rows, error) {
	// A parent that executes it late would return the columns of when it was prepared.
	if p.Class == rewrite.Read && t.conn.Shared.Traits.SlowParse && !t.conn.Shared.Traits.LateErrors {
		if rows, err := t.conn.Kept.Query(ctx, &t.conn.Conn, p, p.SQL, c.args); rows != nil || err != nil {
			return rows, err
		}
	}
	if (p.Drain.Proof != nil || p.Class == rewrite.Read) && len(c.options) == 0 && t.keeps(c.args) {
		return t.queryUnpreparedOrKept(ctx, p.SQL, c.args)
	}
	if p.Class == rewrite.Read {
		return t.conn.ParentQuery(ctx, p.SQL, link.JoinArgs(c.options, c.args))
	}
	return link.QueryChanging(ctx, &t.conn.Conn, p.SQL, link.JoinArgs(c.options, c.args))
}

// keeps reports whether a statement (a read of totals, one of a drain, or one that drains a single
// row) is kept prepared. Otherwise the parent would prepare it for its arguments each time.
func (t direct) keeps(args []driver.NamedValue) bool {
	return len(args) > 0 && t.conn.PreparesArgs && !t.conn.Cluster
}

func (t direct) queryBound(ctx context.Context, _ *rewrite.Bound, sql string, args []driver.NamedValue) (driver.Rows, error) {
	if t.keeps(args) {
		return t.queryUnpreparedOrKept(ctx, sql, args)
	}
	return link.QueryChanging(ctx, &t.conn.Conn, sql, args)
}

// queryUnpreparedOrKept runs a query that is kept prepared, unless the parent can send it with its
// arguments unprepared: the values then have other types.
func (t direct) queryUnpreparedOrKept(ctx context.Context, sql string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := t.conn.QueryUnprepared(ctx, sql, args)
	if err != driver.ErrSkip {
		return rows, err
	}
	return t.queryKept(ctx, sql, args)
}

// sendKept runs one of slotsql's statements whose answer is the application's.
func (t direct) sendKept(ctx context.Context, sql string, c call) (a answer, err error) {
	if c.wantsRows {
		a.rows, err = t.queryKept(ctx, sql, c.args)
	} else {
		a.result, err = t.execBound(ctx, nil, sql, c.args)
	}
	return a, err
}

// execBound implements sender. It also runs those of the application's statements that are kept prepared.
func (t direct) execBound(ctx context.Context, _ *rewrite.Bound, sql string, args []driver.NamedValue) (driver.Result, error) {
	if t.conn.PreparesArgs || t.conn.Shared.Traits.SlowParse {
		st, err := t.conn.Kept.Get(ctx, &t.conn.Conn, sql, sql)
		if err != nil {
			return nil, err
		}
		if st != nil && link.CheckArgCount(st, args) == nil {
			if args, err = link.ConvertArgs(st, args); err != nil {
				return nil, err
			}
			return link.StmtExec(ctx, st, args)
		} // else the parent reports the wrong number of arguments
	}
	return t.conn.ParentExec(ctx, sql, args)
}

// queryKept is execBound for a statement that returns rows.
func (t direct) queryKept(ctx context.Context, sql string, args []driver.NamedValue) (driver.Rows, error) {
	if t.conn.PreparesArgs || t.conn.Shared.Traits.SlowParse {
		if rows, err := t.conn.Kept.Query(ctx, &t.conn.Conn, sql, sql, args); rows != nil || err != nil {
			return rows, err
		}
	}
	return link.QueryChanging(ctx, &t.conn.Conn, sql, args)
}

// send runs the plan's SQL.
func (r *Run) send(ctx context.Context) (a answer, err error) {
	c := r.call
	if r.Plan.Read.Args != nil {
		if c, err = r.sqlCall(); err != nil {
			return answer{}, err
		}
	}
	if c.wantsRows {
		a.rows, err = r.sender.querySQL(ctx, r.Plan.Plan, c)
	} else {
		a.result, err = r.sender.execSQL(ctx, r.Plan.Plan, c)
	}
	return a, err
}

// sendCounted is send for a statement after which others may follow before the application has its
// answer, so rows are read at once. It returns how many rows were affected, or returned.
func (r *Run) sendCounted(ctx context.Context) (answer, int64, error) {
	a, err := r.send(ctx)
	if err != nil {
		return answer{}, 0, err
	}
	return a.counted()
}

// counted reads the rows of an answer, if it has any, and returns how many they are, or else how
// many rows have been affected.
func (a answer) counted() (answer, int64, error) {
	if a.rows == nil {
		n, err := a.result.RowsAffected()
		if err != nil {
			err = link.Settled(err)
		}
		return a, n, err
	}
	b, err := readBuffered(a.rows)
	return answer{rows: b}, int64(len(b.rows)), err
}

// sql returns the SQL of one of the plan's statements for this execution.
func (r *Run) sql(b *rewrite.Bound) string { return b.SQL.Of(r.Plan.Values) }

// execBound runs one of the plan's statements, and returns the number of rows affected.
func (r *Run) execBound(ctx context.Context, b *rewrite.Bound, own binding) (driver.Result, int64, error) {
	args, err := r.bind(b.Args, own)
	if err != nil {
		return nil, 0, err
	}
	res, err := r.sender.execBound(ctx, b, b.SQL.Of(r.Plan.Values), args)
	if err != nil {
		return nil, 0, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		err = link.Settled(err)
	}
	return res, n, err
}

// sqlCall returns the call with the arguments of the plan's SQL.
func (r *Run) sqlCall() (call, error) {
	if r.Plan.Read.Args == nil {
		return r.call, nil
	}
	args, err := r.bind(r.Plan.Read.Args, nil)
	if errors.Is(err, errNoArgument) {
		return r.call, nil // the parent reports what is missing
	}
	if extra := r.Plan.Inputs; extra < len(r.call.args) {
		args = append(args, r.call.args[extra:]...)
		for i := range args {
			args[i].Ordinal = i + 1
		}
	}
	c := r.call
	c.args = args
	return c, err
}

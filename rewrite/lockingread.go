package rewrite

import (
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file writes the form of a locking read that is its own drain's lock.

// A LockingDialect is a Dialect whose drains look for slots once the lock statement has
// returned, and whose SELECT ... FOR UPDATE of a row takes the same lock as that statement.
type LockingDialect interface {
	// LockColumns are what Lock returns of a row of the scope, which selects one.
	LockColumns(t *schema.Table, scope Scope) []string
}

// A LockingRead is a query that locks the one row that its WHERE fixes, with the columns that the
// lock of its drain returns behind its own. Its arguments are those of the original.
//
// If it returns the row, the row is locked as the drain would have locked it. If the row has no slots
// after that, what the query has read are totals. Otherwise the query has to run again after a fold, so it
// is one that may run twice. If it returns no row, nothing is known: counters may decide that.
type LockingRead struct {
	SQL     SQL
	Columns int // behind its own
}

// lockingRead returns the form of a query that locks the row that its WHERE fixes; nil where there
// is none.
func (dr *drainer) lockingRead(st *ast.Statement, sc *names.Scope, where *ast.Expr, rows *rowset) *LockingRead {
	d, ok := dr.d.(LockingDialect)
	if !ok || rows == nil || !rows.single || where == nil || st.Kind != ast.KindSelect || st.Opaque != "" || len(st.With) > 0 ||
		dr.src.large || dr.volatility.reason(sc, where) != "" {
		return nil
	}
	q, t := st.Select, rows.binding.Table
	if !q.Lock || dr.src.hasWord("SHARE") || q.Into || q.Table || q.Distinct || len(q.With)+len(q.Windows)+len(q.GroupBy) > 0 || q.Having != nil ||
		len(q.Items) == 0 || len(t.Counter.Key) == 0 || t.IsView || t.Storage.NoTransactions != "" {
		return nil
	}
	list := slices.Concat(q.OrderBy, q.Limit)
	for _, it := range q.Items {
		list = append(list, it.Expr)
	}
	if ast.HasQuery(where) || slices.ContainsFunc(list, func(e *ast.Expr) bool { return !plainValue(e) }) {
		return nil
	}
	var tp template
	columns := d.LockColumns(t, Scope{
		Ref: dr.names.BaseRef(t, rows.binding), Qualifier: dr.names.Qualifier(rows.binding), Where: tp.mark(rows.where),
	})
	if len(columns) == 0 {
		return nil
	}
	added := ""
	for i, c := range columns {
		added += fmt.Sprintf(", %s AS slotsql_%d", c, i+1)
	}
	end := q.Items[len(q.Items)-1].End
	return &LockingRead{SQL: Whole(dr.src.apply([]edit{{ast.At(end), added}})), Columns: len(columns)}
}

// locksOnly reports whether a statement with a query that locks rows of counter tables reads none of their counters, in a
// dialect where what it returns, which rows it waits for and which it skips then have nothing to do with slots. The rows
// count as changed by the transaction: before that reads their counters they are drained, so the increments of others until
// then come before the lock. (On MySQL the drain of a changed row is a fold without a lock, for which a shared one
// would not do.)
//
// With bounds or tickets a transaction that has the row is served by the row alone, from the lock on.
func (r *reader) locksOnly() bool {
	if tr := r.p.d.Traits(); tr.OneWriter || tr.ChangeExcludes && r.p.src.hasWord("SHARE") || r.found.counter || len(r.edits) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.p.mentions.tables(), func(t *schema.Table) bool {
		return r.readsBase(t) || len(t.Counter.Bounds) > 0 || t.IsView
	})
}

// lockedRows is the plan of such a query.
func (dr *drainer) lockedRows(st *ast.Statement, tables []*schema.Table) *Plan {
	plan := &Plan{Class: PassThrough}
	plan.Base.Changes = dr.drainSelect(st, tables, "").Drain.Tables
	return plan
}

// plainValue reports whether an expression is made of columns and constants by operators.
func plainValue(e *ast.Expr) bool {
	ok := e != nil
	e.Walk(func(x *ast.Expr) bool {
		switch x.Kind {
		case ast.ColumnRef, ast.Star, ast.Number, ast.String, ast.Null, ast.Param, ast.Paren:
		case ast.Binary, ast.Unary:
			// Others may assign to variables.
			switch x.Op {
			case "+", "-", "*", "AND", "OR", "NOT", "=", "<", ">", "<=", ">=", "<>", "!=":
			default:
				ok = false
			}
		default:
			ok = false
		}
		return ok
	})
	return ok
}

package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans a statement that would drain all rows of a table for the case that the table has no slots,
// as nearly every table has none at nearly every moment. Then every base value is a total, and the statement runs as the
// application wrote it, and locks what plain locks.

// Asleep is how a statement runs that drains all rows of its tables, if these have no slots.
type Asleep struct {
	// Before runs first, in the same transaction: locks, and the last one returns a row if there are slots, with the
	// session's isolation level if that matters, or fails (Engine.Refuted).
	Before []Bound
	// Checked is the statement with a condition that fails if its own snapshot shows a slot, and Check a query that fails if
	// there are slots: it runs before and after the statement. Nothing else is locked, and where one of them fails all is
	// undone. The zero value where the statement has no such form: then Before keeps slots from being created.
	Checked Bound
	Check   *Bound
	// After asks without locks, once the statement has run, whether its one table has slots. It is for sessions at whose isolation level
	// Before keeps none from being created; nil where the statement has no such form. If it Deletes rows, their slots are gone for
	// its own session, so that another one has to be asked.
	After   *Bound
	Deletes bool
}

// A SleepingDialect is a Dialect of an engine that can tell within a statement's transaction that tables have no slots.
type SleepingDialect interface {
	// Asleep writes the parts of an Asleep. Keep is Before. Failing is a value of type boolean that is TRUE, and fails
	// if there are slots; "" where the engine's statements have no snapshot of their own. Deletes: the statement may delete rows.
	Asleep(tables []*schema.Table, deletes bool) (keep []string, failing string)
	// Awake writes a query that returns a row if there are slots, or if there may be some that it does not show. Locks: it keeps
	// slots from being created where the statement's own locks do not.
	Awake(t *schema.Table, locks bool) string
}

// asleep returns how a statement runs if its tables have no slots; st is nil if it is not parsed. It returns nil if the statement
// drains no table as a whole, and the session's user may drain some of its rows, or if it may do more than read and change rows.
func (dr *drainer) asleep(plan *Plan, st *ast.Statement) *Asleep {
	d, ok := dr.d.(SleepingDialect)
	ungranted := slices.ContainsFunc(plan.Drain.Tables, func(t DrainTable) bool { return len(t.Table.Counter.Rights.Ungranted) > 0 })
	if scope := plan.DrainScope(); !ok || scope == "" || scope != ScopeAll && !ungranted || plan.Effects&(SchemaChange|TxControl) != 0 || dr.src.bad ||
		len(plan.Drain.Before)+len(plan.Drain.After) > 0 || plan.Drain.OutsideTx || plan.Drain.FoldOptional || plan.Drain.InsideTx {
		return nil
	}
	switch dr.src.firstWord() {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "MERGE", "VALUES", "TABLE", "EXPLAIN":
	default:
		return nil
	}
	var tables []*schema.Table
	for i := range plan.Drain.Tables {
		t := plan.Drain.Tables[i].Table
		// The slots of a table of the empty key are those of its one row. A row that is inserted must not come beside an increment that
		// has counted the rows and not made its slot yet; the drain's lock of the one row keeps them apart.
		if t.IsView || t.Storage.NoTransactions != "" || len(t.Counter.Key) == 0 {
			return nil
		}
		tables = append(tables, t)
	}
	out := &Asleep{Deletes: st == nil || st.Opaque != "" || deletes(st)}
	keep, failing := d.Asleep(tables, out.Deletes)
	where := dr.checkable(st, tables)
	if where != nil && failing != "" {
		out.Checked.SQL.same = dr.src.apply([]edit{
			{ast.At(where.Start), "("}, {ast.At(where.End), ") AND " + failing},
		})
		out.Check = &Bound{SQL: Whole("SELECT " + failing)}
		return out
	}
	if len(keep) == 0 {
		return nil
	}
	for _, sql := range keep {
		out.Before = append(out.Before, Bound{SQL: Whole(sql)})
	}
	if where != nil && len(tables) == 1 && onlySource(st) {
		out.After = &Bound{SQL: Whole(d.Awake(tables[0], false))}
	}
	return out
}

// onlySource reports whether a statement reads nothing but the rows of one table, each as it is when the statement comes to it.
func onlySource(st *ast.Statement) bool {
	sources, queries := 0, 0
	v := ast.Visitor{
		Source:    func(*ast.Source) { sources++ },
		Statement: func(*ast.Statement) { queries++ },
	}
	v.Walk(st)
	return sources == 1 && queries == 1
}

// checkable returns the condition of a statement that may be run and undone, and in which whatever reads a counter reads it
// in the statement's snapshot, or locks its row against new slots; nil for any other.
func (dr *drainer) checkable(st *ast.Statement, tables []*schema.Table) *ast.Expr {
	if st == nil || st.Opaque != "" || st.Replace || dr.src.exec || dr.src.large || dr.src.hasWord("SHARE") || !dr.volatility.calm(st) {
		return nil
	}
	for _, t := range tables {
		tr := t.Triggers
		if t.Counter.Layout == schema.LayoutJournal || tr.Ruled || tr.UpdateRule || tr.Update || tr.Delete || tr.Insert {
			return nil
		}
	}
	switch st.Kind {
	case ast.KindUpdate, ast.KindDelete:
		if st.Target != nil && dr.names.LookupCounter(st.Target.Name) != nil {
			return st.Where
		}
	case ast.KindSelect:
		if q := st.Select; q != nil && len(q.Operands) == 0 && !q.Into && !q.Table {
			return q.Where
		}
	}
	return nil
}

// deletes reports whether a statement deletes rows, or one of its WITH queries does.
func deletes(st *ast.Statement) (found bool) {
	v := ast.Visitor{Statement: func(s *ast.Statement) { found = found || s.Kind == ast.KindDelete }}
	v.Walk(st)
	return found
}

// calm reports whether a statement calls only functions that have no side effects and read no tables, and inserts nothing.
func (vl volatility) calm(st *ast.Statement) bool {
	known, calm := stable(vl.consts.d), true
	v := ast.Visitor{
		Expr: func(e *ast.Expr) {
			if e.Kind == ast.Call {
				calm = calm && known.Functions[e.Op]
			} else if e.Kind == ast.Binary || e.Kind == ast.Unary || e.Kind == ast.Opaque {
				calm = calm && vl.volatileForm(known, e) == ""
			}
		},
		Statement: func(s *ast.Statement) {
			calm = calm && (s.Kind == ast.KindSelect || s.Kind == ast.KindUpdate || s.Kind == ast.KindDelete)
		},
		Source: func(s *ast.Source) { calm = calm && s.Func == nil },
	}
	v.Walk(st)
	return calm
}

// repeats reports whether a statement that drains reads or changes rows and does nothing
// that a savepoint does not undo.
func (dr *drainer) repeats(plan *Plan) bool {
	if plan.Effects&(SchemaChange|TxControl) != 0 || len(plan.Drain.Before)+len(plan.Drain.After) > 0 || plan.Drain.OutsideTx {
		return false
	}
	switch dr.src.firstWord() {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH":
		return !dr.src.hasWord("OUTFILE") && !dr.src.hasWord("DUMPFILE")
	}
	return false
}

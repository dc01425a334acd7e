package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file writes the form of a drain's statement that needs no drain, because it proves
// that there is nothing to fold.

// A Proof is a drain's statement with a condition by which it touches its row only where
// that has no slots, and none can be inserted before the statement is committed. Then base
// values are totals, and it has done what it would have done after a drain. Its arguments
// are those of the original.
//
// Where the condition does not hold the statement has left everything as it was, and the
// drain follows: the statement has failed, with an error that the dialect knows
// (Lock is nil), or it has touched no row, and Refuted has returned one.
type Proof struct {
	Bound
	// Lock runs before it, and Refuted between the two, in one transaction, and their
	// arguments are those of the original; nil where the statement does without.
	Lock, Refuted *Bound
	// Confirm is a query that fails unless the original statement, which ran before it in the same transaction,
	// has changed the row, and the row has no slots. The two are another form of the statement, which needs neither Lock nor
	// Refuted. Confirm is nil if the statement has no such form. Its arguments are those of the original.
	// If either fails, both are rolled back. For an upsert it is all that the Proof has on engines that confirm.
	Confirm *Bound
	// ConfirmRead is for a locking read what Confirm is for an UPDATE: a query that returns a row if the one that the original statement
	// has returned has no slots. It does not fail, since there is nothing to undo.
	ConfirmRead *Bound
}

// A ProvingDialect is a Dialect of an engine that can tell, in a statement of one row,
// whether the row has slots.
type ProvingDialect interface {
	// Proof writes what a Proof is made of; the zero value where the table has none.
	// Scope selects the row.
	Proof(t *schema.Table, scope Scope) ProofSQL
}

// ProofSQL is what a dialect writes of a Proof.
type ProofSQL struct {
	// Holds is a predicate over the row.
	Holds string
	// "" where Holds raises an error
	Lock, Refuted string
	// Asked returns a row if the row may have slots, once the session has changed it: 1 if it has some. "" for none.
	Asked                string
	Confirm, ConfirmRead string // "" for none
}

// proof returns the form of a statement that drains the row that its WHERE fixes; nil
// where there is none.
func (dr *drainer) proof(st *ast.Statement, sc *names.Scope, where *ast.Expr, rows *rowset) *Proof {
	d, ok := dr.d.(ProvingDialect)
	if !ok || rows == nil || !rows.single || !dr.provable(st, sc, where) {
		return nil
	}
	t := rows.binding.Table
	if len(t.Counter.Key) == 0 || t.Triggers.Ruled || t.Triggers.UpdateRule || t.IsView || t.Storage.NoTransactions != "" {
		return nil
	}
	var tp template
	sql := d.Proof(t, Scope{
		Ref: dr.names.BaseRef(t, rows.binding), Qualifier: dr.names.Qualifier(rows.binding), Where: tp.mark(rows.where), Removes: rows.removes,
	})
	if sql.Holds == "" {
		return nil
	}
	if sql.Lock != "" && (t.Triggers.Update || st.Kind == ast.KindDelete) {
		return nil // triggers of a statement fire where it touches no row, too
	}
	if sql.Lock == "" && slices.ContainsFunc(resultItems(st), dr.consts.namedByPlaceholder) {
		return nil
	}
	out := &Proof{}
	if sql.Lock != "" {
		out.SQL.same = dr.src.apply(dr.proved(sc, where, rows.binding, sql.Holds))
	} else {
		out.Bound = dr.proving(&tp, where, rows, sql.Holds)
	}
	if sql.Confirm != "" && !dr.undone(st, sc, rows) {
		sql.Confirm = ""
	}
	if sql.ConfirmRead != "" && !dr.rereads(st, sc, rows) {
		sql.ConfirmRead = ""
	}
	out.Lock, out.Refuted = tp.bound(dr.d, sql.Lock), tp.bound(dr.d, sql.Refuted)
	out.Confirm, out.ConfirmRead = tp.bound(dr.d, sql.Confirm), tp.bound(dr.d, sql.ConfirmRead)
	return out
}

// proved adds the condition to a statement's predicate. The engine may evaluate it last. So if the predicate names
// counters, anything in it that may fail for a base value is made to depend on the condition.
func (dr *drainer) proved(sc *names.Scope, where *ast.Expr, b *names.Binding, holds string) []edit {
	edits := []edit{{ast.At(where.Start), "("}}
	asked := dr.names.NamesSlotted(sc, b, where)
	for _, c := range ast.Conjuncts(where, nil) {
		if asked && !cannotFail(c) {
			edits = append(edits, edit{ast.At(c.Start), "CASE WHEN " + holds + " THEN ("}, edit{ast.At(c.End), ") END"})
		}
	}
	return append(edits, edit{ast.At(where.End), ") AND " + holds})
}

// proving writes a statement whose condition fails where it does not hold. It has to be
// asked before anything that the statement asks of its row, such as whether a counter is
// large enough, but for the key, by which the engine finds the row.
func (dr *drainer) proving(tp *template, where *ast.Expr, rows *rowset, holds string) Bound {
	before, after := dr.src.cut(ast.Span{Start: 0, End: where.Start}), dr.src.cut(ast.Span{Start: where.End, End: len(dr.src.sql)})
	asked := tp.mark(rows.where) + " AND " + holds
	if !rows.only {
		asked = tp.mark(rows.where) + " AND CASE WHEN " + holds + " THEN (" + tp.mark(dr.src.cut(where.Span)) + ") END"
	}
	return tp.expand(dr.d, tp.mark(before)+asked+tp.mark(after))
}

// undone reports whether a statement is an UPDATE that a rollback undoes entirely, and that leaves its row where the
// key finds it.
func (dr *drainer) undone(st *ast.Statement, sc *names.Scope, rows *rowset) bool {
	if st.Kind != ast.KindUpdate {
		return false
	}
	t := rows.binding.Table
	for _, a := range st.Set {
		column := dr.names.TargetColumn(sc, rows.binding, a.Column)
		keyed := slices.Contains(rows.key.Columns, column) || slices.Contains(t.Counter.Key, column)
		if keyed || a.Value == nil || dr.volatility.reason(sc, a.Value) != "" {
			return false
		}
	}
	return !slices.ContainsFunc(st.Returning, func(it ast.Item) bool { return it.Expr == nil || dr.volatility.reason(sc, it.Expr) != "" })
}

// rereads reports whether a statement is a query that locks its row as a drain does, and that neither fails for base values
// nor does anything but return them.
func (dr *drainer) rereads(st *ast.Statement, sc *names.Scope, rows *rowset) bool {
	if st.Kind != ast.KindSelect || dr.src.hasWord("SHARE") {
		return false
	}
	list := ast.Conjuncts(st.Select.Where, nil)
	for _, it := range st.Select.Items {
		if it.Expr == nil || dr.volatility.reason(sc, it.Expr) != "" {
			return false
		}
		list = append(list, it.Expr)
	}
	return !slices.ContainsFunc(list, func(e *ast.Expr) bool {
		return e.Kind != ast.Star && dr.names.NamesSlotted(sc, rows.binding, e) && !cannotFail(e)
	})
}

// resultItems returns the items that a statement's result has.
func resultItems(st *ast.Statement) []ast.Item {
	if st.Kind == ast.KindSelect {
		return st.Select.Items
	}
	return st.Returning
}

// provable reports whether a statement that touches no row may run once more: all that
// is evaluated before a row is touched gives a value and does nothing else.
func (dr *drainer) provable(st *ast.Statement, sc *names.Scope, where *ast.Expr) bool {
	if where == nil || st.Opaque != "" || st.Replace || len(st.With) > 0 || dr.src.large || dr.src.hasWord("IGNORE") {
		return false // MySQL makes warnings of errors where IGNORE is written
	}
	list := []*ast.Expr{where}
	switch st.Kind {
	case ast.KindUpdate, ast.KindDelete:
		if st.Target == nil || len(st.From) > 0 || len(st.Limit) > 0 || len(st.OrderBy) > 0 {
			return false
		}
		for _, a := range st.Set {
			list = append(list, ast.Subqueries(a.Value)...)
		}
		for _, it := range st.Returning {
			list = append(list, ast.Subqueries(it.Expr)...)
		}
	case ast.KindSelect:
		q := st.Select
		if !q.Lock || q.Into || len(q.With) > 0 || len(q.Limit) > 0 || len(q.GroupBy) > 0 || q.Having != nil {
			return false
		}
		for _, it := range q.Items {
			list = append(list, ast.Subqueries(it.Expr)...)
		}
	default:
		return false
	}
	for _, e := range list {
		if dr.volatility.reason(sc, e) != "" {
			return false
		}
	}
	return true
}

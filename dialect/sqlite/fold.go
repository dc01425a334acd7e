package sqlite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ConservingDialect = (*Dialect)(nil)

// Lock writes nothing: an UPDATE takes SQLite's only write lock before it
// looks for rows, whether or not it finds any, and the first statement of Fold
// is one.
func (*Dialect) Lock(*schema.Table, rewrite.Scope) []string { return nil }

// Versions returns nothing: a transaction that has a snapshot cannot change a row that is newer.
func (*Dialect) Versions(*schema.Table, rewrite.Scope) *rewrite.VersionSQL { return nil }

// Fold moves the slots of the selected base rows into these rows. The rows are
// found by key through a subquery over the application's own reference, which
// may be written in a way that UPDATE does not take (`posts p`). Slots without
// a base row stay, except where the scope is every row.
func (*Dialect) Fold(t *schema.Table, scope rewrite.Scope) []string {
	guard := ""
	if whole := t.Counter.SlotTable.Whole(slotTable(t), ""); whole != "" {
		guard = "NOT " + whole + " AND "
	}
	remove := "DELETE FROM " + slotTable(t)
	if where := removed(t, scope); where != "" {
		remove += " WHERE " + where
	}
	return []string{
		"UPDATE " + baseTable(t) + " AS " + baseAlias + " SET " + foldSet(t, baseAlias, slotsOf(t, baseAlias, t.Counter.Counters...)) +
			" WHERE " + guard + filled(t, scope),
		remove,
	}
}

// filled reports whether a base row of the scope has something to take.
func filled(t *schema.Table, scope rewrite.Scope) string {
	key := t.Counter.Key
	if len(key) == 0 {
		exists := "EXISTS (SELECT 1 FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + nonZero(t, slotAlias) + ")"
		if scope.Where != "" {
			exists += " AND " + removed(t, scope)
		}
		return exists
	}
	own := schema.Tuple(columns(baseAlias, key...))
	if scope.Where == "" {
		return own + " IN (SELECT " + list(columns(slotAlias, t.Counter.SlotKey()...)) + " FROM " + slotTable(t) + " AS " + slotAlias +
			" WHERE " + and(t.Counter.OfTable(quote, slotAlias+"."), nonZero(t, slotAlias)) + ")"
	}
	return own + " IN " + selected(t, scope) + " AND EXISTS (SELECT 1 " + slotsOf(t, baseAlias, t.Counter.Counters...) + " AND (" +
		nonZero(t, slotAlias) + "))"
}

// removed reports whether a slot row is of the scope; "" for all.
func removed(t *schema.Table, scope rewrite.Scope) string {
	of := t.Counter.OfTable(quote, "")
	switch {
	case scope.Where == "":
		return of
	case len(t.Counter.Key) == 0:
		return "EXISTS (SELECT 1 FROM " + scope.Ref + " WHERE (" + scope.Where + "))"
	}
	return and(of, schema.Tuple(columns("", t.Counter.SlotKey()...))+" IN "+selected(t, scope))
}

// selected is a query of the scope's keys.
func selected(t *schema.Table, scope rewrite.Scope) string {
	return "(SELECT " + list(columns(scope.Qualifier, t.Counter.Key...)) + " FROM " + scope.Ref + " WHERE (" + scope.Where + "))"
}

// Unmoved counts: an UPDATE stores what it says or, where a trigger ignores it, leaves
// the row out of changes(). No other connection writes in between.
func (*Dialect) Unmoved(t *schema.Table, scope rewrite.Scope) string {
	return unmoved(t, filled(t, scope))
}

// unmoved asks, right after the UPDATE of the base rows of a condition, whether it has
// changed them all.
func unmoved(t *schema.Table, where string) string {
	return "SELECT 'a trigger keeps the base row from being updated: RAISE(IGNORE). Drop it, or leave the table out of the configuration'" +
		" WHERE changes() <> (SELECT COUNT(*) FROM " + baseTable(t) + " AS " + baseAlias + " WHERE " + where + ")"
}

// foldSet writes the assignments that add the slots to every counter. A counter
// whose slots sum to zero keeps its value as it is, TEXT too. Base is the name that
// the UPDATE has for the base table.
func foldSet(t *schema.Table, base, slots string) string {
	var set []string
	for _, c := range t.Counter.Counters {
		name := quote(c)
		set = append(
			set,
			name+" = COALESCE("+name+" + NULLIF((SELECT SUM("+t.Counter.Held(quote, slotAlias+".", c)+") "+slots+"), 0), "+name+")",
		)
	}
	for i := range t.Counter.Companions {
		co := &t.Counter.Companions[i]
		set = append(set, quote(co.Column)+" = "+merged(t, co, base))
	}
	return strings.Join(set, ", ")
}

// Count returns nothing: there is one writer.
func (*Dialect) Count(*schema.Table, rewrite.Scope) string { return "" }

package sqlite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// Lock writes nothing: an UPDATE takes SQLite's only write lock before it
// looks for rows, whether or not it finds any, and the first statement of Fold
// is one.
func (*Dialect) Lock(*rewrite.Table, rewrite.Scope) []string { return nil }

// Versions: a transaction that has a snapshot cannot change a row that is newer.
func (*Dialect) Versions(*rewrite.Table, rewrite.Scope) *rewrite.VersionTexts { return nil }

// Fold moves the slots of the selected base rows into these rows. The rows are
// found by key through a subquery over the application's own reference, which
// may be written in a way that UPDATE does not take (`posts p`). Slots without
// a base row stay, except where the scope is every row.
func (*Dialect) Fold(t *rewrite.Table, scope rewrite.Scope) []string {
	key := t.Counter.Key
	update := "UPDATE " + baseTable(t) + " AS " + baseAlias + " SET " + foldSet(t, slotsOf(t, baseAlias, t.Counter.Counters...)) + " WHERE "
	remove := "DELETE FROM " + slotTable(t)
	if whole := t.Counter.Whole(slotTable(t), ""); whole != "" {
		update += "NOT " + whole + " AND "
	}

	if len(key) == 0 {
		exists := "EXISTS (SELECT 1 FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + nonZero(t, slotAlias) + ")"
		if scope.Where == "" {
			return []string{update + exists, remove}
		}
		selected := "EXISTS (SELECT 1 FROM " + scope.Ref + " WHERE (" + scope.Where + "))"
		return []string{update + exists + " AND " + selected, remove + " WHERE " + selected}
	}

	of := t.Counter.OfTable(quote, slotAlias+".")
	own := tuple(columns(baseAlias, key...))
	if scope.Where == "" {
		touched := "SELECT " + list(columns(slotAlias, t.Counter.SlotKey()...)) + " FROM " + slotTable(t) + " AS " + slotAlias +
			" WHERE " + and(of, nonZero(t, slotAlias))
		if of != "" {
			remove += " WHERE " + t.Counter.OfTable(quote, "")
		}
		return []string{update + own + " IN (" + touched + ")", remove}
	}
	selected := "(SELECT " + list(columns(scope.Qualifier, key...)) + " FROM " + scope.Ref + " WHERE (" + scope.Where + "))"
	return []string{
		update + own + " IN " + selected +
			" AND EXISTS (SELECT 1 " + slotsOf(t, baseAlias, t.Counter.Counters...) + " AND (" + nonZero(t, slotAlias) + "))",
		remove + " WHERE " + and(t.Counter.OfTable(quote, ""), tuple(columns("", t.Counter.SlotKey()...))+" IN "+selected),
	}
}

// foldSet writes the assignments that add the slots to every counter. A counter
// whose slots sum to zero keeps its value as it is, TEXT too.
func foldSet(t *rewrite.Table, slots string) string {
	var set []string
	for _, c := range t.Counter.Counters {
		name := quote(c)
		set = append(set, name+" = COALESCE("+name+" + NULLIF((SELECT SUM("+t.Counter.Held(quote, slotAlias+".", c)+") "+slots+"), 0), "+name+")")
	}
	for i := range t.Counter.Companions {
		co := &t.Counter.Companions[i]
		set = append(set, quote(co.Column)+" = "+merged(t, co, baseAlias))
	}
	return strings.Join(set, ", ")
}

// Count: there is one writer.
func (*Dialect) Count(*rewrite.Table, rewrite.Scope) string { return "" }

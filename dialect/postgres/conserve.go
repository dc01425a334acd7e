package postgres

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// A statement that moves slots deletes them and updates base rows at once, and fails
// by itself unless each row has taken the sum of its slots. Row security may hide the
// row, a BEFORE trigger may return NULL or store another value, a type that has changed
// may round. (What a trigger that fires after the update does is the application's own
// business, like any other statement of it.)
//
// slotsql_o is each row as it is before the update: locked, so that at READ COMMITTED
// it is the version that the update meets, no matter which transaction has changed it since the statement's
// snapshot. slotsql_u is what the update has stored. Both are compared with slotsql_t,
// what the slots held, and a difference is cast to a number that it is not: the server
// has no other way to fail in the middle of a query.

// before writes slotsql_o for the rows of slotsql_t of a condition.
func before(t *schema.Table, some string) string {
	var list []string
	for _, c := range append(append([]string{}, t.Counter.Key...), t.Counter.Counters...) {
		list = append(list, baseAlias+"."+quote(c))
	}
	where := ""
	if len(t.Counter.Key) > 0 {
		where = " WHERE (" + keyList(t, baseAlias+".") + ") IN (SELECT " + keyList(t, "slotsql_t.") + " FROM slotsql_t WHERE " + some + ")"
	}
	return "slotsql_o AS (SELECT " + strings.Join(list, ", ") + " FROM " + qualified(t.Schema, t.Name) + " AS " + baseAlias +
		where + " FOR NO KEY UPDATE)"
}

// matched reports whether slotsql_t, slotsql_o and the base row are of one key.
func matched(t *schema.Table) string {
	if len(t.Counter.Key) == 0 {
		return "TRUE"
	}
	return keyEquals(t, baseAlias, "slotsql_t") + " AND " + keyEquals(t, baseAlias, "slotsql_o")
}

// taken is for RETURNING: whether the base row has what it had and the slots' sums. A
// NULL stays NULL, whatever is added to it. Where the empty key has more than one row,
// which of them is to take what is not defined.
func taken(t *schema.Table) string {
	var parts []string
	for _, name := range t.Counter.Counters {
		c := quote(name)
		parts = append(parts, baseAlias+"."+c+" IS NOT DISTINCT FROM slotsql_o."+c+" + COALESCE(slotsql_t."+c+", 0)")
	}
	all := strings.Join(parts, " AND ")
	if len(t.Counter.Key) == 0 {
		all = "(" + all + " OR NOT " + oneRow(t) + ")"
	}
	return all + " AS slotsql_in"
}

// refusals are the words in the server's error and what they mean: why base rows have
// not taken what their slots hold.
var refusals = map[string]string{
	"hidden":      HiddenRows,
	"not updated": NotUpdated,
	"not taken":   "a trigger stores another value in the counter, or its type cannot hold the total: drop the trigger, or widen the column",
}

// Reasons that the server has errors of its own for, too.
const (
	HiddenRows = "row-level security hides base rows from this role: drain and roll up as the owner or a role with BYPASSRLS"
	NotUpdated = "a trigger or rule prevents the base row from being updated: drop it, or leave the table out of the configuration"
)

// Refusal finds such a reason in the server's message.
func Refusal(message string) (reason string, ok bool) {
	_, word, _ := strings.Cut(message, `"slotsql: `)
	reason, ok = refusals[strings.TrimSuffix(word, `"`)]
	return reason, ok
}

// moved is the query at the end of such a statement. It returns a row for each that
// had something to take, or fails. Slots without a base row are those of a row that
// is no more, unless row security may have hidden it.
func moved(t *schema.Table, some string) string {
	on := func(right string) string {
		if len(t.Counter.Key) == 0 {
			return "TRUE"
		}
		return keyEquals(t, "slotsql_t", right)
	}
	gone := "NOT EXISTS (SELECT 1 FROM slotsql_o)"
	if len(t.Counter.Key) > 0 {
		gone = "slotsql_o." + quote(t.Counter.Key[0]) + " IS NULL"
	}
	// What follows the reason keeps the planner from casting it ahead of time.
	reason := "pg_catalog.concat(CASE WHEN " + gone + " THEN 'slotsql: hidden' WHEN slotsql_u.slotsql_in IS NULL THEN 'slotsql: not updated'" +
		" ELSE 'slotsql: not taken' END, pg_catalog.left(CAST(slotsql_t." + quote(t.Counter.Counters[0]) + " AS text), 0))"
	return "SELECT CASE WHEN slotsql_u.slotsql_in THEN 1 WHEN " + gone + " AND NOT " + secured(t) + " THEN 1 ELSE CAST(" + reason +
		" AS integer) END FROM slotsql_t" + " LEFT JOIN slotsql_o ON " + on("slotsql_o") + " LEFT JOIN slotsql_u ON " +
		on("slotsql_u") + " WHERE " + some
}

// secured reports whether row security applies to this role, whatever row_security is set to.
func secured(t *schema.Table) string {
	return "pg_catalog.row_security_active(CAST(" + literal(qualified(t.Schema, t.Name)) + " AS pg_catalog.regclass))"
}

// literal writes a string that means the same whatever standard_conforming_strings says.
func literal(s string) string {
	s = strings.ReplaceAll(s, "'", "''")
	if strings.Contains(s, `\`) {
		return "E'" + strings.ReplaceAll(s, `\`, `\\`) + "'"
	}
	return "'" + s + "'"
}

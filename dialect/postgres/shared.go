package postgres

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file writes what is special about a slot table that several counter
// tables share: it has a row for each counter.

// as writes an expression under a name, which a column of that name has already.
func as(expr, column, name string) string {
	if column == name && !strings.HasPrefix(expr, "CASE ") {
		return expr
	}
	return expr + " AS " + quote(name)
}

// backEquals reports whether the base row is the one of a slot row.
func backEquals(t *schema.Table, slots string) string {
	var on []string
	for i, k := range t.Counter.SlotKey() {
		on = append(on, baseAlias+"."+quote(t.Counter.Key[i])+" = "+slots+"."+quote(k))
	}
	return strings.Join(on, " AND ")
}

func createShared(t *schema.Table) []string {
	name, sh, slot := slotTable(t), t.Counter.Shared, quote(t.Counter.SlotTable.Column)
	id := "bigint"
	if c := t.Column(t.Counter.Key[0]); c.Numeric != schema.Integer {
		id = "text"
		if _, collation, ok := strings.Cut(c.Type, " COLLATE "); ok {
			id += " COLLATE " + collation
		}
	}
	h := fnv.New64a()
	h.Write([]byte("slotsql " + name))
	return []string{
		fmt.Sprintf("SELECT pg_catalog.pg_advisory_xact_lock(%d)", int64(h.Sum64())),
		fmt.Sprintf(
			"CREATE TABLE IF NOT EXISTS %s (%s integer NOT NULL, %s %s NOT NULL, %s smallint NOT NULL, %s bigint NOT NULL DEFAULT 0, PRIMARY KEY (%[2]s, %[3]s, %[5]s))"+
				" WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)",
			name,
			quote(sh.Type),
			quote(sh.ID),
			id,
			slot,
			quote(sh.Count),
		),
	}
}

// incrementShared is Increment for a shared table.
//
// An increment of several counters makes or updates several rows. One of them
// may have come to the end of its range, and then the others alone are written:
// what the statement returns tells which. What is left goes to the base row, by
// the same statement. That is exact, as additions are wherever they happen; and
// where no row is written the plain statement decides, as for one counter. The
// statement's own tag then says 1 row for what was one row's UPDATE.
//
//nolint:funlen // one statement, read from its beginning to its end
func incrementShared(t *schema.Table, in rewrite.IncrementSQL) string {
	sh, q, base := t.Counter.Shared, in.Qualifier, qualified(t.Schema, t.Name)
	count, record, key := quote(sh.Count), quote(sh.Type), quote(t.Counter.Key[0])
	into := []string{record, quote(sh.ID), quote(t.Counter.SlotTable.Column)}
	sum := slotAlias + "." + count + " + excluded." + count
	delta := func(dl rewrite.Delta) string { return "CAST(" + dl.SQL + " AS " + t.Column(dl.Column).Type + ")" }

	guards, whens, rows, rest := []string{}, "", []string{}, []string{}
	for _, dl := range in.Deltas {
		_, most := bounds(t.Column(dl.Column), t.Counter)
		guards = append(guards, baseGuard(t, q, dl.Column), between(delta(dl), most))
		whens += fmt.Sprintf(" WHEN %d THEN %s", sh.Records[dl.Column], between(sum, most))
		rows = append(rows, fmt.Sprintf("(%d, CAST(%s AS bigint))", sh.Records[dl.Column], delta(dl)))
		c := quote(dl.Column)
		rest = append(rest, fmt.Sprintf("%s = %s.%s + CASE WHEN %d IN (SELECT slotsql_u.slotsql_y FROM slotsql_u) THEN 0 ELSE %s END",
			c, baseAlias, c, sh.Records[dl.Column], delta(dl)))
	}
	guards = append(guards, mayWrite(t, deltaColumns(in.Deltas), nil, in.Inserts))
	from, holds := lockedRow(t, in, guards)
	values := []string{
		fmt.Sprint(sh.Records[in.Deltas[0].Column]),
		lockedAlias + "." + key,
		"CAST(" + slotChoice(t, in) + " AS smallint)",
		delta(in.Deltas[0]),
	}
	within, locked := "", ""
	if len(in.Deltas) > 1 {
		// The row is locked, and looked at, once for all of them.
		locked = lockedAlias + " AS MATERIALIZED (SELECT " + lockedAlias + "." + key + " FROM " + from + " WHERE " + holds + "), "
		from, holds = lockedAlias+" CROSS JOIN (VALUES "+strings.Join(rows, ", ")+") AS slotsql_y(slotsql_y, slotsql_d)", "TRUE"
		values[0], values[3] = "slotsql_y.slotsql_y", "slotsql_y.slotsql_d"
		within = "CASE " + slotAlias + "." + record + whens + " END"
	} else {
		_, most := bounds(t.Column(in.Deltas[0].Column), t.Counter)
		within = between(sum, most)
	}
	upsert := fmt.Sprintf(
		"INSERT INTO %s AS %s (%s, %s) SELECT %s FROM %s WHERE %s ON CONFLICT (%s) DO UPDATE SET %s = %s WHERE %s",
		slotTable(t),
		slotAlias,
		strings.Join(into, ", "),
		count,
		strings.Join(values, ", "),
		from,
		holds,
		strings.Join(into, ", "),
		count,
		sum,
		within,
	)
	if len(in.Deltas) == 1 {
		return upsert
	}
	return fmt.Sprintf(
		"WITH %sslotsql_u AS (%s RETURNING %s AS slotsql_y), slotsql_b AS (UPDATE %s AS %s SET %s WHERE %s.%s IN (SELECT %s.%s FROM %s WHERE (%s))"+
			" AND (SELECT COUNT(*) FROM slotsql_u) BETWEEN 1 AND %d) SELECT 1 FROM slotsql_u LIMIT 1",
		locked,
		upsert,
		record,
		base,
		baseAlias,
		strings.Join(rest, ", "),
		baseAlias,
		key,
		q,
		key,
		in.Ref,
		in.Where,
		len(in.Deltas)-1,
	)
}

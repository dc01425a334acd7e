package postgres

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.SnapshotTeller = (*Dialect)(nil)

// A transaction at REPEATABLE READ or SERIALIZABLE does not see slot rows that
// have been inserted since its snapshot, nor does any statement that it can run
// find them: but one that inserts a row of the same key and number fails with
// 40001. So another session, whose statements have new snapshots, tells the
// numbers. The transaction has locked the base rows, so no slot row comes to be
// meanwhile, and what the other session sees is all there is. The roll-up may put
// rows together between the two: then the newest of them is met, or the row that is
// left has been changed, and the fold fails. Or it may delete an empty one: then the
// transaction can insert it, which means that it would not have seen it.

// Snapshot asks for the oldest transaction that the snapshot may not see.
func (d *Dialect) Snapshot(t *schema.Table, scope rewrite.Scope) string {
	list := []string{"CAST(pg_catalog.txid_snapshot_xmin(pg_catalog.txid_current_snapshot()) AS text)"}
	// A transaction that has locked the whole slot table, as after its TRUNCATE, must not wait for
	// the other session, which waits for it; and nothing has been counted there since.
	level := "CASE WHEN pg_catalog.current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN NOT EXISTS (SELECT 1 FROM pg_catalog.pg_locks AS slotsql_l" +
		" WHERE slotsql_l.pid = pg_catalog.pg_backend_pid() AND slotsql_l.mode = 'AccessExclusiveLock' AND slotsql_l.relation = CAST('" + strings.ReplaceAll(
		slotTable(t),
		"'",
		"''",
	) + "' AS pg_catalog.regclass)) END"
	if scope.Where == "" || len(t.Counter.Key) == 0 {
		return "SELECT " + list[0] + " WHERE " + level
	}
	for _, k := range t.Counter.Key {
		list = append(list, keyText(t, k, scope.Qualifier+"."+quote(k)))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + scope.Ref + " WHERE (" + scope.Where + ") AND " + level
}

// Newer compares transactions by their numbers: a subtransaction's is in no
// snapshot, but above that of the transaction around it. xmin has the lower 32 bits
// of a number that is not above the next one.
func (d *Dialect) Newer(t *schema.Table, keyed bool) string {
	var list, of []string
	if sh := t.Counter.Shared; sh != nil {
		list = append(list, "CAST("+slotAlias+"."+quote(sh.Type)+" AS text)")
		of = append(of, " AND "+t.Counter.OfTable(quote, slotAlias+"."))
	}
	for i, k := range t.Counter.SlotKey() {
		list = append(list, keyText(t, t.Counter.Key[i], slotAlias+"."+quote(k)))
	}
	list = append(list, "CAST("+slotAlias+"."+quote(t.Counter.SlotTable.Column)+" AS text)")
	const next = "pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())"
	q := "SELECT " + strings.Join(list, ", ") + " FROM " + slotTable(t) + " AS " + slotAlias
	where := fmt.Sprintf(
		" WHERE %s - ((%s - CAST(CAST(%s.xmin AS text) AS bigint)) & 4294967295) >= CAST(CAST($1 AS text) AS bigint)%s",
		next,
		next,
		slotAlias,
		strings.Join(of, ""),
	)
	if !keyed {
		return q + where
	}
	return q + " JOIN (" + fromJSON(t, "$2", false) + ") AS slotsql_k ON " + sameAsJSON(slotAlias, t.Counter.SlotKey(), "slotsql_k", 1) + where
}

// Meet inserts the rows, or does nothing for those that are there. The other session still sees the
// slots of a row that the transaction has deleted, which cannot have any: that row was drained.
func (d *Dialect) Meet(t *schema.Table) string {
	into := quote(t.Counter.SlotTable.Column)
	if len(t.Counter.Key) > 0 {
		into = slotKeyList(t, "") + ", " + into
	}
	first := 1
	if sh := t.Counter.Shared; sh != nil {
		into = quote(sh.Type) + ", " + into
		first = 2
	}
	q := "INSERT INTO " + slotTable(t) + " (" + into + ") SELECT * FROM (" + fromJSON(t, "$1", true) + ") AS slotsql_m"
	if len(t.Counter.Key) > 0 {
		q += " WHERE EXISTS (SELECT 1 FROM " + qualified(t.Schema, t.Name) + " AS " + baseAlias +
			" WHERE " + sameAsJSON(baseAlias, t.Counter.Key, "slotsql_m", first) + ")"
	}
	return q + " ON CONFLICT DO NOTHING"
}

// MeetEvery inserts each number for each key, or does nothing for those that are
// there. In a shared table, and in a journal, a number may be any.
func (d *Dialect) MeetEvery(t *schema.Table, slots int) string {
	if t.Counter.Layout == schema.LayoutShared || t.Counter.Layout == schema.LayoutJournal || len(t.Counter.Key) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"INSERT INTO %s (%s, %s) SELECT slotsql_e.*, slotsql_n FROM (%s) AS slotsql_e, pg_catalog.generate_series(0, %d) AS slotsql_n ON CONFLICT DO NOTHING",
		slotTable(t),
		slotKeyList(t, ""),
		quote(t.Counter.SlotTable.Column),
		fromJSON(t, "$1", false),
		slots-1,
	)
}

// Unserializable has the server say it, which ends the transaction as it should.
func (*Dialect) Unserializable() string {
	return "DO $$BEGIN RAISE EXCEPTION 'could not serialize access due to concurrent update' USING ERRCODE = 'serialization_failure'; END$$"
}

// fromJSON is a query of keys, with the slots' numbers behind them (and record
// types before them, where the table has such) or without.
func fromJSON(t *schema.Table, placeholder string, numbers bool) string {
	var list []string
	value := func(read func(text string) string) {
		list = append(list, fmt.Sprintf("%s AS slotsql_k%d", read(fmt.Sprintf("slotsql_j.slotsql_v ->> %d", len(list))), len(list)+1))
	}
	number := func(text string) string { return "CAST(" + text + " AS bigint)" }
	if numbers && t.Counter.Layout == schema.LayoutShared {
		value(number)
	}
	for _, k := range t.Counter.Key {
		value(func(text string) string { return keyValue(t, k, text) })
	}
	if numbers {
		value(number)
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM pg_catalog.json_array_elements(CAST(CAST(" + placeholder +
		" AS text) AS json)) AS slotsql_j(slotsql_v)"
}

// sameAsJSON compares key columns with those of fromJSON's rows, the first of which has that number.
func sameAsJSON(alias string, columns []string, rows string, first int) string {
	var same []string
	for i, k := range columns {
		same = append(same, fmt.Sprintf("%s.%s = %s.slotsql_k%d", alias, quote(k), rows, first+i))
	}
	return strings.Join(same, " AND ")
}

package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

var _ rewrite.CandidateDialect = (*Dialect)(nil)

// Candidates reads all slot rows and looks their base rows up by the key. Both are read with locks or
// both without: InnoDB's locking reads see the newest version of a row, and others that of the
// snapshot. At REPEATABLE READ the locking read also keeps others from inserting slot rows.
func (d *Dialect) Candidates(t *rewrite.Table, c rewrite.CandidateSQL, lock bool) string {
	u := keyIndex(t)
	if u == nil || !d.Nameable(t) {
		return ""
	}
	share := ""
	if lock {
		share = " LOCK IN SHARE MODE"
	}
	by := qualify("slotsql_s", t.Counter.SlotKey())
	var keys, on, order []string
	for i := range by {
		name := fmt.Sprintf("slotsql_k%d", i+1)
		keys = append(keys, by[i]+" AS "+name)
		on = append(on, c.Qualifier+"."+quote(t.Counter.Key[i])+" = slotsql_f."+name)
		order = append(order, "slotsql_f."+name)
	}
	for i, counter := range t.Counter.Counters {
		keys = append(keys, fmt.Sprintf("SUM(slotsql_s.%s) AS slotsql_c%d", quote(counter), i+1))
	}
	return d.unlimitedText("SELECT " + strings.Join(keyStrings(t, c.Qualifier, t.Counter.Key), ", ") +
		" FROM (SELECT " + strings.Join(keys, ", ") + " FROM " + slotTable(t) + " AS slotsql_s" + slotIndex(t) +
		" GROUP BY " + strings.Join(by, ", ") + share + ") AS slotsql_f STRAIGHT_JOIN " + c.Ref + " FORCE INDEX (" + indexName(u) + ")" +
		" ON " + strings.Join(on, " AND ") + " WHERE " + c.Where + " ORDER BY " + strings.Join(order, ", ") + share)
}

// CandidateTotal implements rewrite.CandidateDialect.
func (*Dialect) CandidateTotal(t *rewrite.Table, qualifier, counter string) string {
	base := qualifier + "." + quote(counter)
	for i, c := range t.Counter.Counters {
		if c == counter {
			return inType(t, counter, fmt.Sprintf("COALESCE(%s + slotsql_f.slotsql_c%d, %s)", base, i+1, base))
		}
	}
	return base
}

// CandidateVersions implements rewrite.CandidateDialect. A slot that is there for every session belongs to a row
// that the transaction has not drained, and need not be hidden. All slots are locked: to look for
// them again locks nothing else.
func (d *Dialect) CandidateVersions(t *rewrite.Table) *rewrite.VersionSQL {
	v := d.Versions(t, rewrite.Scope{Ref: baseTable(t), Qualifier: quote(t.Name)})
	key, slot := t.Counter.SlotKey(), slotColumn(t)
	v.Find += " WHERE (SELECT COUNT(*) FROM " + slotTable(t) + " AS slotsql_l" + slotIndex(t) + " WHERE " +
		same("slotsql_l", key, "slotsql_s", key) + " AND slotsql_l." + slot + " = slotsql_s." + slot + " LOCK IN SHARE MODE) = 0"
	return v
}

// LockRows implements dialect.SlotNamer.
func (d *Dialect) LockRows(t *rewrite.Table, keys [][]any) string {
	u, list := keyIndex(t), d.LockColumns(t, rewrite.Scope{Qualifier: "slotsql_b"})
	rows, ok := anyOf(t, "slotsql_b", keys)
	if u == nil || list == nil || !ok {
		return ""
	}
	return d.inUTC(t, "SELECT "+strings.Join(list, ", ")+" FROM "+baseTable(t)+" AS slotsql_b FORCE INDEX ("+indexName(u)+") WHERE "+
		rows+" FOR UPDATE")
}

package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Versions is for REPEATABLE READ, where a transaction sees rows as its snapshot
// has them, but those that it has changed itself as they are: InnoDB's consistent
// reads show a transaction its own versions, and changes act on the newest ones
// (reference manual, 17.7.2.3). So when others have folded a row's slots since
// the snapshot, a transaction that then changes the row sees the sum in the row
// and, in its snapshot, the slots that are not there any more.
//
// Such a slot is found by an ordinary query, once the transaction has folded
// what there is. Hide inserts it: InnoDB then has a newest version of the slot
// that is the transaction's own, in place of the deleted one. Drop deletes it
// again, and what the transaction sees is that.
//
// It must not go for a row that the transaction has only drained or looked at,
// and sees the snapshot's version of: slots of the same snapshot belong to that.
// So Hide compares the row as it is (INSERT ... SELECT reads and locks the newest
// version) with a string that says what the transaction sees of it.
func (d *Dialect) Versions(t *schema.Table, s rewrite.Scope) *rewrite.VersionSQL {
	key := t.Counter.Key
	base, slots, slot := baseTable(t)+" AS slotsql_b", slotTable(t), slotColumn(t)
	find, columns := "", ""
	for i := range key {
		columns += fmt.Sprintf("slotsql_k.k%d, ", i+1)
	}
	from, where := base, ""
	if s.Where != "" {
		from, where = s.Ref, " WHERE ("+s.Where+")"
	}
	qualifier := "slotsql_b"
	if s.Where != "" {
		qualifier = s.Qualifier
	}
	var keys []string
	for i, k := range key {
		keys = append(keys, fmt.Sprintf("%s.%s AS k%d", qualifier, quote(k), i+1))
	}
	keys = append(keys, version(t, qualifier)+" AS v")
	join := ""
	if len(key) > 0 {
		join = " ON " + and(t.Counter.OfTable(quote, "slotsql_s."), sameAs("slotsql_s", t.Counter.SlotKey(), "slotsql_k"))
	}
	if sh := t.Counter.Shared; sh != nil { // as if the record type were the key's first column
		columns = "slotsql_s." + quote(sh.Type) + ", " + columns
	}
	find = "SELECT " + columns + "slotsql_s." + slot + ", slotsql_k.v FROM (SELECT " + strings.Join(keys, ", ") + " FROM " + from + where +
		") AS slotsql_k JOIN " + slots + " AS slotsql_s" + join

	into := append(quoteAll(key), slot)
	what := append(qualify("slotsql_b", key), "?")
	var same, drop []string
	for _, k := range key {
		same = append(same, "slotsql_b."+quote(k)+" = ?")
		drop = append(drop, quote(k)+" = ?")
	}
	same = append(same, version(t, "slotsql_b")+" = ?")
	drop = append(drop, slot+" = ?")
	if t.Counter.Layout == schema.LayoutShared {
		hide, drop := hideShared(t, base, same)
		return &rewrite.VersionSQL{
			Find:  d.unlimitedText(find),
			Hide:  hide,
			Drop:  d.unlimitedText(drop),
			Touch: d.unlimited(touch(t, s)),
		}
	}
	return &rewrite.VersionSQL{
		Find: d.unlimitedText(find),
		Hide: "INSERT IGNORE INTO " + slots + " (" + strings.Join(into, ", ") + ") SELECT " + strings.Join(what, ", ") + " FROM " + base +
			" WHERE " + strings.Join(same, " AND "),
		Drop:  d.unlimitedText("DELETE FROM " + slots + " WHERE " + strings.Join(drop, " AND ")),
		Touch: d.unlimited(touch(t, s)),
	}
}

// version is a string that describes what is in the columns that slots add to.
func version(t *schema.Table, qualifier string) string {
	var list []string
	add := func(column string) {
		list = append(list, "COALESCE(HEX(CAST("+qualifier+"."+quote(column)+" AS BINARY)), '-')")
	}
	for _, c := range t.Counter.Counters {
		add(c)
	}
	for i := range t.Counter.Companions {
		add(t.Counter.Companions[i].Column)
	}
	return "CONCAT_WS(',', " + strings.Join(list, ", ") + ")"
}

// touch changes a counter and changes it back: an UPDATE that leaves a row as it
// is makes no version of it. It is for rows that have been incremented in slots,
// so that there is room on both sides.
func touch(t *schema.Table, s rewrite.Scope) []string {
	if s.Where == "" {
		return nil
	}
	c := s.Qualifier + "." + quote(t.Counter.Counters[0])
	keep := ""
	for _, col := range t.Columns {
		if col.OnUpdate {
			keep += fmt.Sprintf(", %s.%s = %s.%s", s.Qualifier, quote(col.Name), s.Qualifier, quote(col.Name))
		}
	}
	change := func(op string) string {
		return "UPDATE " + s.Ref + " SET " + c + " = " + c + op + keep + " WHERE (" + s.Where + ")"
	}
	return []string{change(" + 1"), change(" - 1")}
}

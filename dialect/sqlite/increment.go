package sqlite

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// The ranges in which base and slots together stay within int64. A base value
// in [-2^62, 2^62] and at most 4096 slots in [-2^49, 2^49] sum to no more than
// 2^62 + 2^61 < 2^63 either way, so neither a total, nor the SUM (which SQLite
// makes an error when it overflows), nor the addition of two slot values (at
// most 2^50; SQLite would turn an overflowing one into a REAL) ever overflows.
// What does not fit is not slotted, and takes the base row.
const (
	baseLimit = int64(1) << 62
	slotLimit = int64(1) << 49
)

const _ = uint64(1<<61 - slotLimit*maxSlots) // does not compile when the slots of a key may sum to more

// Increment writes the slotted upsert. SQLite has one writer, and a write
// transaction excludes every other one on the database, so that the INSERT
// itself is the lock: no drain, DELETE or UPDATE can come between the base row
// that is read here and the commit.
//
// Values carry their own types in SQLite: a base value that is NULL, REAL,
// TEXT or BLOB, and a delta that is not an integer, is not slotted. Neither is
// a row with a NULL in its key, nor a table without key that does not hold
// exactly one row.
func (*Dialect) Increment(t *schema.Table, in rewrite.IncrementSQL) string {
	c, q := t.Counter, in.Qualifier
	if c.Layout == schema.LayoutShared {
		return incrementShared(t, in)
	}
	into := columns("", append(append([]string(nil), c.Key...), c.SlotTable.Column)...)
	conflict := list(into)
	values := append(columns(q, c.Key...), in.Slot)
	where := []string{"(" + in.Where + ")"}
	var set, caps []string

	for _, k := range c.Key {
		if col := t.Column(k); col == nil || col.Nullable {
			where = append(where, q+"."+quote(k)+" IS NOT NULL")
		}
	}
	if len(c.Key) == 0 {
		where = append(where, "(SELECT COUNT(*) FROM (SELECT 1 FROM "+baseTable(t)+" LIMIT 2)) = 1")
	}
	for _, d := range in.Deltas {
		name := quote(d.Column)
		delta := "(" + d.SQL + ")"
		into = append(into, name)
		values = append(values, delta)
		where = append(where, baseGuards(q, d.Column)...)
		where = append(where,
			"typeof"+delta+" = 'integer'",
			fmt.Sprintf("%s BETWEEN %d AND %d", delta, -slotLimit, slotLimit))
		sum := slotAlias + "." + name + " + excluded." + name
		set = append(set, name+" = "+sum)
		caps = append(caps, fmt.Sprintf("%s BETWEEN %d AND %d", sum, -slotLimit, slotLimit))
	}
	for _, co := range in.Companions {
		name := quote(co.Column)
		into, values = append(into, name), append(values, co.SQL)
		switch co.Merge {
		case schema.Latest:
			into, values = append(into, quote(co.Stamp())), append(values, nextStamp(t, &co.Companion, q))
			set = append(set, name+" = excluded."+name, quote(co.Stamp())+" = excluded."+quote(co.Stamp()))
		default:
			set = append(set, name+" = "+string(co.Merge)+"(COALESCE("+slotAlias+"."+name+", excluded."+name+"), excluded."+name+")")
			if t.Column(co.Column).Nullable {
				where = append(where, q+"."+name+" IS NOT NULL")
			}
		}
		if co.NotNull {
			where = append(where, "("+co.SQL+") IS NOT NULL")
		}
	}
	return "INSERT INTO " + slotTable(t) + " AS " + slotAlias + " (" + list(into) + ")" +
		" SELECT " + list(values) + " FROM " + in.Ref +
		" WHERE " + strings.Join(where, " AND ") +
		" ON CONFLICT (" + conflict + ")" +
		" DO UPDATE SET " + list(set) +
		" WHERE " + strings.Join(caps, " AND ")
}

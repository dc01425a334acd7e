package sqlite

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.RollUpper = (*Dialect)(nil)

// RollUpSession is empty.
func (*Dialect) RollUpSession() []string { return nil }

// Draining is empty: the DSN says how long the connection waits.
func (*Dialect) Draining() (session, transaction []string) { return nil, nil }

// LockSlots has nothing to do: a transaction that writes excludes others.
func (*Dialect) LockSlots(*schema.Table) (lock, unlock []string) { return nil, nil }

// RollUp moves a part of the slots inside one write transaction. No other session
// writes meanwhile, so that each of its statements meets the same slots. (The
// application's own triggers fire when a base row is updated; what they add to
// slots by themselves goes to base rows.)
//
//nolint:funlen // one statement, read from its beginning to its end
func (d *Dialect) RollUp(t *schema.Table, part dialect.RollUpPart) dialect.RollUp {
	w := &rollUp{dialect.RollUpSQL{Table: t, Part: part}}
	full := "(" + nonZero(t, slotAlias) + ")"
	from := " FROM " + slotTable(t) + " AS " + slotAlias + " WHERE "
	based := "EXISTS (SELECT 1 FROM " + baseTable(t) + " AS " + baseAlias + " WHERE " + w.on() + ")"
	out := dialect.RollUp{
		Begin:     []string{"BEGIN IMMEDIATE"},
		Commit:    []string{"COMMIT"},
		Rollback:  []string{"ROLLBACK"},
		Unordered: len(t.Counter.Key) == 0,
		Find:      w.find(full),
		Idle:      w.find("NOT " + full),
		Orphans:   w.find("NOT " + based),
		Pick:      w.Step(func() string { return "SELECT COUNT(*)" + from + w.within() + " AND " + full + " AND " + based }),
		Move: []dialect.Step{
			w.Step(func() string {
				return "UPDATE " + baseTable(t) + " AS " + baseAlias + " SET " +
					foldSet(t, baseAlias, slotsOf(t, baseAlias, t.Counter.Counters...)) + " WHERE " + w.filled(from, full)
			}),
			w.Step(func() string {
				return "UPDATE " + slotTable(t) + " AS " + slotAlias + " SET " + strings.Join(t.Counter.Emptied(quote, "", true), ", ") + " WHERE " +
					w.within() + " AND " + full + " AND " + based
			}),
		},
		Unmoved: w.Step(func() string { return unmoved(t, w.filled(from, full)) }),
		Sweep: []dialect.Step{w.Step(func() string {
			return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + w.within() + " AND NOT " + full
		})},
		Reclaim: []dialect.Step{w.Step(func() string {
			where := and(t.Counter.OfTable(quote, slotAlias+"."), "NOT "+based)
			if len(t.Counter.Key) > 0 {
				where += " AND " + schema.Tuple(columns(slotAlias, t.Counter.SlotKey()...)) + " = " + schema.Tuple(w.values(len(t.Counter.Key)))
			}
			return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + where
		})},
	}
	if whole := t.Counter.SlotTable.Whole(slotTable(t), ""); whole != "" {
		out.Begin = append(out.Begin, "SELECT "+whole)
	}
	if t.Counter.Layout == schema.LayoutJournal {
		out.Move[1] = w.Step(func() string {
			return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + w.within() + " AND " + full + " AND " + based
		})
	} else if !t.Counter.SharesSlotRows() {
		// An increment of a slot row that is there does not look at the base
		// value: none may be left for one that has come to the end of its range.
		var guards []string
		for _, c := range t.Counter.Counters {
			guards = append(guards, baseGuards(baseAlias, c)...)
		}
		out.Move = append(out.Move, w.Step(func() string {
			return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + w.within() + " AND NOT " + full +
				" AND EXISTS (SELECT 1 FROM " + baseTable(t) + " AS " + baseAlias + " WHERE " + w.on() +
				" AND NOT COALESCE(" + strings.Join(guards, " AND ") + ", 0))"
		}))
	}
	return out
}

// rollUp writes the statements for one part.
type rollUp struct{ dialect.RollUpSQL }

func (w *rollUp) use(arg int) string { return fmt.Sprintf("?%d", w.Position(arg)) }

// values are those of a key.
func (w *rollUp) values(first int) []string {
	var out []string
	for i := range w.Table.Counter.Key {
		out = append(out, w.use(first+i))
	}
	return out
}

// within is the part, as a condition on the slot rows.
func (w *rollUp) within() string {
	out := ofTable(w.Table, slotAlias)
	key := w.Table.Counter.SlotKey()
	if len(key) == 0 {
		return out
	}
	at := schema.Tuple(columns(slotAlias, key...))
	switch {
	case w.Part.After:
		out += " AND " + at + " > " + schema.Tuple(w.values(0))
	case w.Part.Between:
		out += " AND " + at + " >= " + schema.Tuple(w.values(0)) + " AND " + at + " <= " + schema.Tuple(w.values(len(key)))
	}
	return out
}

// filled reports whether a base row has something to take from slot rows of the part.
func (w *rollUp) filled(from, full string) string {
	if len(w.Table.Counter.Key) == 0 {
		return "EXISTS (SELECT 1" + from + full + ")"
	}
	return schema.Tuple(columns(baseAlias, w.Table.Counter.Key...)) + " IN (SELECT " + list(columns(slotAlias, w.Table.Counter.SlotKey()...)) +
		from + w.within() + " AND " + full + ")"
}

// on reports whether the slot row is the base row's. A table without key has one row.
func (w *rollUp) on() string {
	if len(w.Table.Counter.Key) == 0 {
		return "TRUE"
	}
	return matchTo(slotAlias, w.Table.Counter.SlotKey(), baseAlias, w.Table.Counter.Key)
}

// find returns the keys of slot rows of a condition. The sign keeps the driver
// from reading a value as what its column declares.
func (w *rollUp) find(condition string) dialect.Step {
	return w.Step(func() string {
		by := columns(slotAlias, w.Table.Counter.SlotKey()...)
		var read []string
		for _, c := range by {
			read = append(read, "+"+c)
		}
		return w.Keys("FROM "+slotTable(w.Table)+" AS "+slotAlias+" WHERE "+w.within()+" AND "+condition, read, by)
	})
}

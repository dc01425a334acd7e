package sqlite

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.RollUpper = (*Dialect)(nil)

// RollUpSession is empty.
func (*Dialect) RollUpSession() []string { return nil }

// DrainSession is empty: the DSN says how long the connection waits.
func (*Dialect) DrainSession() []string { return nil }

// DrainTransaction is empty: the session has what it needs.
func (*Dialect) DrainTransaction() []string { return nil }

// LockSlots has nothing to do: a transaction that writes excludes others.
func (*Dialect) LockSlots(*rewrite.Table) (lock, unlock []string) { return nil, nil }

// RollUp moves a part of the slots inside one write transaction. Nobody else
// writes meanwhile, so that each of its statements meets the same slots. (The
// application's own triggers fire when a base row is updated; what they add to
// slots by themselves goes to base rows.)
//
//nolint:funlen // one statement, read from its beginning to its end
func (d *Dialect) RollUp(t *rewrite.Table, part dialect.RollUpPart) dialect.RollUp {
	w := &rollUp{t: t, part: part}
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
		Pick:      w.step(func() string { return "SELECT COUNT(*)" + from + w.within(true) + " AND " + full + " AND " + based }),
		Move: []dialect.Step{
			w.step(func() string {
				return "UPDATE " + baseTable(t) + " AS " + baseAlias + " SET " +
					foldSet(t, baseAlias, slotsOf(t, baseAlias, t.Counter.Counters...)) + " WHERE " + w.filled(from, full)
			}),
			w.step(func() string {
				return "UPDATE " + slotTable(t) + " AS " + slotAlias + " SET " + strings.Join(w.emptied(), ", ") + " WHERE " +
					w.within(true) + " AND " + full + " AND " + based
			}),
		},
		Unmoved: w.step(func() string { return unmoved(t, w.filled(from, full)) }),
		Sweep: []dialect.Step{w.step(func() string {
			return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + w.within(true) + " AND NOT " + full
		})},
		Reclaim: []dialect.Step{w.step(func() string {
			where := and(t.Counter.OfTable(quote, slotAlias+"."), "NOT "+based)
			if len(t.Counter.Key) > 0 {
				where += " AND " + tuple(columns(slotAlias, t.Counter.SlotKey()...)) + " = " + tuple(w.values(len(t.Counter.Key)))
			}
			return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + where
		})},
	}
	if whole := t.Counter.Whole(slotTable(t), ""); whole != "" {
		out.Begin = append(out.Begin, "SELECT "+whole)
	}
	if t.Counter.Layout == rewrite.LayoutJournal {
		out.Move[1] = w.step(func() string {
			return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + w.within(true) + " AND " + full + " AND " + based
		})
	} else if !t.Counter.Alike() {
		// An increment of a slot row that is there does not look at the base
		// value: none may be left for one that has come to the end of its range.
		var guards []string
		for _, c := range t.Counter.Counters {
			guards = append(guards, baseGuards(baseAlias, c)...)
		}
		out.Move = append(out.Move, w.step(func() string {
			return "DELETE FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + w.within(true) + " AND NOT " + full +
				" AND EXISTS (SELECT 1 FROM " + baseTable(t) + " AS " + baseAlias + " WHERE " + w.on() +
				" AND NOT COALESCE(" + strings.Join(guards, " AND ") + ", 0))"
		}))
	}
	return out
}

// rollUp writes the texts of one part.
type rollUp struct {
	t    *rewrite.Table
	part dialect.RollUpPart
	args []int
}

func (w *rollUp) step(text func() string) dialect.Step {
	w.args = nil
	sql := text()
	return dialect.Step{SQL: sql, Args: w.args}
}

func (w *rollUp) use(arg int) string {
	for i, a := range w.args {
		if a == arg {
			return fmt.Sprintf("?%d", i+1)
		}
	}
	w.args = append(w.args, arg)
	return fmt.Sprintf("?%d", len(w.args))
}

// values are those of a key.
func (w *rollUp) values(first int) []string {
	var out []string
	for i := range w.t.Counter.Key {
		out = append(out, w.use(first+i))
	}
	return out
}

// within is the part, as a condition on the slot rows.
func (w *rollUp) within(upTo bool) string {
	out := ofTable(w.t, slotAlias)
	key := w.t.Counter.SlotKey()
	if len(key) == 0 {
		return out
	}
	if w.part.After {
		out += " AND " + tuple(columns(slotAlias, key...)) + " > " + tuple(w.values(0))
	}
	if w.part.UpTo && upTo {
		out += " AND " + tuple(columns(slotAlias, key...)) + " <= " + tuple(w.values(len(key)))
	}
	return out
}

// filled says that a base row has something to take from slot rows of the part.
func (w *rollUp) filled(from, full string) string {
	if len(w.t.Counter.Key) == 0 {
		return "EXISTS (SELECT 1" + from + full + ")"
	}
	return tuple(columns(baseAlias, w.t.Counter.Key...)) + " IN (SELECT " + list(columns(slotAlias, w.t.Counter.SlotKey()...)) +
		from + w.within(true) + " AND " + full + ")"
}

// on says that the slot row is the base row's. A table without key has one row.
func (w *rollUp) on() string {
	if len(w.t.Counter.Key) == 0 {
		return "TRUE"
	}
	return matchTo(slotAlias, w.t.Counter.SlotKey(), baseAlias, w.t.Counter.Key)
}

func (w *rollUp) emptied() []string {
	var set []string
	for _, c := range w.t.Counter.Cells() {
		set = append(set, quote(c)+" = 0")
	}
	for _, co := range w.t.Counter.Companions {
		set = append(set, quote(co.Column)+" = NULL")
		if co.Stamp() != "" {
			set = append(set, quote(co.Stamp())+" = NULL")
		}
	}
	return set
}

// find returns the keys of slot rows of a condition. The sign keeps the driver
// from reading a value as what its column declares.
func (w *rollUp) find(condition string) dialect.Step {
	return w.step(func() string {
		from := " FROM " + slotTable(w.t) + " AS " + slotAlias + " WHERE " + w.within(false) + " AND " + condition
		if len(w.t.Counter.Key) == 0 {
			return "SELECT COUNT(*)" + from + " HAVING COUNT(*) > 0"
		}
		by := columns(slotAlias, w.t.Counter.SlotKey()...)
		var read []string
		for _, c := range by {
			read = append(read, "+"+c)
		}
		return "SELECT " + list(read) + ", COUNT(*)" + from + " GROUP BY " + list(by) + " ORDER BY " + list(by) +
			fmt.Sprintf(" LIMIT %d", w.part.Limit)
	})
}

package rewrite

import (
	"cmp"
	"slices"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// A slotWriter writes the slotted upsert of a statement, and the forms of it that run in its place.
type slotWriter struct {
	m *dml
	p *planning
}

func slotWriterOf(m *dml) slotWriter { return slotWriter{m, m.p} }

// slotted turns a base plan into a slotted upsert, with a drain of the same
// row as its fallback.
func (sw slotWriter) slotted(base *Plan, a assigned, rows *rowset, where fragment) *Plan {
	t := sw.m.table
	if why := sw.p.consts.mistyped(sw.m.typeAt(a.increments)); why != "" {
		base.Reason = why
		return base
	}
	a.increments = ordered(t.Counter, a.increments)
	var tp template
	in := IncrementSQL{
		Ref:       sw.p.names.BaseRef(t, rows.binding),
		Qualifier: sw.p.names.Qualifier(rows.binding),
		Where:     tp.mark(where),
		Slot:      tp.mark(bound(Arg{Slot: true})),
		Clustered: rows.primary,
		Inserts:   sw.m.inserts(),
		Holds:     rows.binding == sw.m.target && sw.m.st.Where != nil && !rows.only,
	}
	in.Companions = companionSQL(a.companions, &tp)
	out := &Increment{Table: t, Companions: len(a.companions) > 0, Latest: a.setsLatest()}
	out.base = base.Base.Require
	out.onBase = !out.Latest
	out.plain = out.onBase && len(base.Base.Require) == 0
	for _, s := range a.companions {
		if s.arg != nil {
			out.Inserted = append(out.Inserted, *s.arg)
		}
	}
	for _, inc := range a.increments {
		if plan := sw.addDelta(base, inc, &in, out, &tp); plan != nil {
			return plan
		}
	}
	for _, k := range rows.args {
		if !numericColumn(k.column) {
			out.NotNumber = append(out.NotNumber, k.arg)
		}
	}
	compared, ok := sw.comparedForms()
	if !ok {
		base.Reason = "a time, a UUID or an address is compared with a string of another form"
		return base
	}
	out.Forms = append(sw.p.consts.forms(rows.args), compared...)
	out.Bound = tp.expand(sw.p.d, sw.p.d.Increment(t, in))
	out.Holding = sw.holding(in, &tp, out.Bound)
	out.Add, out.Key = sw.addSQL(&tp, in, rows, false)
	out.AddLocked, _ = sw.addSQL(&tp, in, rows, true)
	out.Which, out.ByOther = rows.which(t)
	out.Coalesced = sw.coalesced(a, in, &tp, rows)
	out.Row = sw.p.drains.drainTable(t, rowsOrAll(t, rows))
	plan := &Plan{Class: Additive, Tables: []string{t.Name}, Increment: out, Drain: DrainPlan{Tables: []DrainTable{out.Row}}}
	sw.latestOnBase(plan, a, in, rows, &tp)
	return plan
}

// addDelta adds a counter to a slotted upsert. It returns the plan of the statement where that does not take the delta.
func (sw slotWriter) addDelta(base *Plan, inc increment, in *IncrementSQL, out *Increment, tp *template) *Plan {
	d, ok := sw.p.consts.deltaOf(inc.column, inc.ops)
	if !ok {
		base.Reason = unknownDelta
		return base
	}
	given, why := sw.m.defaults(inc)
	if why != "" {
		base.Reason = why
		return base
	}
	out.Inserted = append(out.Inserted, given...)
	if d.literal == "" {
		largest, _ := limit(inc.column)
		require := d.demand(inc.column, largest)
		require.Side = sw.m.table.Counter.Side(inc.column.Name)
		out.Deltas = append(out.Deltas, require)
		in.Deltas = append(in.Deltas, Delta{inc.column.Name, tp.mark(bound(d.arg))})
		return nil
	}
	fits, zero, negative := d.fits(inc.column)
	switch {
	case !fits:
		base.Reason = "the delta is too large or has too many digits"
		return base
	case negative && inc.column.Unsigned:
		return sw.m.drain("the statement decrements unsigned counter " + inc.column.Name)
	case !zero && sw.m.table.Counter.Side(inc.column.Name).Refuses(negative):
		base.Reason = "no slot of counter " + inc.column.Name + " takes such a number: its bounds keep slots on the other side of zero"
		return base
	}
	out.NonZero = out.NonZero || !zero
	in.Deltas = append(in.Deltas, Delta{inc.column.Name, tp.mark(literal(d.text(inc.column)))})
	return nil
}

// holding is the form of an upsert that keeps other sessions from changing the base row; nil if the
// upsert does that anyway.
func (sw slotWriter) holding(in IncrementSQL, tp *template, upsert Bound) *Bound {
	in.Holds = true
	if b := tp.bound(sw.p.d, sw.p.d.Increment(sw.m.table, in)); b.SQL != upsert.SQL {
		return b
	}
	return nil
}

// addSQL is the short form of an increment by the slots' own key, and the values of that
// key. There is none in a journal, where no row is added to twice. With locks it is the
// form for a transaction.
func (sw slotWriter) addSQL(tp *template, in IncrementSQL, rows *rowset, locks bool) (bound *Bound, values []KeyValue) {
	key := sw.m.table.Counter.Key
	switch {
	case sw.m.table.Counter.Options.Placement == schema.PlacementSkipLocked, sw.m.table.Counter.Layout == schema.LayoutJournal:
		return nil, nil
	case sw.m.table.Counter.Single():
		// The slots are the row's as long as there is one row: a drain comes
		// before every other number of rows.
		if sw.m.st.Where != nil {
			return nil, nil
		}
	case rows.key == nil || !rows.only || !rows.single || len(rows.key.Columns) != len(key):
		return nil, nil
	}
	for _, c := range in.Companions {
		if c.Merge != schema.Latest {
			return nil, nil
		}
	}
	short := AddSQL{Slot: in.Slot, Deltas: in.Deltas, Companions: in.Companions, CheckBase: sw.checkBase(), Inserts: in.Inserts, Locks: locks}
	for _, k := range key {
		v, ok := rows.values[k]
		if !ok {
			return nil, nil
		}
		short.Key = append(short.Key, tp.mark(v))
		values = append(values, v.keyValue())
	}
	return tp.bound(sw.p.d, sw.p.d.Add(sw.m.table, short)), values
}

// checkBase reports whether a slot row does not prove that its base row is there, and
// takes slots: an increment of another counter may have made it, or a program that
// has deleted the base row may have left it.
func (sw slotWriter) checkBase() bool {
	return sw.m.table.Counter.SharesSlotRows() || !sw.m.table.Counter.Single() && !cascadesDelete(sw.p.d, sw.m.table)
}

// ordered returns the increments of a statement in the order in which it writes
// their slot rows: the same in every statement, so that two do not wait for each
// other. (Executions of two statements whose SQL is then the same may
// share one: what is the first counter for the one must be so for the other.)
func ordered(c *schema.Counter, list []increment) []increment {
	if c.Layout != schema.LayoutShared {
		return list
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b increment) int {
		return cmp.Compare(c.Shared.Records[a.column.Name], c.Shared.Records[b.column.Name])
	})
	return out
}

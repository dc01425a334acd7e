package rewrite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans the group of an upsert: INSERT ... VALUES (k, 1) ON CONFLICT (k) DO UPDATE
// SET n = t.n + 1. The same statement with the sum in both places does what all members do
// one after another, whether the row is there or not: the first of them makes it, and the
// others add to it. Where a new row does not begin with what is added, as in VALUES (k, 0),
// it gets the first member's number and the sum of what the others add.
//
// Ordinary columns may differ: what the conflict clause sets to what the INSERT gives is the last member's, as EXCLUDED.at of the last
// statement would be, and any other column of a new row is the first member's, who has made it.
//
// For that, the second of them has to meet the row that the first has made: the key that
// they conflict on is given, alike for all, and is neither NULL nor a number that the
// database chooses.

// An upsertGrouper plans the group of an upsert.
type upsertGrouper struct {
	g *grouper
	p *planning
}

func upsertOf(g *grouper) upsertGrouper { return upsertGrouper{g, g.p} }

// An UpsertGroup is what else there is to know of a group of upserts. When its statement
// affects no row, or cannot be for all, each member runs the application's own.
type UpsertGroup struct {
	// Numbers reports whether a new row gets a number that the database chooses and the
	// session then tells. The leader is the first of all members: as the statement is for
	// all of them or is not run, its session tells what it would have by itself.
	Numbers bool
	// Keys are arguments given for the key.
	Keys []InsertedKey
}

// An InsertedKey is an argument for a column of a key, which must not be NULL. One that is
// Numbered must be an integer and not 0: else the database may choose a number instead.
type InsertedKey struct {
	Arg      Arg
	Numbered bool
}

// planUpsertGroup is planGroup for an upsert.
func (p *planning) planUpsertGroup(plan *Plan, st *ast.Statement) *Plan {
	c := st.Conflict
	switch plan.Class {
	case PassThrough, AdditiveBase, Upsert, Drain:
	default:
		return plan
	}
	if c == nil || c.Nothing || st.Opaque != "" || st.Target == nil || st.Replace || len(st.Rows) != 1 || st.Select != nil {
		return plan
	}
	as := *st
	as.Set = c.Set
	m := p.newDML(&as)
	if m.table == nil {
		return plan
	}
	g := newGrouper(m)
	if !upsertOf(g).upserts() {
		return plan
	}
	if plan.GroupReason = upsertOf(g).planUpsert(); plan.GroupReason != "" {
		return plan
	}
	g.group.Bound = g.text()
	if !g.real.Counter.Options.Coalesce {
		plan.GroupReason = "coalesce: false"
		return plan
	}
	return g.planned(plan)
}

// upserts reports whether the statement increments a counter of a row that is there.
func (ug upsertGrouper) upserts() bool {
	ug.g.m.sc.Strict = ug.p.d.Traits().StrictConflict
	defer func() { ug.g.m.sc.Strict = false }()
	for _, a := range ug.g.m.st.Set {
		name, has := names.Column(ug.p.d, ug.g.m.table, a.Column[len(a.Column)-1])
		if !has || !ug.g.m.table.IsCounter(name) || a.Value == nil {
			continue
		}
		if ops, ok := ug.p.additive(ug.g.m.sc, a.Value, ug.g.m.table, name); ok && len(ops) > 0 {
			return true
		}
	}
	return false
}

func (ug upsertGrouper) planUpsert() string {
	if why := ug.g.excluded(); why != "" {
		return why
	}
	if t := ug.g.real; t.Triggers.Insert || t.Triggers.Update {
		return cmp.Or(t.Triggers.Unseen, "a trigger fires on INSERT or UPDATE of the table")
	}
	if ug.g.m.st.Conflict.Where != nil {
		return "a new row may not satisfy the WHERE of the conflict clause"
	}
	ug.g.group.Upsert = &UpsertGroup{Numbers: ug.g.real.Numbers}
	steps := []func() string{
		ug.inserted, ug.conflictKeys, ug.arbiterWhere, ug.conflictSet, ug.g.implies,
		ug.setByDatabase, ug.upsertShares, ug.g.returning, ug.g.assigned, ug.firsts, ug.g.arguments,
	}
	for _, step := range steps {
		if why := step(); why != "" {
			return why
		}
	}
	return ""
}

// inserted holds a new row to be the same whoever makes it.
func (ug upsertGrouper) inserted() string {
	for i, e := range ug.g.m.st.Rows[0] {
		if e == nil || ug.g.unlike(e, none) != "" || ast.HasColumn(e) {
			return "a value of the INSERT may differ between executions"
		} else if len(ug.g.m.st.Columns) == 0 && i >= len(ug.g.m.table.Columns) {
			return "the INSERT has too many values"
		}
	}
	for i := range ug.g.m.table.Columns {
		c := &ug.g.m.table.Columns[i]
		switch given := ug.valueOf(c) != nil; {
		case given:
		case c.Identity:
			ug.g.group.Upsert.Numbers = true
		case c.Default == schema.DefaultComputed:
			return "the default of column " + c.Name + " is computed, perhaps from a counter"
		}
	}
	return ""
}

// conflictKeys holds what is given for the key.
func (ug upsertGrouper) conflictKeys() string {
	key := ug.arbiter()
	if key == nil {
		return insertionOf(ug.g.m).unknownKey()
	}
	for _, name := range key.Columns {
		c := ug.g.m.table.Column(name)
		v := ug.valueOf(c)
		if v == nil {
			return "the INSERT has no value for the key"
		}
		x := ast.Unparen(v)
		switch {
		case x.Kind == ast.Param:
			if arg, ok := ug.p.src.paramAt(x.Span); !ok {
				return "the INSERT has no value for the key"
			} else if c.Nullable || c.Identity {
				ug.g.group.Upsert.Keys = append(ug.g.group.Upsert.Keys, InsertedKey{arg, c.Identity})
			}
		case x.Kind == ast.String && !c.Identity:
		case x.Kind == ast.Number:
			if c.Identity && strings.Trim(ug.p.consts.noted(ug.p.src.sql[x.Start:x.End]), "0.") == "" {
				return "the database numbers column " + c.Name
			}
		case x.Kind == ast.Null || c.Nullable || c.Identity:
			return "the key that the INSERT gives may be NULL"
		}
	}
	return ""
}

// setByDatabase holds columns that the engine sets in a row that is updated: a new row
// has to have that in them as well.
func (ug upsertGrouper) setByDatabase() string {
	assigned := func(name string) bool {
		for _, a := range ug.g.m.st.Set {
			if n, ok := names.Column(ug.p.d, ug.g.m.table, a.Column[len(a.Column)-1]); ok && n == name {
				return true
			}
		}
		return false
	}
	for i := range ug.g.m.table.Columns {
		c := &ug.g.m.table.Columns[i]
		if !c.OnUpdate || assigned(c.Name) {
			continue
		}
		given := ug.valueOf(c)
		if now, shifted := ug.p.consts.clockTime(given); given != nil && now && !shifted || given == nil && c.Default == schema.DefaultNow {
			continue
		}
		return "the database sets column " + c.Name + " of a row that is there"
	}
	return ""
}

// valueOf returns what the INSERT gives for a column, or nil.
func (ug upsertGrouper) valueOf(c *schema.Column) *ast.Expr {
	i := ug.g.m.insertIndex(ast.Ident{Name: c.Name, Quoted: true})
	if i < 0 || i >= len(ug.g.m.st.Rows[0]) {
		return nil
	}
	return ug.g.m.st.Rows[0][i]
}

// conflictSet sorts the assignments of the conflict clause.
func (ug upsertGrouper) conflictSet() string {
	ug.g.m.sc.Strict = ug.p.d.Traits().StrictConflict
	defer func() { ug.g.m.sc.Strict = false }()
	for _, a := range ug.g.m.st.Set {
		name, has := names.Column(ug.p.d, ug.g.m.table, a.Column[len(a.Column)-1])
		slotted := ug.g.real.Counter.Slots > 0 && ug.g.real.Companion(name) != nil
		if !has || len(a.Column) > 1 || ug.g.varies[name] || a.Value == nil || ug.g.m.table.ChangesKey(name) || slotted {
			return "the conflict clause sets what slotsql does not analyze"
		}
		ug.g.varies[name] = true
		c := ug.g.m.table.Column(name)
		if !ug.g.m.table.IsCounter(name) {
			// A new row has the value of the INSERT, one that is there that of SET.
			if !ug.setsInserted(c, a.Value) {
				return "the conflict clause sets " + name + " to what the INSERT does not give for it"
			}
			if given := ug.valueOf(c); given != nil && ast.Unparen(a.Value).Kind == ast.Excluded {
				ug.g.assigns = append(ug.g.assigns, assigning{c, given})
			}
			continue
		}
		if why := ug.countUpsert(c, a.Value); why != "" {
			return why
		}
	}
	return ""
}

// firsts lets members differ in what a new row has in columns that the conflict clause does not set.
func (ug upsertGrouper) firsts() string {
	key := ug.arbiter()
	for i := range ug.g.m.table.Columns {
		c := &ug.g.m.table.Columns[i]
		given := ug.valueOf(c)
		if given == nil || ug.g.varies[c.Name] || slices.Contains(key.Columns, c.Name) || c.Identity || ug.g.m.table.IsCounter(c.Name) {
			continue
		}
		if why := differ(ug.g, assigning{c, given}, true); why != "" {
			return why
		}
	}
	return ""
}

// setsInserted reports whether the conflict clause sets a column to what the INSERT gives for it.
func (ug upsertGrouper) setsInserted(c *schema.Column, value *ast.Expr) bool {
	if own, ok := ug.excludedColumn(ast.Unparen(value)); ok {
		return own == c.Name && (ug.valueOf(c) != nil || !c.Identity)
	}
	given := ug.valueOf(c)
	if given == nil || ug.g.unlike(value, none) != "" {
		return false
	}
	if arg, ok := ug.p.src.paramAt(ast.Unparen(value).Span); ok {
		// A numbered placeholder in both places, each of which has the column's type.
		twin, ok := ug.p.src.paramAt(ast.Unparen(given).Span)
		ug.g.uses[arg] = append(ug.g.uses[arg], c.Type, c.Type)
		return ok && twin == arg
	}
	fixed := true
	value.Walk(func(x *ast.Expr) bool {
		fixed = fixed && x.Kind != ast.Param && x.Kind != ast.ColumnRef
		return fixed
	})
	return fixed && ug.p.consts.noted(ug.p.src.sql[value.Start:value.End]) == ug.p.consts.noted(ug.p.src.sql[given.Start:given.End])
}

func (ug upsertGrouper) excludedColumn(e *ast.Expr) (name string, ok bool) {
	if e.Kind != ast.Excluded {
		return "", false
	}
	return names.Column(ug.p.d, ug.g.m.table, e.Name[len(e.Name)-1])
}

// countUpsert takes in the increment of one counter, whose row begins with what is added.
func (ug upsertGrouper) countUpsert(c *schema.Column, value *ast.Expr) string {
	ops, ok := ug.p.additive(ug.g.m.sc, value, ug.g.m.table, c.Name)
	given := ug.valueOf(c)
	if !ok || len(ops) != 1 || given == nil {
		return setsCounter + c.Name
	}
	first, ok := ug.p.consts.insertedDelta(c, c, operand{expr: given})
	if !ok {
		return "what is added to counter " + c.Name + " is not a literal or a placeholder"
	}
	n := counting{column: c, delta: first, operand: operand{expr: given}}
	if own, is := ug.excludedColumn(ast.Unparen(ops[0].expr)); !is || own != c.Name || ops[0].negative {
		if n.delta, ok = ug.p.consts.deltaOf(c, ops); !ok {
			return "what is added to counter " + c.Name + " is not a literal or a placeholder"
		}
		if ug.p.consts.noted(n.delta.literal + " " + first.literal); n.delta != first {
			n.first = &first
		}
	} else {
		ops[0].expr = nil // it follows what is given
	}
	for _, d := range []delta{first, n.delta} {
		if why := ug.g.addable(c, d); why != "" {
			return why
		}
	}
	if why := ug.newRowTakes(c, given); why != "" {
		return why
	}
	if name := checksOf(ug.g).computes(c.Name); name != "" {
		return name + " is computed from counter " + c.Name + " of a new row, too"
	}
	ast.Unparen(value).Walk(func(x *ast.Expr) bool {
		n.coalesced = n.coalesced || ug.p.consts.coalesces(x)
		return true
	})
	if n.coalesced && c.Nullable {
		return "counter " + c.Name + " may be NULL"
	}
	ug.g.counts = append(ug.g.counts, n)
	if ops[0].expr == nil {
		return ""
	}
	at, flip, ok := ug.g.amount(ops[0].expr, ops[0].negative)
	if !ok {
		return "cannot tell where what is added to counter " + c.Name + " stands"
	}
	ug.g.used(c, ops[0].expr, n.delta)
	ug.g.edit(at, ug.g.sumText(c, Arg{Total: len(ug.g.counts), Index: -1, Negate: flip}))
	return ""
}

// newRowTakes names why a new row of one of the members might be refused, or stored otherwise. The engine sees the row
// of the whole group, and the plain statements would have proposed one row for each member.
func (ug upsertGrouper) newRowTakes(c *schema.Column, given *ast.Expr) string {
	if slices.Contains(ug.g.real.Checked, c.Name) || checksOf(ug.g).checkedThrough(c.Name) {
		return "a CHECK constraint of counter " + c.Name + " applies to a new row, too"
	}
	if !c.Unsigned {
		return ""
	}
	arg, why := ug.p.consts.checkInserted(c, given)
	if arg != nil {
		ug.g.group.Inserted = append(ug.g.group.Inserted, *arg)
	}
	return why
}

// firstNumber returns what a new row begins with.
func (ug upsertGrouper) firstNumber(c *schema.Column, d delta, most int64) (*FirstNumber, bool) {
	if d.literal == "" {
		arg := d.arg
		return &FirstNumber{Arg: &arg}, true
	}
	n, ok := ug.g.literalUnits(c, d)
	return &FirstNumber{Literal: Literal{same: n}}, ok && n <= most && n >= -most
}

// upsertShares puts the sums in the place of what the INSERT gives.
func (ug upsertGrouper) upsertShares() string {
	if len(ug.g.counts) == 0 {
		return "the statement sets a counter"
	}
	if why := ug.g.shares(); why != "" || len(ug.g.also) == 0 {
		return why
	}
	d, ok := ug.p.d.(ConflictGroupingDialect)
	if !ok {
		return ug.g.demand()
	}
	for i := range ug.g.counts {
		c := ug.g.counts[i].column
		fits := d.Stores(c, ug.g.reference(c), ug.g.sumText(c, Arg{Total: i + 1, Index: -1}))
		if fits == "" {
			continue
		}
		value := ug.assignedValue(c)
		before, after := d.OnlyIf(fits)
		ug.g.edits = append([]edit{{ast.At(value.Start), before}}, ug.g.edits...)
		ug.g.edit(ast.At(value.End), after)
	}
	return ""
}

// assignedValue returns what the conflict clause sets a counter to.
func (ug upsertGrouper) assignedValue(c *schema.Column) *ast.Expr {
	for _, a := range ug.g.m.st.Set {
		if name, ok := names.Column(ug.p.d, ug.g.m.table, a.Column[len(a.Column)-1]); ok && name == c.Name {
			return a.Value
		}
	}
	return nil
}

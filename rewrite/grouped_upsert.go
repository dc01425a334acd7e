package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"strings"
)

// This file plans the group of an upsert: INSERT ... VALUES (k, 1) ON CONFLICT (k) DO UPDATE
// SET n = t.n + 1. The same statement with the sum in both places does what all members do
// one after another, whether the row is there or not: the first of them makes it, and the
// others add to it. Where a new row does not begin with what is added, as in VALUES (k, 0),
// it gets the first member's number and the sum of what the others add.
//
// For that, the second of them has to meet the row that the first has made: the key that
// they conflict on is given, alike for all, and is neither NULL nor a number that the
// database chooses.

// An UpsertGroup is what else there is to know of a group of upserts. When its statement
// affects no row, or cannot be for all, each member runs the application's own.
type UpsertGroup struct {
	// Numbers reports whether a new row gets a number that the database chooses and the
	// session then tells. The leader is the first of all members: as the statement is for
	// all of them or is not run, its session tells what it would have by itself.
	Numbers bool
	// Keys are arguments given for the key.
	Keys []InsertedKey
	// Equal are pairs of arguments that have to be equal, for a new row to satisfy the WHERE of
	// DO UPDATE.
	Equal [][2]Arg
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
	if !g.upserts() {
		return plan
	}
	if plan.GroupReason = g.planUpsert(); plan.GroupReason != "" {
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
func (g *grouper) upserts() bool {
	g.sc.strict = g.d.Traits().StrictConflict
	defer func() { g.sc.strict = false }()
	for _, a := range g.st.Set {
		name, has := columnNamed(g.d, g.table, a.Column[len(a.Column)-1])
		if !has || !g.table.IsCounter(name) || a.Value == nil {
			continue
		}
		if ops, ok := g.additive(g.sc, a.Value, g.table, name); ok && len(ops) > 0 {
			return true
		}
	}
	return false
}

func (g *grouper) planUpsert() string {
	if why := g.excluded(); why != "" {
		return why
	}
	if t := g.real; t.Triggers.Insert || t.Triggers.Update {
		return "a trigger fires on INSERT or UPDATE of the table"
	}
	g.group.Upsert = &UpsertGroup{Numbers: g.real.Numbers}
	steps := []func() string{
		g.inserted, g.conflictKeys, g.arbiterWhere, g.updateWhere, g.conflictSet, g.implies,
		g.setByDatabase, g.upsertShares, g.returning, g.arguments,
	}
	for _, step := range steps {
		if why := step(); why != "" {
			return why
		}
	}
	return ""
}

// inserted holds a new row to be the same whoever makes it.
func (g *grouper) inserted() string {
	for i, e := range g.st.Rows[0] {
		if e == nil || g.unlike(e, none) != "" || ast.HasColumn(e) {
			return "a value of the INSERT may differ between executions"
		} else if len(g.st.Columns) == 0 && i >= len(g.table.Columns) {
			return "the INSERT has too many values"
		}
	}
	for i := range g.table.Columns {
		c := &g.table.Columns[i]
		switch given := g.valueOf(c) != nil; {
		case given:
		case c.Identity:
			g.group.Upsert.Numbers = true
		case c.Default == DefaultComputed:
			return "the default of column " + c.Name + " is computed, perhaps from a counter"
		}
	}
	return ""
}

// conflictKeys holds what is given for the key.
func (g *grouper) conflictKeys() string {
	key := g.arbiter()
	if key == nil {
		return g.unknownKey()
	}
	for _, name := range key.Columns {
		c := g.table.Column(name)
		v := g.valueOf(c)
		if v == nil {
			return "the INSERT has no value for the key"
		}
		x := ast.Unparen(v)
		switch {
		case x.Kind == ast.Param:
			if arg, ok := g.src.paramAt(x.Span); !ok {
				return "the INSERT has no value for the key"
			} else if c.Nullable || c.Identity {
				g.group.Upsert.Keys = append(g.group.Upsert.Keys, InsertedKey{arg, c.Identity})
			}
		case x.Kind == ast.String && !c.Identity:
		case x.Kind == ast.Number:
			if c.Identity && strings.Trim(g.noted(g.src.sql[x.Start:x.End]), "0.") == "" {
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
func (g *grouper) setByDatabase() string {
	assigned := func(name string) bool {
		for _, a := range g.st.Set {
			if n, ok := columnNamed(g.d, g.table, a.Column[len(a.Column)-1]); ok && n == name {
				return true
			}
		}
		return false
	}
	for i := range g.table.Columns {
		c := &g.table.Columns[i]
		if !c.OnUpdate || assigned(c.Name) {
			continue
		}
		given := g.valueOf(c)
		if now, shifted := g.clockTime(given); given != nil && now && !shifted || given == nil && c.Default == DefaultNow {
			continue
		}
		return "the database sets column " + c.Name + " of a row that is there"
	}
	return ""
}

// valueOf returns what the INSERT gives for a column, or nil.
func (g *grouper) valueOf(c *Column) *ast.Expr {
	i := g.insertIndex(ast.Ident{Name: c.Name, Quoted: true})
	if i < 0 || i >= len(g.st.Rows[0]) {
		return nil
	}
	return g.st.Rows[0][i]
}

// conflictSet sorts the assignments of the conflict clause.
func (g *grouper) conflictSet() string {
	g.sc.strict = g.d.Traits().StrictConflict
	defer func() { g.sc.strict = false }()
	for _, a := range g.st.Set {
		name, has := columnNamed(g.d, g.table, a.Column[len(a.Column)-1])
		slotted := g.real.Counter.Slots > 0 && g.real.Companion(name) != nil
		if !has || len(a.Column) > 1 || g.varies[name] || a.Value == nil || g.table.ChangesKey(name) || slotted {
			return "the conflict clause sets what slotsql does not analyze"
		}
		g.varies[name] = true
		c := g.table.Column(name)
		if !g.table.IsCounter(name) {
			// A new row has the value of the INSERT, one that is there that of SET.
			if !g.setsInserted(c, a.Value) {
				return "the conflict clause sets " + name + " to what the INSERT does not give for it"
			}
			continue
		}
		if why := g.countUpsert(c, a.Value); why != "" {
			return why
		}
	}
	return ""
}

// setsInserted reports whether the conflict clause sets a column to what the INSERT gives for it.
func (g *grouper) setsInserted(c *Column, value *ast.Expr) bool {
	if own, ok := g.excludedColumn(ast.Unparen(value)); ok {
		return own == c.Name && (g.valueOf(c) != nil || !c.Identity)
	}
	given := g.valueOf(c)
	if given == nil || g.unlike(value, none) != "" {
		return false
	}
	if arg, ok := g.src.paramAt(ast.Unparen(value).Span); ok {
		// A numbered placeholder in both places, each of which has the column's type.
		twin, ok := g.src.paramAt(ast.Unparen(given).Span)
		g.uses[arg] = append(g.uses[arg], c.Type, c.Type)
		return ok && twin == arg
	}
	fixed := true
	value.Walk(func(x *ast.Expr) bool {
		fixed = fixed && x.Kind != ast.Param && x.Kind != ast.ColumnRef
		return fixed
	})
	return fixed && g.noted(g.src.sql[value.Start:value.End]) == g.noted(g.src.sql[given.Start:given.End])
}

func (g *grouper) excludedColumn(e *ast.Expr) (name string, ok bool) {
	if e.Kind != ast.Excluded {
		return "", false
	}
	return columnNamed(g.d, g.table, e.Name[len(e.Name)-1])
}

// countUpsert takes in the increment of one counter, whose row begins with what is added.
func (g *grouper) countUpsert(c *Column, value *ast.Expr) string {
	ops, ok := g.additive(g.sc, value, g.table, c.Name)
	given := g.valueOf(c)
	if !ok || len(ops) != 1 || given == nil {
		return "the statement sets counter " + c.Name
	}
	first, ok := g.insertedDelta(c, c, operand{expr: given})
	if !ok {
		return "what is added to counter " + c.Name + " is not a literal or a placeholder"
	}
	n := counting{column: c, delta: first, operand: operand{expr: given}}
	if own, is := g.excludedColumn(ast.Unparen(ops[0].expr)); !is || own != c.Name || ops[0].negative {
		if n.delta, ok = g.deltaOf(c, ops); !ok {
			return "what is added to counter " + c.Name + " is not a literal or a placeholder"
		}
		if g.noted(n.delta.literal + " " + first.literal); n.delta != first {
			n.first = &first
		}
	} else {
		ops[0].expr = nil // it follows what is given
	}
	for _, d := range []delta{first, n.delta} {
		if why := g.addable(c, d); why != "" {
			return why
		}
	}
	if why := g.newRowTakes(c, given, first); why != "" {
		return why
	}
	if name := g.computes(c.Name); name != "" {
		return name + " is computed from counter " + c.Name + " of a new row, too"
	}
	ast.Unparen(value).Walk(func(x *ast.Expr) bool {
		n.coalesced = n.coalesced || g.coalesces(x)
		return true
	})
	if n.coalesced && c.Nullable {
		return "counter " + c.Name + " may be NULL"
	}
	g.counts = append(g.counts, n)
	if ops[0].expr == nil {
		return ""
	}
	at, flip, ok := g.amount(ops[0].expr, ops[0].negative)
	if !ok {
		return "cannot tell where what is added to counter " + c.Name + " stands"
	}
	g.used(c, ops[0].expr, n.delta)
	g.edit(at, g.sumText(c, Arg{Total: len(g.counts), Index: -1, Negate: flip}))
	return ""
}

// firstNumber returns what a new row begins with.
func (g *grouper) firstNumber(c *Column, d delta, most int64) (*FirstNumber, bool) {
	if d.literal == "" {
		arg := d.arg
		return &FirstNumber{Arg: &arg}, true
	}
	n, ok := g.literalUnits(c, d)
	return &FirstNumber{Literal: Literal{same: n}}, ok && n <= most && n >= -most
}

// upsertShares puts the sums in the place of what the INSERT gives.
func (g *grouper) upsertShares() string {
	if len(g.counts) == 0 {
		return "the statement sets a counter"
	}
	if why := g.shares(); why != "" || len(g.also) == 0 {
		return why
	}
	d, ok := g.d.(ConflictGroupingDialect)
	if !ok {
		return g.demand()
	}
	for i := range g.counts {
		c := g.counts[i].column
		fits := d.Stores(c, g.reference(c), g.sumText(c, Arg{Total: i + 1, Index: -1}))
		if fits == "" {
			continue
		}
		value := g.assignedValue(c)
		before, after := d.OnlyIf(fits)
		g.edits = append([]edit{{ast.At(value.Start), before}}, g.edits...)
		g.edit(ast.At(value.End), after)
	}
	return ""
}

// assignedValue returns what the conflict clause sets a counter to.
func (g *grouper) assignedValue(c *Column) *ast.Expr {
	for _, a := range g.st.Set {
		if name, ok := columnNamed(g.d, g.table, a.Column[len(a.Column)-1]); ok && name == c.Name {
			return a.Value
		}
	}
	return nil
}

package rewrite

import (
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
// For that, the second of them has to meet the row that the first has made: the key that
// they conflict on is given, alike for all, and is neither NULL nor a number that the
// database chooses.

// An upsertGrouper plans the group of an upsert.
type upsertGrouper struct {
	g *grouper
	p *planning
}

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
	if !(upsertGrouper{g, g.p}).upserts() {
		return plan
	}
	if plan.GroupReason = (upsertGrouper{g, g.p}).planUpsert(); plan.GroupReason != "" {
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
func (u upsertGrouper) upserts() bool {
	u.g.m.sc.Strict = u.p.d.Traits().StrictConflict
	defer func() { u.g.m.sc.Strict = false }()
	for _, a := range u.g.m.st.Set {
		name, has := names.Column(u.p.d, u.g.m.table, a.Column[len(a.Column)-1])
		if !has || !u.g.m.table.IsCounter(name) || a.Value == nil {
			continue
		}
		if ops, ok := u.p.additive(u.g.m.sc, a.Value, u.g.m.table, name); ok && len(ops) > 0 {
			return true
		}
	}
	return false
}

func (u upsertGrouper) planUpsert() string {
	if why := u.g.excluded(); why != "" {
		return why
	}
	if t := u.g.real; t.Triggers.Insert || t.Triggers.Update {
		return "a trigger fires on INSERT or UPDATE of the table"
	}
	u.g.group.Upsert = &UpsertGroup{Numbers: u.g.real.Numbers}
	steps := []func() string{
		u.inserted, u.conflictKeys, u.arbiterWhere, u.updateWhere, u.conflictSet, u.g.implies,
		u.setByDatabase, u.upsertShares, u.g.returning, u.g.arguments,
	}
	for _, step := range steps {
		if why := step(); why != "" {
			return why
		}
	}
	return ""
}

// inserted holds a new row to be the same whoever makes it.
func (u upsertGrouper) inserted() string {
	for i, e := range u.g.m.st.Rows[0] {
		if e == nil || u.g.unlike(e, none) != "" || ast.HasColumn(e) {
			return "a value of the INSERT may differ between executions"
		} else if len(u.g.m.st.Columns) == 0 && i >= len(u.g.m.table.Columns) {
			return "the INSERT has too many values"
		}
	}
	for i := range u.g.m.table.Columns {
		c := &u.g.m.table.Columns[i]
		switch given := u.valueOf(c) != nil; {
		case given:
		case c.Identity:
			u.g.group.Upsert.Numbers = true
		case c.Default == schema.DefaultComputed:
			return "the default of column " + c.Name + " is computed, perhaps from a counter"
		}
	}
	return ""
}

// conflictKeys holds what is given for the key.
func (u upsertGrouper) conflictKeys() string {
	key := u.arbiter()
	if key == nil {
		return insertion{u.g.m, u.p}.unknownKey()
	}
	for _, name := range key.Columns {
		c := u.g.m.table.Column(name)
		v := u.valueOf(c)
		if v == nil {
			return "the INSERT has no value for the key"
		}
		x := ast.Unparen(v)
		switch {
		case x.Kind == ast.Param:
			if arg, ok := u.p.src.paramAt(x.Span); !ok {
				return "the INSERT has no value for the key"
			} else if c.Nullable || c.Identity {
				u.g.group.Upsert.Keys = append(u.g.group.Upsert.Keys, InsertedKey{arg, c.Identity})
			}
		case x.Kind == ast.String && !c.Identity:
		case x.Kind == ast.Number:
			if c.Identity && strings.Trim(u.p.consts.noted(u.p.src.sql[x.Start:x.End]), "0.") == "" {
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
func (u upsertGrouper) setByDatabase() string {
	assigned := func(name string) bool {
		for _, a := range u.g.m.st.Set {
			if n, ok := names.Column(u.p.d, u.g.m.table, a.Column[len(a.Column)-1]); ok && n == name {
				return true
			}
		}
		return false
	}
	for i := range u.g.m.table.Columns {
		c := &u.g.m.table.Columns[i]
		if !c.OnUpdate || assigned(c.Name) {
			continue
		}
		given := u.valueOf(c)
		if now, shifted := u.p.consts.clockTime(given); given != nil && now && !shifted || given == nil && c.Default == schema.DefaultNow {
			continue
		}
		return "the database sets column " + c.Name + " of a row that is there"
	}
	return ""
}

// valueOf returns what the INSERT gives for a column, or nil.
func (u upsertGrouper) valueOf(c *schema.Column) *ast.Expr {
	i := u.g.m.insertIndex(ast.Ident{Name: c.Name, Quoted: true})
	if i < 0 || i >= len(u.g.m.st.Rows[0]) {
		return nil
	}
	return u.g.m.st.Rows[0][i]
}

// conflictSet sorts the assignments of the conflict clause.
func (u upsertGrouper) conflictSet() string {
	u.g.m.sc.Strict = u.p.d.Traits().StrictConflict
	defer func() { u.g.m.sc.Strict = false }()
	for _, a := range u.g.m.st.Set {
		name, has := names.Column(u.p.d, u.g.m.table, a.Column[len(a.Column)-1])
		slotted := u.g.real.Counter.Slots > 0 && u.g.real.Companion(name) != nil
		if !has || len(a.Column) > 1 || u.g.varies[name] || a.Value == nil || u.g.m.table.ChangesKey(name) || slotted {
			return "the conflict clause sets what slotsql does not analyze"
		}
		u.g.varies[name] = true
		c := u.g.m.table.Column(name)
		if !u.g.m.table.IsCounter(name) {
			// A new row has the value of the INSERT, one that is there that of SET.
			if !u.setsInserted(c, a.Value) {
				return "the conflict clause sets " + name + " to what the INSERT does not give for it"
			}
			continue
		}
		if why := u.countUpsert(c, a.Value); why != "" {
			return why
		}
	}
	return ""
}

// setsInserted reports whether the conflict clause sets a column to what the INSERT gives for it.
func (u upsertGrouper) setsInserted(c *schema.Column, value *ast.Expr) bool {
	if own, ok := u.excludedColumn(ast.Unparen(value)); ok {
		return own == c.Name && (u.valueOf(c) != nil || !c.Identity)
	}
	given := u.valueOf(c)
	if given == nil || u.g.unlike(value, none) != "" {
		return false
	}
	if arg, ok := u.p.src.paramAt(ast.Unparen(value).Span); ok {
		// A numbered placeholder in both places, each of which has the column's type.
		twin, ok := u.p.src.paramAt(ast.Unparen(given).Span)
		u.g.uses[arg] = append(u.g.uses[arg], c.Type, c.Type)
		return ok && twin == arg
	}
	fixed := true
	value.Walk(func(x *ast.Expr) bool {
		fixed = fixed && x.Kind != ast.Param && x.Kind != ast.ColumnRef
		return fixed
	})
	return fixed && u.p.consts.noted(u.p.src.sql[value.Start:value.End]) == u.p.consts.noted(u.p.src.sql[given.Start:given.End])
}

func (u upsertGrouper) excludedColumn(e *ast.Expr) (name string, ok bool) {
	if e.Kind != ast.Excluded {
		return "", false
	}
	return names.Column(u.p.d, u.g.m.table, e.Name[len(e.Name)-1])
}

// countUpsert takes in the increment of one counter, whose row begins with what is added.
func (u upsertGrouper) countUpsert(c *schema.Column, value *ast.Expr) string {
	ops, ok := u.p.additive(u.g.m.sc, value, u.g.m.table, c.Name)
	given := u.valueOf(c)
	if !ok || len(ops) != 1 || given == nil {
		return "the statement sets counter " + c.Name
	}
	first, ok := u.p.consts.insertedDelta(c, c, operand{expr: given})
	if !ok {
		return "what is added to counter " + c.Name + " is not a literal or a placeholder"
	}
	n := counting{column: c, delta: first, operand: operand{expr: given}}
	if own, is := u.excludedColumn(ast.Unparen(ops[0].expr)); !is || own != c.Name || ops[0].negative {
		if n.delta, ok = u.p.consts.deltaOf(c, ops); !ok {
			return "what is added to counter " + c.Name + " is not a literal or a placeholder"
		}
		if u.p.consts.noted(n.delta.literal + " " + first.literal); n.delta != first {
			n.first = &first
		}
	} else {
		ops[0].expr = nil // it follows what is given
	}
	for _, d := range []delta{first, n.delta} {
		if why := u.g.addable(c, d); why != "" {
			return why
		}
	}
	if why := u.newRowTakes(c, given, first); why != "" {
		return why
	}
	if name := (checkConstraints{u.g, u.p}).computes(c.Name); name != "" {
		return name + " is computed from counter " + c.Name + " of a new row, too"
	}
	ast.Unparen(value).Walk(func(x *ast.Expr) bool {
		n.coalesced = n.coalesced || u.p.consts.coalesces(x)
		return true
	})
	if n.coalesced && c.Nullable {
		return "counter " + c.Name + " may be NULL"
	}
	u.g.counts = append(u.g.counts, n)
	if ops[0].expr == nil {
		return ""
	}
	at, flip, ok := u.g.amount(ops[0].expr, ops[0].negative)
	if !ok {
		return "cannot tell where what is added to counter " + c.Name + " stands"
	}
	u.g.used(c, ops[0].expr, n.delta)
	u.g.edit(at, u.g.sumText(c, Arg{Total: len(u.g.counts), Index: -1, Negate: flip}))
	return ""
}

// firstNumber returns what a new row begins with.
func (u upsertGrouper) firstNumber(c *schema.Column, d delta, most int64) (*FirstNumber, bool) {
	if d.literal == "" {
		arg := d.arg
		return &FirstNumber{Arg: &arg}, true
	}
	n, ok := u.g.literalUnits(c, d)
	return &FirstNumber{Literal: Literal{same: n}}, ok && n <= most && n >= -most
}

// upsertShares puts the sums in the place of what the INSERT gives.
func (u upsertGrouper) upsertShares() string {
	if len(u.g.counts) == 0 {
		return "the statement sets a counter"
	}
	if why := u.g.shares(); why != "" || len(u.g.also) == 0 {
		return why
	}
	d, ok := u.p.d.(ConflictGroupingDialect)
	if !ok {
		return u.g.demand()
	}
	for i := range u.g.counts {
		c := u.g.counts[i].column
		fits := d.Stores(c, u.g.reference(c), u.g.sumText(c, Arg{Total: i + 1, Index: -1}))
		if fits == "" {
			continue
		}
		value := u.assignedValue(c)
		before, after := d.OnlyIf(fits)
		u.g.edits = append([]edit{{ast.At(value.Start), before}}, u.g.edits...)
		u.g.edit(ast.At(value.End), after)
	}
	return ""
}

// assignedValue returns what the conflict clause sets a counter to.
func (u upsertGrouper) assignedValue(c *schema.Column) *ast.Expr {
	for _, a := range u.g.m.st.Set {
		if name, ok := names.Column(u.p.d, u.g.m.table, a.Column[len(a.Column)-1]); ok && name == c.Name {
			return a.Value
		}
	}
	return nil
}

package rewrite

// This file plans the group of an upsert whose row gets, where it is new, what it would
// be counted up by if it were there: INSERT ... VALUES (k, 1) ON CONFLICT (k) DO UPDATE
// SET n = t.n + 1. The same statement with the sum in both places then does what all
// members do one after another, whether the row is there or not: the first of them makes
// it, and the others add to it.

// planUpsertGroup is planGroup for an upsert.
func (p *planning) planUpsertGroup(plan *Plan, st *Statement) *Plan {
	c := st.Conflict
	if plan.Class != AdditiveBase && plan.Class != Drain || c == nil || c.Nothing || st.Opaque != "" || st.Target == nil || st.Replace ||
		len(st.Rows) != 1 || st.Select != nil {
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
	if plan.GroupReason = g.planUpsert(); plan.GroupReason == "" {
		plan.Group = g.group
		plan.Group.Bound = g.text()
	}
	return plan
}

// upserts reports whether the statement increments a counter of a row that is there.
func (g *grouper) upserts() bool {
	g.sc.strict = g.d.Traits().StrictConflict
	defer func() { g.sc.strict = false }()
	for _, a := range g.st.Set {
		name, has := columnNamed(g.planning, g.table, a.Column[len(a.Column)-1])
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
	_, others := g.d.(GroupingDialect)
	switch t, c := g.real, g.st.Conflict; {
	case others, t.Numbers, g.d.Traits().UpsertCounts:
		return "the session tells more of an upsert than a group could"
	case t.InsertTrigger || t.UpdateTrigger:
		return "a trigger fires on INSERT or UPDATE of the table"
	case c.Where != nil || c.Predicate != nil:
		return "the conflict clause has a WHERE"
	case g.conflictKey() == nil:
		return "cannot tell which unique key the upsert conflicts on"
	}
	for i, e := range g.st.Rows[0] {
		if e == nil || g.unlike(e, none) != "" {
			return "a value of the INSERT may differ between executions"
		} else if len(g.st.Columns) == 0 && i >= len(g.table.Columns) {
			return "the INSERT has too many values"
		}
	}
	for i := range g.table.Columns {
		if c := &g.table.Columns[i]; c.Identity && g.valueOf(c) == nil {
			return "the database numbers column " + c.Name
		}
	}
	for _, step := range []func() string{g.conflictSet, g.implies, g.upsertShares, g.returning, g.arguments} {
		if why := step(); why != "" {
			return why
		}
	}
	return ""
}

// valueOf returns what the INSERT gives for a column, or nil.
func (g *grouper) valueOf(c *Column) *Expr {
	i := g.insertIndex(Ident{Name: c.Name, Quoted: true})
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
		name, has := columnNamed(g.planning, g.table, a.Column[len(a.Column)-1])
		if !has || len(a.Column) > 1 || g.varies[name] || a.Value == nil || g.table.IsKey(name) || g.slottedToo(name) {
			return "the conflict clause sets what slotsql does not analyze"
		}
		g.varies[name] = true
		c, e := g.table.Column(name), bare(a.Value)
		if !g.table.IsCounter(name) {
			// A new row has the value of the INSERT, one that is there that of SET.
			if own, ok := g.excludedColumn(e); !ok || own != name {
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

func (g *grouper) excludedColumn(e *Expr) (name string, ok bool) {
	if e.Kind != Excluded {
		return "", false
	}
	return columnNamed(g.planning, g.table, e.Name[len(e.Name)-1])
}

// countUpsert takes in the increment of one counter, whose row begins with what is added.
func (g *grouper) countUpsert(c *Column, value *Expr) string {
	ops, ok := g.additive(g.sc, value, g.table, c.Name)
	given := g.valueOf(c)
	if !ok || len(ops) != 1 || given == nil {
		return "the statement sets counter " + c.Name
	}
	first, ok := g.deltaOf(c, []operand{{expr: given}})
	if !ok {
		return "what is added to counter " + c.Name + " is not a literal or a placeholder"
	}
	if own, is := g.excludedColumn(bare(ops[0].expr)); !is || own != c.Name || ops[0].negative {
		if d, ok := g.deltaOf(c, ops); !ok || d != first {
			return "a new row does not begin with what is added to counter " + c.Name
		}
	} else {
		ops[0].expr = nil // it follows what is given
	}
	if why := g.addable(c, first); why != "" {
		return why
	}
	if contains(g.real.Checked, c.Name) || g.checkedThrough(c.Name) {
		return "a CHECK constraint of counter " + c.Name + " applies to a new row, too"
	}
	n := counting{column: c, delta: first, operand: operand{expr: given}}
	bare(value).Walk(func(x *Expr) bool {
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
	g.used(c, ops[0].expr, first)
	g.edit(at, g.sumText(c, Arg{Total: len(g.counts), Index: -1, Negate: flip}))
	return ""
}

// upsertShares puts the sums in the place of what the INSERT gives.
func (g *grouper) upsertShares() string {
	if len(g.counts) == 0 {
		return "the statement sets a counter"
	}
	return g.shares()
}

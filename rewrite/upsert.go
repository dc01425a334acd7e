package rewrite

import "github.com/slotsql/slotsql/rewrite/ast"

// This file plans INSERT ... ON CONFLICT DO UPDATE and ON DUPLICATE KEY UPDATE.

func (m *dml) planUpsert() *Plan {
	st, c := m.st, m.st.Conflict
	source := m.planSource()
	if source.Class != PassThrough {
		if source.Class == Drain {
			return source
		}
		if source.Class == Read {
			// Its conflict clause is judged below; the totals it reads stand
			// in the query, and both see the same row only when the query
			// reads the target.
			return m.upsertFromCounters(source)
		}
		return m.upsertBesideIncrements(source)
	}
	return m.conflict(c, st)
}

// upsertBesideIncrements: WITH queries increment counters as they are. So does the upsert, or it changes none:
// all of it is then an addition to base values, of the same row as well.
func (m *dml) upsertBesideIncrements(source *Plan) *Plan {
	if source.Class == AdditiveBase && source.AsIs() {
		if plan := m.conflict(m.st.Conflict, m.st); plan.AsIs() {
			plan.Class, plan.Tables = AdditiveBase, names(m.mentioned())
			plan.Base.Changes = append(plan.Base.Changes, source.Base.Changes...)
			return plan
		}
	}
	return m.drainAll(m.mentioned(), "a WITH query increments a counter that the upsert writes")
}

// upsertFromCounters: INSERT ... SELECT total ... ON CONFLICT: as the conflict
// clause allows.
func (m *dml) upsertFromCounters(source *Plan) *Plan {
	plan := m.conflict(m.st.Conflict, m.st)
	if plan.Class == PassThrough || plan.Class == AdditiveBase && plan.AsIs() {
		source.Reason = plan.Reason
		return m.changedUpserted(source)
	}
	return m.drainAll(m.mentioned(), "the upsert both reads and changes counters")
}

func (m *dml) conflict(c *ast.Conflict, st *ast.Statement) *Plan {
	all := m.drainInserted
	m.sc.strict = m.d.Traits().StrictConflict
	assigned, why := m.assignments(c.Set)
	if why != "" {
		return all(why)
	}
	plan := m.planConflict(c, st, assigned)
	if assigned.setsCompanion() && (plan.Class == AdditiveBase || plan.Class == PassThrough) {
		return all("the upsert sets companion " + assigned.companionName() + because(assigned.held, plan.Reason))
	}
	if plan.Class == AdditiveBase || plan.Class == PassThrough {
		return m.changedUpserted(plan)
	}
	return plan
}

// planConflict plans an upsert by the assignments of its conflict clause.
func (m *dml) planConflict(c *ast.Conflict, st *ast.Statement, as assigned) *Plan {
	all := m.drainInserted
	r := &reader{planning: m.planning}
	b := &blockReader{r, m.conflictScope(), nil}
	for _, a := range c.Set {
		if a.Value == nil || as.except[a.Value] {
			continue
		}
		if err := b.expr(a.Value, inPredicate); err != nil {
			return all(reasonOf(err))
		}
	}
	for _, e := range append([]*ast.Expr{c.Where, c.Predicate}, c.Others...) {
		if err := b.expr(e, inPredicate); err != nil {
			return all(reasonOf(err))
		}
	}
	if err := m.returning(b); err != nil {
		return all(reasonOf(err))
	}
	if len(r.edits) > 0 || r.found.locks {
		return all("the conflict clause reads a counter")
	}
	if len(as.increments) == 0 {
		return &Plan{Class: PassThrough}
	}
	plan := &Plan{Class: AdditiveBase, Tables: []string{m.table.Name}}
	for _, inc := range as.increments {
		ds, ok := m.insertedDeltas(inc)
		if !ok {
			require, why := m.onBase(m.sc, m.target, false, inc.column, inc.ops)
			if why != "" {
				return all(why)
			}
			plan.Base.Require = append(plan.Base.Require, require...)
			continue
		}
		for _, d := range ds {
			require, why := d.onBase(inc.column)
			if why != "" {
				return all(why)
			}
			if require != nil {
				plan.Base.Require = append(plan.Base.Require, *require)
			}
		}
	}
	plan.Base.Cover = m.covers
	if !plan.AsIs() {
		plan.Drain.Tables = all("").Drain.Tables
	}
	if why := m.notSlotted(as); why != "" {
		plan.Reason = why
		return plan
	}
	return m.slottedUpsert(plan, as)
}

// insertedDeltas returns the deltas of an increment by a placeholder, or by
// EXCLUDED.c / VALUES(c): what the rows of VALUES hold for that column.
func (m *dml) insertedDeltas(inc increment) ([]delta, bool) {
	if d, ok := m.deltaOf(inc.column, inc.ops); ok {
		return []delta{d}, true
	}
	i, of := m.insertedAt(inc.ops)
	if i < 0 || len(m.st.Rows) == 0 {
		return nil, false
	}
	var out []delta
	for _, row := range m.st.Rows {
		if i >= len(row) {
			return nil, false
		}
		d, ok := m.insertedDelta(inc.column, of, operand{expr: row[i], negative: inc.ops[0].negative})
		if !ok {
			return nil, false
		}
		out = append(out, d)
	}
	return out, true
}

// insertedAt returns the position, in the rows of VALUES, of an increment by
// EXCLUDED.c, or by COALESCE(EXCLUDED.c, 0): a delta that is NULL is not simple.
// It returns -1 for any other increment, and else the column, too.
func (m *dml) insertedAt(ops []operand) (int, *Column) {
	if len(ops) != 1 || ops[0].expr == nil || ops[0].sometimes {
		return -1, nil
	}
	e := ast.Unparen(ops[0].expr)
	if m.coalesces(e) && ast.Constant(e.Args[1]) {
		e = ast.Unparen(e.Args[0])
	}
	if e.Kind != ast.Excluded {
		return -1, nil
	}
	written := e.Name[len(e.Name)-1]
	name, ok := columnNamed(m.d, m.table, written)
	if !ok {
		return -1, nil
	}
	return m.insertIndex(written), m.table.Column(name)
}

// insertIndex returns the position of a column in the INSERT's column list.
func (m *dml) insertIndex(written ast.Ident) int {
	name, ok := columnNamed(m.d, m.table, written)
	if !ok {
		return -1
	}
	if len(m.st.Columns) == 0 {
		for i := range m.table.Columns {
			if m.table.Columns[i].Name == name {
				return i
			}
		}
		return -1
	}
	for i, c := range m.st.Columns {
		if m.d.SameColumn(c, name) {
			return i
		}
	}
	return -1
}

// conflictKey returns the unique key that a conflict of the inserted row is
// about.
func (m *dml) conflictKey() *Unique {
	c, t := m.st.Conflict, m.table
	if len(c.Others) > 0 {
		return nil
	}
	var found *Unique
	for i := range t.Uniques {
		u := &t.Uniques[i]
		switch {
		case c.Constraint != nil:
			if !u.Index && m.d.SameColumn(*c.Constraint, u.Name) {
				return u
			}
		case len(c.Columns) > 0:
			if m.sameSet(c.Columns, u.Columns) {
				return u
			}
		case m.d.Traits().StrictConflict:
			return nil
		default:
			// ON DUPLICATE KEY: any key the row gives values for.
			given := true
			for _, name := range u.Columns {
				given = given && m.insertIndex(ast.Ident{Name: name, Quoted: true}) >= 0
			}
			if given {
				if found != nil {
					return nil
				}
				found = u
			}
		}
	}
	for i := range t.Uniques {
		if u := &t.Uniques[i]; found != nil && u != found && !m.meetsNone(u) {
			return nil // a default value could meet another key
		}
	}
	return found
}

// unknownKey is the reason of an upsert without a conflictKey.
func (m *dml) unknownKey() string {
	if len(m.st.Conflict.Others) > 0 {
		return "the upsert conflicts on an expression, or on a column with a collation"
	}
	return "cannot tell which unique key the upsert conflicts on"
}

// meetsNone reports whether the INSERT meets no row by a key: it leaves a column out that
// gets a new number, or NULL.
func (m *dml) meetsNone(u *Unique) bool {
	for _, name := range u.Columns {
		c := m.table.Column(name)
		if c != nil && m.insertIndex(ast.Ident{Name: name, Quoted: true}) < 0 && (c.Identity || c.Nullable && !c.HasDefault && !c.Generated) {
			return true
		}
	}
	return false
}

func (m *dml) sameSet(written []ast.Ident, stored []string) bool {
	if len(written) != len(stored) {
		return false
	}
	for _, s := range stored {
		ok := false
		for _, w := range written {
			ok = ok || m.d.SameColumn(w, s)
		}
		if !ok {
			return false
		}
	}
	return true
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

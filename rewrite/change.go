package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A transaction reads its own changes. When it has changed a row of a counter
// table and then reads the row's counter, slots have to be of the same version
// as the row; package session sees to that (rowchange.go). For it a plan tells which
// rows its statement changes where it runs without a drain.

// changed notes the rows of t that an UPDATE changes: those that WHERE fixes,
// found by it after the change as well as before.
func (m *dml) changed(plan *Plan, t *schema.Table) *Plan {
	if plan.Class != PassThrough && plan.Class != AdditiveBase || m.p.d.Traits().OneWriter {
		return plan
	}
	var rows *rowset
	target, where, alone := m.target, m.st.Where, m.alone()
	if b := m.joined(); b != nil {
		target, where, alone = b, joinedOn(m.st.From, where), true
	}
	if alone && len(t.Counter.Key) > 0 {
		rows = m.p.keys.fixedRows(m.sc, target, where)
		if rows != nil && !m.keeps(t, rows.key) {
			rows = nil
		}
	}
	plan.Base.Changes = []DrainTable{m.p.drains.drainTable(t, rows)}
	plan.Base.LocksOthers = m.locks
	plan.Base.Counted = rows != nil && len(m.st.From)+len(m.st.With) == 0 && !t.Triggers.Ruled
	return plan
}

// readsBesides notes in a plan whether its statement reads anything but what it locks. One of a table without triggers that has
// no other source, no query and no function does not: the last three may read whatever there is.
func (p *planning) readsBesides(plan *Plan, st *ast.Statement) *Plan {
	if st.Target == nil || st.Opaque != "" || st.Select != nil || len(st.From)+len(st.With) > 0 {
		return plan
	}
	t, _ := p.names.Lookup(st.Target.Name)
	only := t != nil && !t.IsView && !t.Triggers.Update && !(t.Triggers.Insert && st.Kind == ast.KindInsert)
	v := ast.Visitor{Expr: func(e *ast.Expr) {
		switch e.Kind {
		case ast.Call, ast.Subquery:
			only = false
		case ast.Opaque:
			only = only && (nullTest(e) != nil || equalFold(e.Op, "between"))
		}
	}}
	v.Walk(st)
	plan.Base.LocksOnly = only
	return plan
}

// keeps reports whether the statement leaves a row's key as it is.
func (m *dml) keeps(t *schema.Table, key *schema.Unique) bool {
	for _, name := range key.Columns {
		c := t.Column(name)
		if c == nil || c.Generated || t.Triggers.Update && !t.IsKey(name) {
			return false
		}
		for _, a := range m.st.Set {
			if m.p.d.SameColumn(a.Column[len(a.Column)-1], name) {
				return false
			}
		}
	}
	return true
}

// changedJoined notes the rows of tables that an UPDATE of several changes.
func (m *dml) changedJoined(plan *Plan, tables []*schema.Table) *Plan {
	if m.joined() != nil && len(tables) == 1 {
		return m.changed(plan, tables[0])
	}
	return m.p.drains.changedAll(plan, tables)
}

// changedAll notes all rows of tables.
func (dr *drainer) changedAll(plan *Plan, tables []*schema.Table) *Plan {
	if dr.d.Traits().OneWriter {
		return plan
	}
	for _, t := range tables {
		plan.Base.Changes = append(plan.Base.Changes, dr.drainTable(t, nil))
	}
	return plan
}

// changedUpserted notes the rows that an upsert may change.
func (ins insertion) changedUpserted(plan *Plan) *Plan {
	if plan.Class == Drain || plan.Class == Refused || ins.p.d.Traits().OneWriter {
		return plan
	}
	for _, d := range ins.drainInserted("").Drain.Tables {
		if d.Table == ins.m.table {
			plan.Base.Changes = []DrainTable{d}
		}
	}
	return plan
}

// inserted notes the rows that an INSERT makes. Where a transaction cannot see
// slots of an earlier row of their key that is of no interest, nor where the
// database gives the key, a new one.
func (ins insertion) inserted(plan *Plan) *Plan {
	if plan.Class == Drain || plan.Class == Refused {
		return plan
	}
	t := ins.m.table
	all := ins.p.drains.drainTable(t, nil)
	if all.Versions == nil {
		return plan
	}
	plan.Base.Fresh = true
	plan.Base.Changes = []DrainTable{all}
	var key *schema.Unique
	for i := range t.Uniques {
		if ins.sameKey(t.Uniques[i].Columns, t.Counter.Key) {
			key = &t.Uniques[i]
		}
	}
	lists := ins.givenLists()
	if key == nil || len(lists) == 0 || len(lists) > maxGivenRows || t.Triggers.Insert {
		return plan
	}
	var any []fragment
	var given []InsertedArg
	for _, list := range lists {
		where, more, ok := ins.givenKey(key, list)
		if !ok {
			return plan
		}
		if where != nil {
			any, given = append(any, *where), append(given, more...)
		}
	}
	if len(any) == 0 {
		plan.Base.Fresh, plan.Base.Changes = false, nil
		return plan
	}
	b := ownRows(t)
	d := ins.p.drains.drainTable(t, &rowset{binding: b, where: join(any, " OR ")})
	d.New = &NewRows{Inserted: given, All: &all}
	plan.Base.Changes = []DrainTable{d}
	return plan
}

func (ins insertion) sameKey(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for _, name := range a {
		if !slices.Contains(b, name) {
			return false
		}
	}
	return len(a) > 0
}

// within notes that a data-modifying CTE changes a table.
func (p *planning) within(t *schema.Table) {
	if !slices.Contains(p.changedWithin, t) {
		p.changedWithin = append(p.changedWithin, t)
	}
}

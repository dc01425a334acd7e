package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file holds what INSERT, UPDATE and DELETE have in common.

// planDML plans an INSERT, UPDATE or DELETE.
func (p *planning) planDML(st *ast.Statement) *Plan {
	switch st.Kind {
	case ast.KindInsert:
		return p.planInsert(st)
	case ast.KindUpdate:
		return p.planUpdate(st)
	case ast.KindDelete:
		return p.planDelete(st)
	}
	return p.drains.drainAll(p.mentions.tables(), "there is no faster plan for this kind of statement")
}

// dml is the common part of planning a statement that writes.
type dml struct {
	p      *planning
	st     *ast.Statement
	sc     *names.Scope
	target *names.Binding // nil when the target is no single table
	table  *schema.Table  // the target's counter table, or nil
	once   bool           // no other source of the statement is a counter table
	locks  bool           // a query in it locks rows of counter tables, and reads no counter
}

func (p *planning) newDML(st *ast.Statement) *dml {
	from := st.From
	if st.Target != nil {
		from = append([]*ast.Source{st.Target}, from...)
	}
	m := &dml{p: p, st: st, sc: p.names.NewScope(p.outer, st.With, from)}
	if st.Target != nil {
		m.target = m.sc.Bindings[0]
		m.table = m.target.Table
	}
	m.once = p.names.Sources(st) == 1
	return m
}

func (m *dml) drain(reason string) *Plan {
	if b := m.joined(); b != nil {
		return m.p.drains.drainRows(m.st, m.sc, b, joinedOn(m.st.From, m.st.Where), true, reason)
	}
	return m.p.drains.drainRows(m.st, m.sc, m.target, m.st.Where, m.alone(), reason)
}

// alone reports whether the counters of no other rows than those that WHERE selects
// are read: no other source is a counter table, or what reads it, a subquery,
// reads no counter.
func (m *dml) alone() bool {
	st := m.st
	if m.table == nil || m.once {
		return m.table != nil
	}
	if len(st.From) > 0 || len(st.With) > 0 {
		return false
	}
	list := append([]*ast.Expr{st.Where}, st.OrderBy...)
	list = append(list, st.Limit...)
	for _, a := range st.Set {
		list = append(list, a.Value)
	}
	for _, it := range st.Returning {
		list = append(list, it.Expr)
	}
	r := m.reader()
	for _, e := range list {
		if err := r.subqueries(m.sc, e); err != nil {
			return false
		}
	}
	return len(r.edits) == 0 && !r.found.locks && !r.found.writes
}

// reads reports whether any part of the statement reads a counter, the listed
// expressions excepted.
func (m *dml) reads(except map[*ast.Expr]bool) (bool, string) {
	r := &reader{p: m.p}
	err := m.read(r, except)
	switch {
	case err != nil:
		return true, names.Reason(err)
	case len(r.edits) > 0 && !r.found.counter:
		return true, "the statement reads a companion"
	case len(r.edits) > 0:
		return true, readsCounter
	case r.found.locks && !r.locksOnly():
		return true, "the statement locks rows of a counter table"
	}
	m.locks = r.found.locks
	return false, ""
}

func (m *dml) read(r *reader, except map[*ast.Expr]bool) error {
	b := r.in(m.sc, nil)
	if err := r.ctes(m.sc, m.st.With); err != nil {
		return err
	}
	for _, s := range m.st.From {
		if err := r.source(m.sc, m.sc.Parent, s); err != nil {
			return err
		}
	}
	list := append([]*ast.Expr{m.st.Where}, m.st.OrderBy...)
	list = append(list, m.st.Limit...)
	for _, a := range m.st.Set {
		list = append(list, a.Value)
	}
	for _, e := range list {
		if e == nil || except[e] {
			continue
		}
		if err := b.expr(e, inPredicate); err != nil {
			return err
		}
	}
	return m.returning(b)
}

func (m *dml) returning(b *blockReader) error {
	for _, it := range m.st.Returning {
		if it.Expr != nil && it.Expr.Kind == ast.Star {
			for _, s := range m.sc.Bindings {
				if s.Counts {
					return names.Opaque("RETURNING * returns a counter")
				}
			}
			continue
		}
		before := len(b.r.edits)
		if err := b.expr(it.Expr, inItems); err != nil {
			return err
		}
		if len(b.r.edits) > before {
			return names.Opaque(returnsCounter)
		}
	}
	return nil
}

func (m *dml) reader() *reader { return &reader{p: m.p, values: totals} }

// planOther plans a write to a table without counters: its reads of counters
// become totals where they stand in a subquery, else it is drained for.
func (m *dml) planOther() *Plan {
	r, err := m.p.reading(m.reader, func(r *reader) error {
		// What is derived is no source of counters any more. The target is no
		// counter table: nothing takes its place.
		m.sc = m.p.newDML(m.st).sc
		return m.read(r, nil)
	})
	return m.p.planReads(r, err, "the statement locks rows of a counter table")
}

// planReads plans a statement that writes no counter itself by what a reader
// has found in it, or by the error it ended with.
func (p *planning) planReads(r *reader, err error, locked string) *Plan {
	switch {
	case err != nil:
		return p.drains.drainAll(p.mentions.tables(), names.Reason(err))
	case r.found.locks:
		return p.drains.drainAll(p.mentions.tables(), locked)
	case r.found.writes && len(r.edits) > 0:
		return p.drains.drainAll(p.mentions.tables(), "a WITH query increments a counter that the statement also reads")
	case r.found.writes:
		return &Plan{Class: AdditiveBase}
	case len(r.edits) == 0:
		return &Plan{Class: PassThrough}
	}
	sql, args := r.written()
	return &Plan{
		Class:  Read,
		Reason: r.form(),
		Tables: tableNames(r.tables),
		SQL:    sql,
		Read:   ReadPlan{Args: args, Stars: r.stars, reader: r},
	}
}

// deleted returns the counter tables that a DELETE removes rows of. One of
// several tables names those that lose rows; the others it only reads.
func (m *dml) deleted() (tables []*schema.Table) {
	if m.target != nil {
		if m.table != nil {
			tables = append(tables, m.table)
		}
		return tables
	}
	for _, b := range m.sc.Bindings {
		for _, name := range m.st.DeleteFrom {
			if b.Counts && m.p.names.SameLabel(name[len(name)-1], b.Label) {
				tables = append(tables, b.Table)
			}
		}
	}
	return tables
}

// notCascaded returns why a DELETE has to fold the slots of what it deletes, or "": a
// row that comes to have the key afterwards must not find them. The drain
// deletes them, after it has folded them, and no session makes new ones before its
// transaction ends: a session that makes a slot row locks the base row, and finds it gone
// afterwards.
func notCascaded(d Dialect, deleted []*schema.Table) string {
	for _, t := range deleted {
		if !cascadesDelete(d, t) {
			return "the slots of " + t.Name + " are not deleted with the row"
		}
	}
	return ""
}

// cascadesDelete reports whether the engine deletes the slot rows of a base row that is deleted.
func cascadesDelete(d Dialect, t *schema.Table) bool {
	if d.Traits().SlotTriggers {
		return t.Counter.CascadesDelete() && !t.Counter.SlotTable.Untended
	}
	return t.Counter.CascadesDelete() && !t.Counter.SlotTable.NoForeignKey
}

func (p *planning) planDelete(st *ast.Statement) *Plan {
	if st.Opaque != "" {
		return p.drains.drainAll(p.mentions.tables(), st.Opaque)
	}
	m := p.newDML(st)
	deleted := m.deleted()
	if len(deleted) == 0 {
		return m.planOther()
	}
	if reads, why := m.reads(nil); reads {
		return m.drain(why)
	}
	if why := notCascaded(m.p.d, deleted); why != "" {
		return m.drain(why)
	}
	// The slot rows go with the base row: the engine's own cascade deletes them.
	plan := &Plan{Class: PassThrough, Base: BasePlan{DeletesFrom: deleted}}
	if m.locks {
		plan = m.p.drains.changedAll(plan, m.p.mentions.tables())
		plan.Base.LocksOthers = true
	}
	return plan
}

package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// planInsert plans INSERT and REPLACE. A new row has no slots, so a plain
// INSERT runs as it is; its conflict clause is what matters.
func (p *planning) planInsert(st *ast.Statement) *Plan {
	if st.Opaque != "" {
		return p.drains.drainAll(p.mentions.tables(), st.Opaque)
	}
	m := p.newDML(asRow(st))
	st = m.st
	if m.table == nil {
		r, err := p.reading(m.reader, insertionOf(m).readInsert)
		return m.p.planReads(r, err, locksRows)
	}
	if m.table.Counter.Single() {
		// What the slots hold is the one row's. Once it has got it, another row
		// may come: increments see that there are two, and use no slots.
		return p.drains.drainAll(p.mentions.tables(), "the statement may add a row to a single-row table")
	}
	if st.Conflict == nil || st.Conflict.Nothing {
		if st.Replace && !(p.d.Traits().ReplaceCascades && cascadesDelete(p.d, m.table)) {
			// The rows it replaces may be found by any unique key.
			return insertionOf(m).drainInserted(mayReplace)
		}
		ins := insertionOf(m)
		return ins.inserted(ins.planSource())
	}
	return insertionOf(m).planUpsert()
}

// asRow takes MySQL's INSERT ... SET a = 1, b = 2 for what it is another way to
// write: INSERT ... (a, b) VALUES (1, 2).
func asRow(st *ast.Statement) *ast.Statement {
	if len(st.Set) == 0 || len(st.Rows) > 0 || st.Select != nil {
		return st
	}
	out := *st
	out.Columns, out.Rows, out.Set = nil, make([][]*ast.Expr, 1), nil
	for _, a := range st.Set {
		out.Columns = append(out.Columns, a.Column[len(a.Column)-1])
		out.Rows[0] = append(out.Rows[0], a.Value)
	}
	return &out
}

// An insertion plans an INSERT into a table with counters: its source, its conflict clause, and which rows it may meet.
type insertion struct {
	m *dml
	p *planning
}

func insertionOf(m *dml) insertion { return insertion{m, m.p} }

// planSource plans an INSERT that writes new rows only: counters that its
// query or values read become totals.
func (ins insertion) planSource() *Plan {
	r, err := ins.p.reading(ins.m.reader, ins.readSource)
	if err == nil && ins.m.st.Conflict == nil {
		err = ins.returningQueries()
	}
	return ins.p.planReads(r, err, locksRows)
}

// returningQueries: the counters of a new row are its base values, but a
// subquery in RETURNING may read other rows.
func (ins insertion) returningQueries() error {
	r := &reader{p: ins.p}
	for _, it := range ins.m.st.Returning {
		if it.Expr == nil {
			continue
		}
		if err := r.subqueries(ins.m.sc, it.Expr); err != nil {
			return err
		}
	}
	if len(r.edits) > 0 {
		return names.Opaque("RETURNING reads a counter in a subquery")
	}
	return nil
}

// readSource edits what an INSERT reads. Its VALUES and query do not see the
// target's columns.
func (ins insertion) readSource(r *reader) error {
	outer := ins.p.names.WithScope(ins.p.outer, ins.m.st.With)
	if err := r.ctes(outer, ins.m.st.With); err != nil {
		return err
	}
	if err := r.query(outer, ins.m.st.Select); err != nil {
		return err
	}
	b := r.in(&names.Scope{Parent: outer}, nil)
	for _, row := range ins.m.st.Rows {
		for _, e := range row {
			if err := b.expr(e, inPredicate); err != nil {
				return err
			}
		}
	}
	return nil
}

// readInsert edits what an INSERT into a table without counters reads: beside
// its source, the conflict clause and RETURNING.
func (ins insertion) readInsert(r *reader) error {
	if err := ins.readSource(r); err != nil {
		return err
	}
	before := len(r.edits)
	if err := ins.readConflict(r.in(ins.m.sc, nil)); err != nil {
		return err
	}
	if ins.p.d.Traits().UpsertSeesQuery {
		// A column of the query's own table is not within reach of a subquery
		// there.
		wide := &reader{p: ins.p}
		if err := ins.readConflict(wide.in(ins.conflictScope(), nil)); err != nil {
			return err
		}
		if len(wide.edits) > len(r.edits)-before {
			return names.Opaque("the conflict clause reads a counter of the query's table")
		}
	}
	return ins.m.returning(r.in(ins.m.sc, nil))
}

// readConflict reads the conflict clause.
func (ins insertion) readConflict(b *blockReader) error {
	c := ins.m.st.Conflict
	if c == nil {
		return nil
	}
	for _, a := range c.Set {
		if err := b.expr(a.Value, inPredicate); err != nil {
			return err
		}
	}
	for _, e := range []*ast.Expr{c.Where, c.Predicate} {
		if err := b.expr(e, inPredicate); err != nil {
			return err
		}
	}
	return nil
}

// conflictScope is what names in the conflict clause may mean: the target, and
// where the engine has it so the tables of the INSERT's query.
func (ins insertion) conflictScope() *names.Scope {
	if q := ins.m.st.Select; q != nil && ins.p.d.Traits().UpsertSeesQuery && len(q.Operands) == 0 {
		return ins.p.names.NewScope(ins.p.outer, ins.m.st.With, append([]*ast.Source{ins.m.st.Target}, q.From...))
	}
	return ins.m.sc
}

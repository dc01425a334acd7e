package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans INSERT ... ON CONFLICT DO UPDATE and ON DUPLICATE KEY UPDATE.

func (ins insertion) planUpsert() *Plan {
	st, c := ins.m.st, ins.m.st.Conflict
	source := ins.planSource()
	if source.Class != PassThrough {
		if source.Class == Drain {
			return source
		}
		if source.Class == Read {
			// Its conflict clause is judged below; the totals it reads stand
			// in the query, and both see the same row only when the query
			// reads the target.
			return ins.upsertFromCounters(source)
		}
		return ins.p.drains.drainAll(ins.p.mentions.tables(), "a WITH query increments a counter that the upsert writes")
	}
	return ins.proven(ins.conflict(c, st))
}

// proven adds to an upsert that drains its rows a proof that these have no slots: then it runs as it is written. A new row has none
// either, where slots go with their row.
func (ins insertion) proven(plan *Plan) *Plan {
	d, ok := ins.p.d.(ProvingDialect)
	t, st := ins.m.table, ins.m.st
	tr := t.Triggers
	if !ok || plan.Class != Drain || len(plan.Drain.Tables) != 1 || plan.DrainScope() != ScopeKey || len(st.Returning)+len(st.With) > 0 ||
		tr.Update || tr.Insert || tr.Ruled || tr.UpdateRule || t.IsView || t.Storage.NoTransactions != "" || !cascadesDelete(ins.p.d, t) || !ins.runsAgain() {
		return plan
	}
	rows, keys, _ := ins.givenRows()
	var tp template
	switch sql := d.Proof(t, Scope{Ref: ins.p.names.BaseRef(t, nil), Qualifier: ins.p.d.Quote(t.Name), Where: tp.mark(rows.where)}); {
	case sql.Lock == "":
		plan.Drain.Proof = slotWriterOf(ins.m).proofOfUpsert(d)
	case sql.Confirm != "" && keys == 1:
		confirm := tp.expand(ins.p.d, sql.Confirm)
		plan.Drain.Proof = &Proof{Confirm: &confirm}
	}
	return plan
}

// runsAgain reports whether the upsert does the same once it has been undone, and reads only the rows that it changes.
func (ins insertion) runsAgain() bool {
	c := ins.m.st.Conflict
	list := append([]*ast.Expr{c.Where, c.Predicate}, c.Others...)
	for _, row := range ins.m.st.Rows {
		list = append(list, row...)
	}
	for _, a := range c.Set {
		list = append(list, a.Value)
	}
	return ins.m.st.Select == nil && !slices.ContainsFunc(list, func(e *ast.Expr) bool {
		return e != nil && (ast.HasQuery(e) || ins.p.volatility.reason(ins.m.sc, e) != "")
	})
}

// upsertFromCounters: INSERT ... SELECT total ... ON CONFLICT: as the conflict
// clause allows.
func (ins insertion) upsertFromCounters(source *Plan) *Plan {
	plan := ins.conflict(ins.m.st.Conflict, ins.m.st)
	if plan.Class == PassThrough || plan.Class == AdditiveBase && plan.AsIs() {
		source.Reason = plan.Reason
		return ins.changedUpserted(source)
	}
	return ins.p.drains.drainAll(ins.p.mentions.tables(), "the upsert both reads and changes counters")
}

func (ins insertion) conflict(c *ast.Conflict, st *ast.Statement) *Plan {
	all := ins.drainInserted
	ins.m.sc.Strict = ins.p.d.Traits().StrictConflict
	assigned, why := ins.m.assignments(c.Set)
	if why != "" {
		return all(why)
	}
	plan := ins.planConflict(c, st, assigned)
	if assigned.setsCompanion() && (plan.Class == AdditiveBase || plan.Class == PassThrough) {
		return all("the upsert sets companion " + assigned.companionName() + because(assigned.held, plan.Reason))
	}
	if plan.Class == AdditiveBase || plan.Class == PassThrough {
		return ins.changedUpserted(plan)
	}
	return plan
}

// planConflict plans an upsert by the assignments of its conflict clause.
func (ins insertion) planConflict(c *ast.Conflict, st *ast.Statement, as assigned) *Plan {
	all := ins.drainInserted
	r := &reader{p: ins.p}
	b := r.in(ins.conflictScope(), nil)
	for _, a := range c.Set {
		if a.Value == nil || as.except[a.Value] {
			continue
		}
		if err := b.expr(a.Value, inPredicate); err != nil {
			return all(names.Reason(err))
		}
	}
	for _, e := range append([]*ast.Expr{c.Where, c.Predicate}, c.Others...) {
		if err := b.expr(e, inPredicate); err != nil {
			return all(names.Reason(err))
		}
	}
	if err := ins.m.returning(b); err != nil {
		return all(names.Reason(err))
	}
	if len(r.edits) > 0 || r.found.locks {
		return all("the conflict clause reads a counter")
	}
	if len(as.increments) == 0 {
		return &Plan{Class: PassThrough}
	}
	plan := &Plan{Class: AdditiveBase, Tables: []string{ins.m.table.Name}}
	for _, inc := range as.increments {
		ds, ok := ins.insertedDeltas(inc)
		if !ok {
			require, why := ins.m.onBase(ins.m.sc, ins.m.target, false, inc.column, inc.ops)
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
	if !plan.AsIs() {
		plan.Drain.Tables = all("").Drain.Tables
	}
	if why := ins.m.notSlotted(as); why != "" {
		plan.Reason = why
		return plan
	}
	return ins.slottedUpsert(plan, as)
}

// insertedDeltas returns the deltas of an increment by a placeholder, or by
// EXCLUDED.c / VALUES(c): what the rows of VALUES hold for that column.
func (ins insertion) insertedDeltas(inc increment) ([]delta, bool) {
	if d, ok := ins.p.consts.deltaOf(inc.column, inc.ops); ok {
		return []delta{d}, true
	}
	i, of := ins.insertedAt(inc.ops)
	if i < 0 || len(ins.m.st.Rows) == 0 {
		return nil, false
	}
	var out []delta
	for _, row := range ins.m.st.Rows {
		if i >= len(row) {
			return nil, false
		}
		d, ok := ins.p.consts.insertedDelta(inc.column, of, operand{expr: row[i], negative: inc.ops[0].negative})
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
func (ins insertion) insertedAt(ops []operand) (int, *schema.Column) {
	if len(ops) != 1 || ops[0].expr == nil || ops[0].sometimes {
		return -1, nil
	}
	e := ast.Unparen(ops[0].expr)
	if ins.p.consts.coalesces(e) && ast.Constant(e.Args[1]) {
		e = ast.Unparen(e.Args[0])
	}
	if e.Kind != ast.Excluded {
		return -1, nil
	}
	written := e.Name[len(e.Name)-1]
	name, ok := names.Column(ins.p.d, ins.m.table, written)
	if !ok {
		return -1, nil
	}
	return ins.m.insertIndex(written), ins.m.table.Column(name)
}

// insertIndex returns the position of a column in the INSERT's column list.
func (m *dml) insertIndex(written ast.Ident) int {
	name, ok := names.Column(m.p.d, m.table, written)
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
		if m.p.d.SameColumn(c, name) {
			return i
		}
	}
	return -1
}

// conflictKey returns the unique key that a conflict of the inserted row is
// about.
func (ins insertion) conflictKey() *schema.Unique {
	c, t := ins.m.st.Conflict, ins.m.table
	if len(c.Others) > 0 {
		return nil
	}
	var found *schema.Unique
	for i := range t.Uniques {
		u := &t.Uniques[i]
		switch {
		case c.Constraint != nil:
			if !u.Index && ins.p.d.SameColumn(*c.Constraint, u.Name) {
				return u
			}
		case len(c.Columns) > 0:
			if ins.sameSet(c.Columns, u.Columns) {
				return u
			}
		case ins.p.d.Traits().StrictConflict:
			return nil
		default:
			// ON DUPLICATE KEY: any key the row gives values for.
			given := true
			for _, name := range u.Columns {
				given = given && ins.m.insertIndex(ast.Ident{Name: name, Quoted: true}) >= 0
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
		if u := &t.Uniques[i]; found != nil && u != found && !ins.meetsNone(u) {
			return nil // a default value could meet another key
		}
	}
	return found
}

// unknownKey is the reason of an upsert without a conflictKey.
func (ins insertion) unknownKey() string {
	if len(ins.m.st.Conflict.Others) > 0 {
		return "the upsert conflicts on an expression, or on a column with a collation"
	}
	return "cannot tell which unique key the upsert conflicts on"
}

// meetsNone reports whether the INSERT meets no row by a key: it leaves a column out that
// gets a new number, or NULL.
func (ins insertion) meetsNone(u *schema.Unique) bool {
	for _, name := range u.Columns {
		c := ins.m.table.Column(name)
		if c != nil && ins.m.insertIndex(ast.Ident{Name: name, Quoted: true}) < 0 && (c.Identity || c.Nullable && !c.HasDefault && !c.Generated) {
			return true
		}
	}
	return false
}

func (ins insertion) sameSet(written []ast.Ident, stored []string) bool {
	if len(written) != len(stored) {
		return false
	}
	for _, s := range stored {
		ok := false
		for _, w := range written {
			ok = ok || ins.p.d.SameColumn(w, s)
		}
		if !ok {
			return false
		}
	}
	return true
}

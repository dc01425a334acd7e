package rewrite

import (
	"cmp"
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// slottedUpsert plans the increment of an existing row; the original statement
// inserts a missing one. Both are exact on their own, so it does not matter
// what happens between them: deltas commute, and the original statement is itself
// an increment when the row has come to exist.
func (ins insertion) slottedUpsert(base *Plan, as assigned) *Plan {
	why := func(s string) *Plan { base.Reason = s; return base }
	if no := ins.notSlottedUpsert(); no != "" {
		return why(no)
	}
	key := ins.conflictKey()
	if key == nil {
		return why(ins.unknownKey())
	}
	if no := ins.rowMayFail(key); no != "" {
		return why(no)
	}
	givens, no := ins.insertedColumns(key)
	if no != "" {
		return why(no)
	}
	rows, compared, no := ins.insertedKey(key)
	if no != "" {
		return why(no)
	}
	if !ins.insertedIncrements(as.increments) {
		return why(unknownDelta)
	}
	plan := slotWriterOf(ins.m).slotted(base, as, rows, rows.where)
	if plan.Class != Additive {
		return plan
	}
	plan.Class = Upsert
	plan.Increment.Upsert = true
	plan.Increment.Inserted = append(append(plan.Increment.Inserted, givens...), compared...)
	if plan.Increment.Companions {
		return plan
	}
	plan.Drain.Tables, plan.Base.Require = base.Drain.Tables, base.Base.Require
	return plan
}

// notSlottedUpsert says why an upsert of this form is not slotted; "" if it may be.
func (ins insertion) notSlottedUpsert() string {
	st := ins.m.st
	if len(st.Rows) != 1 {
		return "an upsert of several rows runs on the base table, which costs less"
	}
	if st.Conflict.Where != nil || st.Conflict.Predicate != nil {
		return "the conflict clause has a WHERE"
	}
	for i := range ins.m.table.Columns {
		if ins.m.table.Columns[i].Identity && ins.p.d.Traits().UpsertSetsInsertID {
			return "the table has an AUTO_INCREMENT column, whose LAST_INSERT_ID() the upsert sets"
		}
	}
	return ins.m.misfit()
}

// rowMayFail says why the row of the INSERT may fail, or change something, where a row is there
// already; "" if it does neither.
func (ins insertion) rowMayFail(key *schema.Unique) string {
	t := ins.m.table
	if t.Triggers.Insert {
		return cmp.Or(t.Triggers.Unseen, "a trigger fires on INSERT")
	}
	if len(t.Checked) > 0 {
		return "a CHECK constraint applies to the row of the INSERT"
	}
	for _, c := range t.Storage.PartitionedBy {
		if !slices.Contains(key.Columns, c) { // where it is, the row that is there has a partition
			return "there may be no partition for the row of the INSERT"
		}
	}
	return ""
}

// insertedColumns returns the arguments that columns outside the key have to take, or why the row may
// not be stored.
func (ins insertion) insertedColumns(key *schema.Unique) (givens []InsertedArg, no string) {
	st, t := ins.m.st, ins.m.table
	for i := range t.Columns {
		c := &t.Columns[i]
		given := ins.m.insertIndex(ast.Ident{Name: c.Name, Quoted: true})
		if given >= 0 && given < len(st.Rows[0]) && !slices.Contains(key.Columns, c.Name) {
			arg, no := ins.p.consts.checkInserted(c, st.Rows[0][given])
			if no != "" {
				return nil, no
			}
			if arg != nil {
				givens = append(givens, *arg)
			}
		}
		if given < 0 && !c.Nullable && !c.HasDefault && !c.Identity && !c.Generated {
			return nil, "the INSERT leaves out a NOT NULL column"
		}
	}
	return givens, ""
}

// insertedKey returns the row whose key the INSERT gives, with the arguments that must compare as
// they are stored, or why it cannot be found by that.
func (ins insertion) insertedKey(key *schema.Unique) (rows *rowset, givens []InsertedArg, no string) {
	st, t := ins.m.st, ins.m.table
	b := ownRows(t)
	rows = &rowset{binding: b, single: true, primary: key.Primary, key: key, values: map[string]fragment{}, only: true}
	var parts []fragment
	for _, name := range key.Columns {
		i := ins.m.insertIndex(ast.Ident{Name: name, Quoted: true})
		if i < 0 || i >= len(st.Rows[0]) || st.Rows[0][i] == nil { // or DEFAULT
			return nil, nil, "the INSERT has no value for the key"
		}
		v, c := st.Rows[0][i], t.Column(name)
		f := ins.p.src.cut(v.Span)
		rows.values[name] = ins.p.src.cut(v.Span)
		if ok, _ := ins.p.consts.clockTime(v); ok && ins.p.volatility.reason(nil, v) == "" && (ins.p.consts.takes(c).Length == 0 || ins.p.d.Traits().AnyType) {
			f, rows.values[name] = ins.stored(c, v), ins.stored(c, v)
		} else if !ast.Constant(v) || v.Kind == ast.Null {
			return nil, nil, "the key is not a literal, a placeholder or the current time"
		}
		if ast.Constant(v) && containsNumber(v) && !numericColumn(c) {
			return nil, nil, "a number is given for a key that is not numeric"
		}
		if ast.Constant(v) && ins.p.d.Traits().LooseEquality {
			// What is compared must be what the INSERT would store.
			arg, no := ins.p.consts.checkInserted(c, v)
			if no != "" {
				return nil, nil, no
			}
			if arg != nil {
				givens = append(givens, *arg)
			}
		}
		if x := ast.Unparen(v); x.Kind == ast.String && !ins.p.consts.fitsForm(ins.p.consts.keyForm(c), x.Text) {
			return nil, nil, "the key is given in a form that may be stored and compared differently"
		}
		f.parts[0] = ins.p.d.Quote(t.Name) + "." + ins.p.d.Quote(name) + " = " + f.parts[0]
		parts = append(parts, f)
		v.Walk(func(x *ast.Expr) bool {
			if a, ok := ins.p.src.paramAt(x.Span); ok && x.Kind == ast.Param {
				rows.args = append(rows.args, keyArg{a, c})
			}
			return true
		})
	}
	rows.where = join(parts, " AND ")
	return rows, givens, ""
}

// insertedIncrements puts the values of the INSERT in the place of their names in increments; false
// if a delta is no constant.
func (ins insertion) insertedIncrements(incs []increment) bool {
	for i := range incs {
		ds, ok := ins.insertedDeltas(incs[i])
		if !ok || len(ds) != 1 {
			return false
		}
		if j, _ := ins.insertedAt(incs[i].ops); j >= 0 {
			incs[i].ops = []operand{{expr: ins.m.st.Rows[0][j], negative: incs[i].ops[0].negative, stored: true}}
			if x := ast.Unparen(ins.m.st.Rows[0][j]); x.Kind == ast.String { // the number that it spells, without its quotes
				incs[i].ops[0].expr = &ast.Expr{Kind: ast.Number, Span: ast.Span{Start: x.Start + 1, End: x.End - 1}}
			}
		}
	}
	return true
}

package rewrite

import "github.com/slotsql/slotsql/rewrite/ast"

// slottedUpsert plans the increment of an existing row; the original statement
// inserts a missing one. Both are exact on their own, so it does not matter
// what happens between them: deltas commute, and the original statement is itself
// an increment when the row has come to exist.
func (m *dml) slottedUpsert(base *Plan, as assigned) *Plan {
	why := func(s string) *Plan { base.Reason = s; return base }
	if no := m.notSlottedUpsert(); no != "" {
		return why(no)
	}
	key := m.conflictKey()
	if key == nil {
		return why(m.unknownKey())
	}
	if no := m.rowMayFail(key); no != "" {
		return why(no)
	}
	givens, no := m.insertedColumns(key)
	if no != "" {
		return why(no)
	}
	rows, compared, no := m.insertedKey(key)
	if no != "" {
		return why(no)
	}
	if !m.insertedIncrements(as.increments) {
		return why("the delta is not a literal or a placeholder")
	}
	plan := m.slotted(base, as, rows, rows.where)
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
func (m *dml) notSlottedUpsert() string {
	st := m.st
	if len(st.Rows) != 1 {
		return "an upsert of several rows runs on the base table, which costs less"
	}
	if st.Conflict.Where != nil || st.Conflict.Predicate != nil {
		return "the conflict clause has a WHERE"
	}
	for i := range m.table.Columns {
		if m.table.Columns[i].Identity && m.d.Traits().UpsertSetsInsertID {
			return "the table has an AUTO_INCREMENT column, whose LAST_INSERT_ID() the upsert sets"
		}
	}
	return m.misfit()
}

// rowMayFail says why the row of the INSERT may fail, or change something, where a row is there
// already; "" if it does neither.
func (m *dml) rowMayFail(key *Unique) string {
	t := m.table
	if t.Triggers.Insert {
		return "a trigger fires on INSERT"
	}
	if len(t.Checked) > 0 {
		return "a CHECK constraint applies to the row of the INSERT"
	}
	for _, c := range t.Storage.PartitionedBy {
		if !contains(key.Columns, c) { // where it is, the row that is there has a partition
			return "there may be no partition for the row of the INSERT"
		}
	}
	return ""
}

// insertedColumns returns the arguments that columns outside the key have to take, or why the row may
// not be stored.
func (m *dml) insertedColumns(key *Unique) (givens []InsertedArg, no string) {
	st, t := m.st, m.table
	for i := range t.Columns {
		c := &t.Columns[i]
		given := m.insertIndex(ast.Ident{Name: c.Name, Quoted: true})
		if given >= 0 && given < len(st.Rows[0]) && !contains(key.Columns, c.Name) {
			arg, no := m.checkInserted(c, st.Rows[0][given])
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
func (m *dml) insertedKey(key *Unique) (rows *rowset, givens []InsertedArg, no string) {
	st, t := m.st, m.table
	b := &binding{
		source: &ast.Source{Name: []ast.Ident{{Name: t.Name, Quoted: true}}},
		label:  ast.Ident{Name: t.Name, Quoted: true},
		table:  t,
		counts: true,
	}
	rows = &rowset{binding: b, single: true, primary: key.Primary, key: key, values: map[string]fragment{}, only: true}
	var parts []fragment
	for _, name := range key.Columns {
		i := m.insertIndex(ast.Ident{Name: name, Quoted: true})
		if i < 0 || i >= len(st.Rows[0]) || st.Rows[0][i] == nil { // or DEFAULT
			return nil, nil, "the INSERT has no value for the key"
		}
		v, c := st.Rows[0][i], t.Column(name)
		f := m.src.cut(v.Span)
		rows.values[name] = m.src.cut(v.Span)
		if ok, _ := m.clockTime(v); ok && m.volatile(nil, v) == "" && (m.takes(c).Length == 0 || m.d.Traits().AnyType) {
			f, rows.values[name] = m.stored(c, v), m.stored(c, v)
		} else if !ast.Constant(v) || v.Kind == ast.Null {
			return nil, nil, "the key is not a literal, a placeholder or the current time"
		}
		if ast.Constant(v) && containsNumber(v) && !numericColumn(c) {
			return nil, nil, "a number is given for a key that is not numeric"
		}
		if ast.Constant(v) && m.d.Traits().LooseEquality {
			// What is compared must be what the INSERT would store.
			arg, no := m.checkInserted(c, v)
			if no != "" {
				return nil, nil, no
			}
			if arg != nil {
				givens = append(givens, *arg)
			}
		}
		if x := ast.Unparen(v); x.Kind == ast.String && !m.fitsForm(m.keyForm(c), x.Text) {
			return nil, nil, "the key is given in a form that may be stored and compared differently"
		}
		f.parts[0] = m.d.Quote(t.Name) + "." + m.d.Quote(name) + " = " + f.parts[0]
		parts = append(parts, f)
		v.Walk(func(x *ast.Expr) bool {
			if a, ok := m.src.paramAt(x.Span); ok && x.Kind == ast.Param {
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
func (m *dml) insertedIncrements(incs []increment) bool {
	for i := range incs {
		ds, ok := m.insertedDeltas(incs[i])
		if !ok || len(ds) != 1 {
			return false
		}
		if j, _ := m.insertedAt(incs[i].ops); j >= 0 {
			incs[i].ops = []operand{{expr: m.st.Rows[0][j], negative: incs[i].ops[0].negative, stored: true}}
			if x := ast.Unparen(m.st.Rows[0][j]); x.Kind == ast.String { // the number that it spells, without its quotes
				incs[i].ops[0].expr = &ast.Expr{Kind: ast.Number, Span: ast.Span{Start: x.Start + 1, End: x.End - 1}}
			}
		}
	}
	return true
}

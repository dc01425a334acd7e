package rewrite

// A statement whose WITH queries change data drains for each of them. Where a table
// is named once in the whole statement, as what one of them changes, no other row of
// it is looked at than those that this one selects:
//
//	WITH x AS (UPDATE posts SET views = 0 WHERE id = $1 RETURNING id) INSERT INTO log SELECT id FROM x
//
// So its rows are drained like those of the UPDATE alone.

// narrowDrain drains rows of a unique key in place of all rows of a table, where the
// statement has WITH queries and looks at no others.
func (p *planning) narrowDrain(plan *Plan, st *Statement) *Plan {
	if plan.Class != Drain || st.Opaque != "" || len(p.withOf(st)) == 0 {
		return plan
	}
	for i := range plan.Drain.Tables {
		d := &plan.Drain.Tables[i]
		if d.Keyed || d.Look.Range != nil {
			continue
		}
		if rows := p.onlyRows(st, d.Table); rows != nil {
			*d = p.drainTable(d.Table, rows)
		}
	}
	return plan
}

// withOf returns the WITH queries at the top of a statement.
func (p *planning) withOf(st *Statement) []*CTE {
	if st.Kind == KindSelect && st.Select != nil {
		return st.Select.With
	}
	return st.With
}

// onlyRows returns the rows of a table that the only UPDATE or DELETE of it selects; nil
// where anything else in the statement names the table, or they may be any rows.
func (p *planning) onlyRows(st *Statement, t *Table) *rowset {
	var writer *Statement
	known, named := true, 0
	v := Visitor{
		Statement: func(s *Statement) {
			known = known && s.Opaque == ""
			if s.Target != nil && len(s.Target.Name) > 0 && p.lookupCounter(s.Target.Name) == t {
				writer = s
			}
		},
		CTE: func(c *CTE) { known = known && (c.Select != nil || c.Statement != nil) },
		Source: func(s *Source) {
			if len(s.Name) > 0 && p.lookupCounter(s.Name) == t {
				named++
			}
		},
	}
	v.Walk(st)
	if !known || named != 1 || writer == nil || writer.Kind != KindUpdate && writer.Kind != KindDelete || len(writer.From) > 0 {
		return nil
	}
	sc := p.newScope(nil, nil, []*Source{writer.Target})
	return p.fixedRows(sc, sc.bindings[0], writer.Where)
}

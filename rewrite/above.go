package rewrite

import "slices"

// A statement on a table above a counter table, which that one is a partition of or inherits
// from, drains it, as one on a view over it does: a drain makes any statement right, and what
// moves a row from one partition to another takes it out of the counter table as a DELETE
// does, with slots that are empty.
//
// DROP TABLE and TRUNCATE of such a table do the same to the tables below it, which the slot
// tables' foreign keys would forbid. The slots have been folded before: who drops or empties the
// table above without those below it (ONLY) leaves totals as they are.

// planAbove plans DROP TABLE and TRUNCATE of tables above counter tables; nil for any other
// statement.
func (p *planning) planAbove() *Plan {
	if !p.src.is(0, "DROP") && !p.src.is(0, "TRUNCATE") {
		return nil
	}
	st, err := p.parse(p.src.sql)
	if err != nil || st.Kind != KindDrop && st.Kind != KindTruncate {
		return nil
	}
	var below []*Table // in the order of the names
	by := map[*Table]string{}
	for _, n := range st.Tables {
		t, _ := p.lookup(n)
		for _, c := range p.Catalog.Counters() {
			named := t != nil && (t.Schema == c.Schema && t.Name == c.Name || slices.Contains(c.Storage.Above, TableName{t.Schema, t.Name}))
			if named && by[c] == "" {
				below, by[c] = append(below, c), t.Name
			}
		}
	}
	switch {
	case len(below) == 0:
		return nil
	case st.Kind == KindTruncate:
		plan := p.planTruncate(below, nil, by)
		plan.Drain.FoldOptional = false
		return plan
	}
	return p.planDrop(below, nil)
}

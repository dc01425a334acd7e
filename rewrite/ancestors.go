package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A statement on an ancestor of a counter table, a table that it is a partition of or inherits from,
// drains it, as one on a view over it does: a drain makes any statement right, and a statement that
// moves a row to another partition takes it out of the counter table as a DELETE does, with empty
// slots.
//
// DROP TABLE and TRUNCATE of an ancestor drop or empty its descendants as well, which the slot tables'
// foreign keys would forbid. Slots are folded first, so that totals stay as they are if the statement
// leaves the descendants alone (ONLY).

// planAncestor plans DROP TABLE and TRUNCATE of ancestors of counter tables; nil for any other
// statement.
func (df *definitions) planAncestor() *Plan {
	if !df.src.is(0, "DROP") && !df.src.is(0, "TRUNCATE") {
		return nil
	}
	st, err := parse(df.d, df.mentions.sentinels, df.src.sql)
	if err != nil || st.Kind != ast.KindDrop && st.Kind != ast.KindTruncate {
		return nil
	}
	var below []*schema.Table // in the order of the names
	by := map[*schema.Table]string{}
	for _, n := range st.Tables {
		t, _ := df.names.Lookup(n)
		for _, c := range df.mentions.catalog.Counters() {
			named := t != nil && (t.Schema == c.Schema && t.Name == c.Name ||
				slices.Contains(c.Storage.Ancestors, schema.TableName{Schema: t.Schema, Name: t.Name}))
			if named && by[c] == "" {
				below, by[c] = append(below, c), t.Name
			}
		}
	}
	switch {
	case len(below) == 0:
		return nil
	case st.Kind == ast.KindTruncate:
		plan := df.planTruncate(below, nil, by)
		plan.Drain.FoldOptional = false
		return plan
	}
	return df.planDrop(below, nil)
}

package postgres

import "github.com/slotsql/slotsql/rewrite"

// Traits implements rewrite.Dialect.
func (*Dialect) Traits() rewrite.Traits {
	return rewrite.Traits{
		StoredNames: true, MultiIsTx: true, Split: true, WholeRow: true, GroupsByKey: true,
		SystemColumns: []string{"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"},
		OrderedJoin:   "CROSS JOIN", SharedWith: true, TypedConstants: true, SumOfInt: "bigint",
		NumberCasts:    map[string]int{"int": 32, "integer": 32, "int4": 32, "bigint": 64, "int8": 64, "numeric": 0, "decimal": 0},
		StrictConflict: true, Steady: steady,
	}
}

// Truncate implements rewrite.Dialect. TRUNCATE refuses a table that a foreign
// key references unless the referencing table is truncated with it.
func (d *Dialect) Truncate(t *rewrite.Table) (also string, before, after []string) {
	if t.Counter.Layout == rewrite.LayoutShared {
		return "", nil, nil // the drain has deleted the rows, and keeps new ones out
	}
	return ", " + slotTable(t), nil, nil
}

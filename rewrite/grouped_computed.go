package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file looks into what the engine computes of a row that it stores: generated columns and
// indexes. The engine refuses a row for which that fails (100 / (n - 5)), or for which the value
// does not fit its column. It computes the row that a group leaves, and not those that its members
// would have left one after another.

// computedFrom names what is computed from a counter and may fail for a value that a group passes over.
func (cc checkConstraints) computedFrom(counter string) string {
	for i := range cc.g.real.Storage.Computed {
		c := &cc.g.real.Storage.Computed[i]
		if (slices.Contains(c.Columns, counter) || cc.readsComputed(c.Columns)) && !cc.neverFails(c) {
			return c.Name + " is computed from counter " + counter + ", and may refuse a number between two that it takes"
		}
	}
	return ""
}

// neverFails reports whether what is computed fails for no value.
func (cc checkConstraints) neverFails(c *schema.Computed) bool {
	e, in := cc.condition(c.SQL)
	return e != nil && (!checksOf(in).readsCounted(e) || c.Column == "" && cannotFail(e))
}

func (cc checkConstraints) readsComputed(columns []string) bool {
	return slices.ContainsFunc(columns, func(c string) bool { return cc.g.counted[c] })
}

// computes names what the engine computes from a column and may fail for some value of it.
func (cc checkConstraints) computes(column string) string {
	for i := range cc.g.real.Storage.Computed {
		c := &cc.g.real.Storage.Computed[i]
		if e, _ := cc.condition(c.SQL); slices.Contains(c.Columns, column) && (c.Column != "" || e == nil || !cannotFail(e)) {
			return c.Name
		}
	}
	return ""
}

package rewrite

import "github.com/slotsql/slotsql/rewrite/schema"

// This file plans the statement by which groups of different rows of a table run as one.
//
// It adds to all of its rows or to none, and to none when one of them is missing. Each row's group then runs by itself, as if there
// were no such statement.

// A ManyRowsDialect is a Dialect of an engine with one writer at a time, where increments of other rows wait for one another as
// those of the same row do.
type ManyRowsDialect interface {
	// AddToRows writes a statement that adds to many base rows, "" for a table that has none: what is added to every row that
	// is named is stored as it is, or the statement fails, or affects no row.
	AddToRows(t *schema.Table, in ManyRowsSQL) string
}

// ManyRowsSQL is the variable part of AddToRows.
type ManyRowsSQL struct {
	// JSON is a marker for a list of lists such as [[1,5],[2,1]]: for each row the key's values, and a delta for each counter.
	JSON string
	// Count is a marker for the number of rows.
	Count string
	// Deltas names the counters.
	Deltas []string
}

// many plans the statement, where all that the group's does is to add to not nullable
// counters of a row that its key tells from others, by numbers: of two strings only the
// engine knows whether they are the same key.
func (g *grouper) many() {
	d, ok := g.p.d.(ManyRowsDialect)
	key := g.m.table.Counter.Key
	if !ok || len(g.counts) == 0 || !g.rows.only || g.rows.key == nil || len(key) == 0 || len(g.rows.key.Columns) != len(key) ||
		len(g.counts) != len(g.m.st.Set) || len(g.m.st.Returning) > 0 || g.group.InsertID > 0 {
		return
	}
	var numbers []KeyNumber
	for _, name := range key {
		c, v := g.m.table.Column(name), g.rows.values[name]
		if c == nil || c.Numeric != schema.Integer {
			return
		}
		n, ok := keyNumber(v)
		if !ok {
			return
		}
		numbers = append(numbers, n)
	}
	var tp template
	in := ManyRowsSQL{JSON: tp.mark(bound(Arg{Many: ManyRows, Index: -1})), Count: tp.mark(bound(Arg{Many: ManyCount, Index: -1}))}
	for _, n := range g.counts {
		if n.column.Nullable {
			return
		}
		in.Deltas = append(in.Deltas, n.column.Name)
	}
	if b := tp.bound(g.p.d, d.AddToRows(g.real, in)); b != nil {
		g.group.Many = &ManyGroups{*b, numbers}
	}
}

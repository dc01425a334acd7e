package schema

import (
	"slices"
	"strconv"
	"strings"
)

// This file says how the slots of a counter table are addressed. A slot row is
// found by the columns that hold the base row's key, by its slot and, in a table
// that several counter tables share, by the record types of the counters. It
// holds a number for each counter of a base row, or for one of them.
//
// The SQL is the same in every dialect, but for the way names are quoted.

// Shared says how slots stand in a table that several counter tables share: one
// row for a base row, a slot and a counter, which a record type identifies.
type Shared struct {
	Type, ID, Count string           // its columns beside the slot's
	Records         map[string]int64 // the record type of each counter column

	// Index is the unique key of type, id and slot; empty where that is the
	// primary key.
	Index string
	// Numbered is a column that the database numbers by default
	// for it; empty for none. NumberedBits is its width.
	Numbered     string
	NumberedBits int
}

// SlotKey returns the columns of a slot row that hold the base key, in the order
// of Key.
func (c *Counter) SlotKey() []string {
	if c.Layout == LayoutShared {
		return []string{c.Shared.ID}
	}
	return c.Key
}

// Cell returns the column of a slot row that holds a counter.
func (c *Counter) Cell(counter string) string {
	if c.Layout == LayoutShared {
		return c.Shared.Count
	}
	return counter
}

// SharesSlotRows reports whether the increments of all counters of a base row use the same slot
// rows. That such a row exists then proves something about the base value of the counter for
// which it was created, and nothing about those of the others.
func (c *Counter) SharesSlotRows() bool { return len(c.Counters) > 1 && c.Layout != LayoutShared }

// Slotted names the slots of this table, in a map of those of several tables.
func (c *Counter) Slotted() string {
	if c.Layout != LayoutShared || len(c.Counters) == 0 {
		return c.SlotTable.Name
	}
	return c.SlotTable.Name + "#" + strconv.FormatInt(c.Shared.Records[c.Counters[0]], 10)
}

// OfTable is the condition that a row of the alias holds slots of the table, ""
// where every row does. A prefix is an alias with its dot, or empty.
func (c *Counter) OfTable(quote func(string) string, prefix string) string {
	return c.OfCounters(quote, prefix, c.Counters...)
}

// SlotRow returns the conditions that fix one slot row of a counter: by the values of the
// key's columns, in the order of Key, and by the slot.
func (c *Counter) SlotRow(quote func(string) string, counter string, key []string, slot string) []string {
	var out []string
	if of := c.OfCounters(quote, "", counter); of != "" {
		out = append(out, of)
	}
	for i, k := range c.SlotKey() {
		out = append(out, quote(k)+" = "+key[i])
	}
	return append(out, quote(c.SlotTable.Column)+" = "+slot)
}

// OfCounters is the condition that a row holds slots of one of the counters: no row if there are none,
// as in a table whose counter columns have been renamed.
func (c *Counter) OfCounters(quote func(string) string, prefix string, counters ...string) string {
	if c.Layout != LayoutShared {
		return ""
	}
	var types []int64
	for _, name := range counters {
		types = append(types, c.Shared.Records[name])
	}
	slices.Sort(types)
	types = slices.Compact(types)
	list := make([]string, len(types))
	for i, n := range types {
		list[i] = strconv.FormatInt(n, 10)
	}
	switch len(list) {
	case 0:
		return "1 = 0"
	case 1:
		return prefix + quote(c.Shared.Type) + " = " + list[0]
	}
	return prefix + quote(c.Shared.Type) + " IN (" + strings.Join(list, ", ") + ")"
}

// Held is what a row that OfTable selects holds of a counter.
func (c *Counter) Held(quote func(string) string, prefix, counter string) string {
	cell := prefix + quote(c.Cell(counter))
	if c.Layout != LayoutShared || len(c.Counters) == 1 {
		return cell
	}
	return "CASE " + prefix + quote(c.Shared.Type) + " WHEN " + strconv.FormatInt(c.Shared.Records[counter], 10) + " THEN " + cell +
		" ELSE 0 END"
}

// Cells are the columns of a slot row that hold counters, each once.
func (c *Counter) Cells() []string {
	if c.Layout == LayoutShared {
		return []string{c.Shared.Count}
	}
	return c.Counters
}

// Filled writes that a slot row of the alias holds something: parts to be joined by
// OR. A cell does if it is not 0, or if more, which may be nil, says so of its column.
func (c *Counter) Filled(quote func(string) string, prefix string, more func(column, cell string) string) []string {
	var parts []string
	for _, name := range c.Cells() {
		cell := prefix + quote(name)
		parts = append(parts, cell+" <> 0")
		if more == nil {
			continue
		}
		if part := more(name, cell); part != "" {
			parts = append(parts, part)
		}
	}
	for _, co := range c.Companions {
		column := co.Column
		if co.Stamp() != "" {
			column = co.Stamp()
		}
		parts = append(parts, prefix+quote(column)+" IS NOT NULL")
	}
	return parts
}

// Emptied writes the assignments after which a slot row of the alias holds nothing;
// without latest companions of that kind stay.
func (c *Counter) Emptied(quote func(string) string, prefix string, latest bool) []string {
	var set []string
	for _, name := range c.Cells() {
		set = append(set, prefix+quote(name)+" = 0")
	}
	for _, co := range c.Companions {
		if co.Merge == Latest && !latest {
			continue
		}
		set = append(set, prefix+quote(co.Column)+" = NULL")
		if co.Stamp() != "" {
			set = append(set, prefix+quote(co.Stamp())+" = NULL")
		}
	}
	return set
}

// Tuple writes columns as IN and row comparisons take them: a single one without parentheses.
func Tuple(columns []string) string {
	if len(columns) == 1 {
		return columns[0]
	}
	return "(" + strings.Join(columns, ", ") + ")"
}

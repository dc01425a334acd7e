package schema

import (
	"slices"
	"strings"
)

// A companion is an ordinary column that increments of a counter set as well:
// updated_at, last_viewed_at, high_score. Its new value rides in the slot row,
// beside the counts, and the column's value is merged from the base row and
// the slots.
//
// What keeps that exact: a slot row's companion is newer than the base row's.
// Whatever else writes the column (any statement that is not such an
// increment) drains first, and a drain merges the slots into the base row and
// deletes them. Among the slots themselves the greatest stamp is the latest
// value, or the greatest value the maximum, in whatever order they were
// committed.

// Merge says how the values of a companion become one.
type Merge string

// Latest: the value that was set last. Max and Min: the greatest and the least,
// for columns that are only ever raised or lowered.
const (
	Latest Merge = "latest"
	Max    Merge = "max"
	Min    Merge = "min"
)

// Companion is one companion column.
type Companion struct {
	Column string // as stored in the database
	Merge  Merge
}

// Stamp is the name of the slot table's column that says when a Latest
// companion was set; empty for the others.
func (c *Companion) Stamp() string {
	if c.Merge != Latest {
		return ""
	}
	return stampPrefix + c.Column
}

// HasLatest reports whether there is a companion whose values must move together: a
// value that is left behind must not be older than one that has moved.
func (c *Counter) HasLatest() bool {
	return slices.ContainsFunc(c.Companions, func(co Companion) bool { return co.Merge == Latest })
}

const stampPrefix = "slotsql_at_"

// Companion returns the configured companion of that column, or nil.
func (t *Table) Companion(column string) *Companion {
	if t.Counter == nil {
		return nil
	}
	for i := range t.Counter.Companions {
		if t.Counter.Companions[i].Column == column {
			return &t.Counter.Companions[i]
		}
	}
	return nil
}

// IsSlotted reports whether slots hold a part of the column's value: it is a
// counter or a companion.
func (t *Table) IsSlotted(column string) bool {
	return t.IsCounter(column) || t.Companion(column) != nil
}

// CompanionFault says why a column cannot be a companion, or "".
func (t *Table) CompanionFault(column string, merge Merge) string {
	c := t.Column(column)
	switch {
	case c == nil:
		return "is not a column of the table"
	case c.Generated:
		return "is a generated column"
	case c.Identity:
		return "is an auto-increment or identity column"
	case c.Collation != "":
		return "is compared by the collation " + c.Collation + ", which a value read from a slot would not be"
	case merge != Latest && c.Numeric != Integer && !temporal(c):
		return "has type " + c.Type + ", whose greatest or least value may depend on more than the value: only integers and times can be max or min"
	case strings.HasSuffix(c.Type, "[]"):
		return "is an array"
	}
	for _, name := range t.Checked {
		if name == column {
			return "is used by a CHECK or exclusion constraint, which would not see the values in slots"
		}
	}
	if why := t.Tied(func(c string) bool { return c == column }); why != "" {
		return why + ", which the values in slots would not"
	}
	if u := t.UniqueOver(func(c string) bool { return c == column }); u != nil {
		return "is part of the unique key " + u.Name + ", which would not see the values in slots"
	}
	for i := range t.Columns {
		if g := &t.Columns[i]; g.Generated && slices.Contains(g.DependsOn, column) {
			return "is used by generated column " + g.Name + ", which would not see the values in slots"
		}
	}
	return ""
}

func temporal(c *Column) bool {
	typ := strings.ToLower(c.Type)
	return strings.HasPrefix(typ, "timestamp") || strings.HasPrefix(typ, "datetime")
}

// TouchesCompanion reports whether the engine itself sets a companion when it updates
// a row.
func (t *Table) TouchesCompanion() bool {
	for i := range t.Columns {
		if t.Columns[i].OnUpdate && t.Companion(t.Columns[i].Name) != nil {
			return true
		}
	}
	return false
}

package schema

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// IsKey reports whether the named column is part of the configured key.
func (t *Table) IsKey(column string) bool {
	return t.Counter != nil && slices.Contains(t.Counter.Key, column)
}

// ChangesKey reports whether a statement that assigns the column changes the key of its
// rows: the column is part of the configured key, or a part of the key is computed from it.
func (t *Table) ChangesKey(column string) bool {
	if t.Counter == nil {
		return false
	}
	return slices.ContainsFunc(t.Counter.Key, func(k string) bool { return k == column || t.computedFrom(k, column) })
}

// computedFrom reports whether a generated column depends on another column, perhaps
// through further generated columns.
func (t *Table) computedFrom(column, other string) bool {
	sources := []string{column}
	for i := 0; i < len(sources); i++ {
		c := t.Column(sources[i])
		if c == nil || !c.Generated {
			continue
		}
		for _, d := range c.DependsOn {
			switch {
			case d == other:
				return true
			case !slices.Contains(sources, d):
				sources = append(sources, d)
			}
		}
	}
	return false
}

// NoSlots is why no counter of a table with slots: 0 is slotted.
const NoSlots = "slots: 0: overlapping increments are grouped on the base row"

// Slottable reports whether increments of a counter may go to slots and, if not, why. To
// the planner, a counter that may not is an ordinary column: its base value is its total.
func (t *Table) Slottable(column string) (bool, string) {
	c := t.Column(column)
	if c == nil {
		return false, "there is no such column"
	}
	if t.Counter != nil && t.Counter.Unslotted.Faults[column] != "" {
		return false, t.Counter.Unslotted.Faults[column]
	}
	switch {
	case c.Numeric == Float:
		return false, "sums of floating-point numbers depend on their order"
	case c.Numeric != Integer && c.Numeric != Decimal:
		return false, "the column cannot be summed"
	case c.Padded:
		return false, "ZEROFILL pads the column's values with zeros, but not a total"
	case c.Numeric == Integer && c.Bits < 32:
		return false, "the column is too narrow to share its range among slots"
	case c.Numeric == Decimal && c.Precision > 0 && c.Precision-c.Scale < 6:
		return false, "the column is too narrow to share its range among slots"
	case c.Numeric == Decimal && t.Counter != nil && t.Counter.Layout == LayoutShared:
		return false, "the shared slot table counts whole numbers"
	}
	why := t.slotless()
	if why == "" {
		why = t.baseValueMatters(column)
	}
	if why == "" {
		why = t.setByUpdate()
	}
	if why == "" && t.Counter != nil && t.Counter.Slots == 0 {
		why = NoSlots
	}
	return why == "", why
}

// slotless returns why no counter of the table is slotted, or "".
func (t *Table) slotless() string {
	switch {
	case t.Temporary:
		return "the table is temporary"
	case Doubt(t) != "":
		return Doubt(t)
	case t.Triggers.Ruled:
		return "row-level security or a rewrite rule decides what an UPDATE of the table does"
	case t.Triggers.Update && (t.Counter == nil || !t.Counter.Options.DeferTriggers):
		return "a trigger fires on UPDATE of the table: write defer_triggers: true if it may fire later, for the sum of many increments"
	case t.Storage.Versioned:
		return "the table keeps every version of its rows (system versioning), and increments in slots create none"
	}
	return ""
}

// baseValueMatters returns what in the database looks at the value that the base row stores in
// a column, and would refuse an increment, or do something for it, that a slot takes; or "".
func (t *Table) baseValueMatters(column string) string {
	for _, u := range t.PartialUniques {
		if slices.Contains(u.Columns, column) {
			return "the unique index " + u.Name + " looks at the column's base value"
		}
	}
	switch {
	case slices.Contains(t.Checked, column):
		return "a CHECK constraint uses the column's base value" + insteadOfChecks(t, column)
	case slices.Contains(t.ForeignKeys.Columns, column):
		return "a foreign key of the table looks for the column's base value in another table"
	case slices.Contains(t.ForeignKeys.Targets, column):
		return "a foreign key refers to the column's base value"
	case slices.Contains(t.Storage.PartitionedBy, column):
		return "the column's base value decides which partition the row is in"
	}
	return ""
}

// insteadOfChecks is advice for a column whose CHECK constraints are bounds that min and max take, "" for others.
func insteadOfChecks(t *Table, column string) string {
	var bounds []string
	for _, k := range t.Checks {
		if !slices.Contains(k.Columns, column) {
			continue
		}
		bound := boundOf(t, k.SQL, column)
		if bound == "" {
			return ""
		}
		bounds = append(bounds, bound)
	}
	if len(bounds) == 0 {
		return ""
	}
	return ": for slots replace it by " + strings.Join(bounds, ", ") + " and a condition in WHERE"
}

// comparison is a column compared with a whole number, or with another column, as the engines write it.
var comparison = regexp.MustCompile("^[\\s(]*[`\"]?(\\w+)[`\"]?[\\s)]*(>=|<=|>|<)[\\s(]*(?:(-?\\d+)|[`\"]?(\\w+)[`\"]?)[\\s)]*(?:::\\w+)?[\\s)]*$")

// boundOf returns the bound that a condition is for a column, as the configuration has it; "" for none.
func boundOf(t *Table, condition, column string) string {
	m := comparison.FindStringSubmatch(condition)
	if m == nil || m[1] != column {
		return ""
	}
	key, beyond := "min", 1
	if m[2][0] == '<' {
		key, beyond = "max", -1
	}
	strict := len(m[2]) == 1
	switch n, err := strconv.Atoi(m[3]); {
	case err == nil && strict:
		return key + ": " + strconv.Itoa(n+beyond)
	case err == nil:
		return key + ": " + m[3]
	case !strict && m[4] != column && t.Column(m[4]) != nil:
		return key + ": " + m[4]
	}
	return ""
}

// setByUpdate names a column that the engine sets in every row that is updated; "" for none.
func (t *Table) setByUpdate() string {
	for i := range t.Columns {
		if name := t.Columns[i].Name; t.Columns[i].OnUpdate && (t.Companion(name) == nil || t.Companion(name).Merge != Latest) {
			return "column " + name + " changes ON UPDATE of the row: write companions: {" + name + ": latest}"
		}
	}
	return ""
}

// Tied returns how another row, or the row's partition, depends on the value that is stored in
// one of the columns, as of "column x ..."; or "".
func (t *Table) Tied(with func(column string) bool) string {
	switch {
	case slices.ContainsFunc(t.ForeignKeys.Columns, with):
		return "references another table"
	case slices.ContainsFunc(t.ForeignKeys.Targets, with):
		return "is referenced by a foreign key"
	case slices.ContainsFunc(t.Storage.PartitionedBy, with):
		return "decides which partition a row is in"
	}
	return ""
}

// IsKeyColumn reports whether a column, in any letter case, is part of the configured key or
// of any unique key of the table.
func (t *Table) IsKeyColumn(name string) bool {
	same := func(columns []string) bool {
		for _, c := range columns {
			if strings.EqualFold(c, name) {
				return true
			}
		}
		return false
	}
	for _, u := range t.Uniques {
		if same(u.Columns) {
			return true
		}
	}
	return same(t.Counter.Key)
}

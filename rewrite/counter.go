package rewrite

import "strings"

// Counter is the configuration of one counter table.
type Counter struct {
	Key      []string // key columns as stored in the database; empty for a single-row table
	Counters []string // counter columns as stored in the database, in table order
	// Counted are the counters that the configuration names, whether or not slots may
	// hold counts of them: increments of each may share a statement on the base row.
	Counted []string
	// Passive are those of Counters that the configuration does not name but the
	// slot table has: other processes may count them in slots. They are summed
	// and folded like the others, and their increments run on the base row.
	Passive []string
	// Retired are those of Counters that may not be slotted any more, while slots
	// may still hold something of them. They are summed and folded like the others,
	// and a statement that changes one is drained for: the base row then decides on
	// its own, as it will for all once the slots are empty.
	Retired []string
	// Faults says, by column, why a counter is not slotted though its table would
	// allow it: its slot table cannot take it, for instance.
	Faults map[string]string
	// Unfit says why slots cannot be added up, "" where they can. Holding: and they
	// hold something. See HolderCatalog.
	Unfit   string
	Holding bool
	// Ungranted says what has to be granted before the session's user may move slots
	// into base rows; nil where it may.
	Ungranted []string
	// Blind says that the session's user may not read the slot table.
	Blind bool

	Slots int // at most this many slot rows per key; 0: none, see GroupCatalog

	// Bounds are those of counters that have any.
	Bounds []Bounds

	Companions []Companion // in table order

	Layout    Layout // "" is LayoutDedicated
	Placement Placement
	OnDrain   OnDrain
	Reads     Reads
	// Release is the DDL that has the slot table refer to its own table again, when
	// this is another one, which had its name. See HolderCatalog.
	Release []string
	// Wide says that the slot table has room for a journal's numbers, or, where it
	// is shared, for any that slotsql itself would not use: other programs may make
	// such rows, whatever this one's configuration says.
	Wide bool

	// Width is the number of columns that the slot table is known to have; 0 if
	// it is not known, and for a shared one.
	Width int

	SlotSchema string // where the slot table is
	SlotTable  string
	SlotColumn string // name of the slot-number column in the slot table, normally "slot"

	// Shared says how slots stand in the slot table of LayoutShared; nil for any
	// other layout.
	Shared *Shared

	// Coalesce says that executions which overlap may share one statement.
	Coalesce bool

	// NoForeignKey says that the slot table has, or is to get, no foreign key
	// to the base table: nothing but slotsql, or triggers where an engine's slot
	// tables have them, deletes the slots of a row that goes.
	NoForeignKey bool

	// Untended says that triggers are missing which keep the slot table in step,
	// where an engine's slot tables have them.
	Untended bool

	// Routines are the names of procedures and functions that read or set the
	// table's counters.
	Routines []string

	// DeferTriggers says that UPDATE triggers of the table need not fire for
	// each increment, but may for the sum of many when slots are folded.
	DeferTriggers bool
}

// IsPassive reports whether a counter is one of Passive.
func (c *Counter) IsPassive(column string) bool { return contains(c.Passive, column) }

// IsRetired reports whether a counter is one of Retired.
func (c *Counter) IsRetired(column string) bool { return contains(c.Retired, column) }

// Fault notes why a counter is not slotted, unless there is a reason already.
func (c *Counter) Fault(column, why string) {
	if c.Faults == nil {
		c.Faults = map[string]string{}
	}
	if c.Faults[column] == "" {
		c.Faults[column] = why
	}
}

// Whole writes an expression that the engine refuses when the slot table has
// other columns than are known, before anything of its statement happens; "" if
// none are known. What deletes slot rows has it, at the same time or after it
// has locked the table's columns: a column that another process has added since
// may hold counts.
// Lock, which may be "", is how the slot table is read.
func (c *Counter) Whole(slots, lock string) string {
	if c.Width == 0 {
		return ""
	}
	return "(NULL" + strings.Repeat(", NULL", c.Width-1) + ") IN (SELECT * FROM " + slots + " AS slotsql_s WHERE 1 = 0" + lock + ")"
}

// Single reports whether the table has the empty key: it is one of a single row.
func (c *Counter) Single() bool { return len(c.Key) == 0 }

// Tied reports whether the engine itself deletes the slot rows of a base row that is
// deleted.
func (c *Counter) Tied() bool { return !c.Single() && c.Layout != LayoutShared }

// AnyNumber reports whether slot rows may have any number.
func (c *Counter) AnyNumber() bool { return c.Layout == LayoutJournal || c.Wide }

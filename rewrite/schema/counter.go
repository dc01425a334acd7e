package schema

import (
	"slices"
	"strings"
)

// Counter is one counter table: what its configuration decides, and what is known of
// the slots that go with it.
type Counter struct {
	Key      []string // key columns as stored in the database; empty for a single-row table
	Counters []string // counter columns as stored in the database, in table order
	// Counted are the counters that the configuration names, whether or not slots may
	// hold counts of them: increments of each may share a statement on the base row.
	Counted    []string
	Companions []Companion // in table order
	Touch      []string    // ordinary columns whose last writer wins, as stored in the database
	Versions   []string    // ordinary columns that a compare and set expects a value of, as stored in the database
	Bounds     []Bounds    // of the counters that have any
	Tickets    []Tickets   // of the counters that have any

	Layout  Layout // "" is LayoutDedicated
	Slots   int    // at most this many slot rows per key; 0: none, see GroupCatalog
	Options Options

	SlotTable SlotTable
	Shared    *Shared // how slots stand in the slot table of LayoutShared; nil for any other layout
	Unslotted Unslotted
	Rights    Rights
}

// Options are the configuration's choices for one table, beside its layout. Coalesce and
// DeferTriggers are settings that may be combined with any other.
type Options struct {
	Placement Placement
	OnDrain   OnDrain
	Reads     Reads
	// Coalesce: executions that overlap may share one statement.
	Coalesce bool
	// DeferTriggers: UPDATE triggers of the table need not fire for each increment,
	// but may for the sum of many when slots are folded (UPDATE triggers then fire once per
	// fold).
	DeferTriggers bool
	// Routines are the names of procedures and functions that read or set the
	// table's counters.
	Routines []string
}

// SlotTable is where the slots of a table are, and what is known of their table. What the
// booleans tell was read from the database by itself each: none follows from another, and a
// table keeps them for as long as its facts are used.
type SlotTable struct {
	Schema, Name string
	Column       string // the column of the slot number, normally "slot"

	// Width is the number of columns that the slot table is known to have; 0 if
	// it is not known, and for a shared one.
	Width int
	// Wide: the slot table has room for a journal's numbers, or, where it is shared, for
	// any that slotsql itself would not use. Other programs may make such rows, whatever
	// the configuration of this one is.
	Wide bool
	// NoForeignKey: the slot table has, or is to get, no foreign key to the base table.
	// Only slotsql deletes the slots of a deleted row, or triggers where an engine's
	// slot tables have them.
	NoForeignKey bool
	// Untended: triggers are missing which keep the slot table in step, where an
	// engine's slot tables have them.
	Untended bool
	// Release is the DDL that has the slot table refer to its own table again, when
	// this is another one, which had its name. See HolderCatalog.
	Release []string
	// Unfit is why slots cannot be added up, "" where they can. Holding: and they
	// hold something. See HolderCatalog.
	Unfit   string
	Holding bool
}

// Unslotted are the counters of a table whose increments do not go to slots.
type Unslotted struct {
	// Passive are those of Counters that other processes may count in slots, and this one
	// does not: the slot table has them, but the configuration does not name them, has mode
	// passive, or the session's user cannot tell (Doubt). They are summed
	// and folded like the others, and their increments run on the base row.
	Passive []string
	// Retired are those of Counters that may not be slotted any more, while slots
	// may still hold something of them. They are summed and folded like the others,
	// and a statement that changes one is drained for: the base row then decides on
	// its own, as it will for all once the slots are empty.
	Retired []string
	// Faults are, by column, the reasons why a counter is not slotted though its table
	// would allow it: its slot table cannot take it, for instance.
	Faults map[string]string
}

// Rights are what the session's user may do with the base table and its slots.
type Rights struct {
	// Ungranted is what has to be granted before the user may move slots into base
	// rows; nil where it may.
	Ungranted []string
	// Blind: the user may not read the slot table.
	Blind bool
	// ByColumn: the user may read columns of the base table that it has been granted,
	// and not those that the engine adds to every table.
	ByColumn bool
}

// IsPassive reports whether a counter is one of Passive.
func (u *Unslotted) IsPassive(column string) bool { return slices.Contains(u.Passive, column) }

// IsRetired reports whether a counter is one of Retired.
func (u *Unslotted) IsRetired(column string) bool { return slices.Contains(u.Retired, column) }

// Fault notes why a counter is not slotted, unless there is a reason already.
func (u *Unslotted) Fault(column, why string) {
	if u.Faults == nil {
		u.Faults = map[string]string{}
	}
	if u.Faults[column] == "" {
		u.Faults[column] = why
	}
}

// Whole writes an expression that the engine refuses when the slot table has
// other columns than are known, before anything of its statement happens; "" if
// none are known. What deletes slot rows has it, at the same time or after it
// has locked the table's columns: a column that another process has added since
// may hold counts.
// Lock, which may be "", is how the slot table is read.
func (s *SlotTable) Whole(slots, lock string) string {
	if s.Width == 0 {
		return ""
	}
	return "(NULL" + strings.Repeat(", NULL", s.Width-1) + ") IN (SELECT * FROM " + slots + " AS slotsql_s WHERE 1 = 0" + lock + ")"
}

// Single reports whether the table has the empty key: it is one of a single row.
func (c *Counter) Single() bool { return len(c.Key) == 0 }

// CascadesDelete reports whether the engine itself deletes the slot rows of a base row that is
// deleted.
func (c *Counter) CascadesDelete() bool { return !c.Single() && c.Layout != LayoutShared }

// AnyNumber reports whether slot rows may have any number.
func (c *Counter) AnyNumber() bool { return c.Layout == LayoutJournal || c.SlotTable.Wide }

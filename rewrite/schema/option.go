package schema

// The options of a counter table that are one of a few words. Each value is the
// word of the configuration, so that configuration, plans and reports have one
// set of names. The zero value of each stands for the first constant.

// Layout is how the slots of a table are stored.
type Layout string

// The layouts.
const (
	// LayoutDedicated is a slot table of the table's own, one row per key and slot.
	LayoutDedicated Layout = "dedicated"
	// LayoutShared is a slot table that several counter tables share, one row per
	// key, slot and counter; see Shared.
	LayoutShared Layout = "shared"
	// LayoutJournal is a slot table of the table's own, in which each increment makes
	// a row under a number that no other row has, rather than adding to one of Slots
	// rows.
	LayoutJournal Layout = "journal"
)

// Placement is how an increment chooses among the slots of its row. A journal has
// none to choose from.
type Placement string

// The placements.
const (
	// PlacementConnection takes the lowest slot that no other increment of the process
	// uses just now.
	PlacementConnection Placement = "connection"
	// PlacementRandom takes any slot, anew for each increment.
	PlacementRandom Placement = "random"
	// PlacementSkipLocked takes a slot that no transaction has locked, where there is
	// one.
	PlacementSkipLocked Placement = "skip_locked"
	// PlacementAdaptive leaves increments on the base row, and takes slots, as
	// PlacementConnection does, for rows that are waited for.
	PlacementAdaptive Placement = "adaptive"
)

// AlwaysAwake reports whether every increment of a table with slots goes to one.
func AlwaysAwake(p Placement, l Layout) bool {
	return p != PlacementAdaptive || l == LayoutShared || l == LayoutJournal
}

// OnDrain is what becomes of a statement that drains.
type OnDrain string

// The answers to a drain.
const (
	OnDrainRun   OnDrain = "run"   // it runs
	OnDrainWarn  OnDrain = "warn"  // it runs, and is logged
	OnDrainError OnDrain = "error" // it is refused
)

// Reads is what queries see of a counter.
type Reads string

// The kinds of reads.
const (
	// ReadsExact is the total.
	ReadsExact Reads = "exact"
	// ReadsBase is the base value, which lags behind the total until a roll-up or a
	// drain.
	ReadsBase Reads = "base"
)

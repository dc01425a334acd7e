package config

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite"
)

// The options of a table that are one of a few words are types of their own. All
// but Mode mean something to the planner, too, which declares them.

// Mode says what becomes of the application's statements on a table in this
// process. It says nothing of the slots in the database, which other processes may
// fill: what is done with those (roll-up, drain, migrate --down) is done whatever
// the mode.
type Mode string

// The modes.
const (
	ModeOn      Mode = "on"      // slotsql's plans run
	ModePassive Mode = "passive" // they run, but increments are made on the base row
	ModeShadow  Mode = "shadow"  // statements run as they are, and are counted
	ModeOff     Mode = "off"     // statements run as they are
)

// Layout is how the slots of a table are stored.
type Layout = rewrite.Layout

// The layouts.
const (
	LayoutDedicated = rewrite.LayoutDedicated
	LayoutShared    = rewrite.LayoutShared
	LayoutJournal   = rewrite.LayoutJournal
)

// Placement is how an increment chooses among the slots of its row.
type Placement = rewrite.Placement

// The placements.
const (
	PlacementConnection = rewrite.PlacementConnection
	PlacementRandom     = rewrite.PlacementRandom
	PlacementSkipLocked = rewrite.PlacementSkipLocked
)

// OnDrain is what becomes of a statement that drains.
type OnDrain = rewrite.OnDrain

// The answers to a drain.
const (
	OnDrainRun   = rewrite.OnDrainRun
	OnDrainWarn  = rewrite.OnDrainWarn
	OnDrainError = rewrite.OnDrainError
)

// Reads is what queries see of a counter.
type Reads = rewrite.Reads

// The kinds of reads.
const (
	ReadsExact = rewrite.ReadsExact
	ReadsBase  = rewrite.ReadsBase
)

// Merge is how the values of a companion become one.
type Merge = rewrite.Merge

// The ways to merge.
const (
	MergeLatest = rewrite.Latest
	MergeMax    = rewrite.Max
	MergeMin    = rewrite.Min
)

// Modes are all modes, in the order that messages list them.
var Modes = []Mode{ModeOn, ModePassive, ModeShadow, ModeOff}

var (
	layouts    = []Layout{LayoutDedicated, LayoutShared, LayoutJournal}
	placements = []Placement{PlacementConnection, PlacementRandom, PlacementSkipLocked}
	onDrains   = []OnDrain{OnDrainRun, OnDrainWarn, OnDrainError}
	reads      = []Reads{ReadsExact, ReadsBase}
	merges     = []Merge{MergeLatest, MergeMax, MergeMin}
)

// TablesOf returns the configured tables of the given modes.
func (c *Config) TablesOf(modes ...Mode) []TableConfig {
	return slices.DeleteFunc(c.Tables(), func(t TableConfig) bool { return !slices.Contains(modes, t.Mode) })
}

// Demanded reports whether the database must have what the table needs. Nothing is
// demanded for a table that statements run on as they are.
func Demanded(t *TableConfig) bool { return t.Mode == ModeOn || t.Mode == ModePassive }

// Always reports whether counts of the table are, or are to be, slotted: it demands
// what the table needs whatever this process does with it.
func Always(t *TableConfig) bool { return t.Mode != ModeOff }

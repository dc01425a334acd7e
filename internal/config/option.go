package config

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/schema"
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

// Modes are all modes, in the order that messages list them.
var Modes = []Mode{ModeOn, ModePassive, ModeShadow, ModeOff}

var (
	layouts    = []schema.Layout{schema.LayoutDedicated, schema.LayoutShared, schema.LayoutJournal}
	placements = []schema.Placement{
		schema.PlacementAdaptive, schema.PlacementConnection, schema.PlacementRandom, schema.PlacementSkipLocked,
	}
	onDrains = []schema.OnDrain{schema.OnDrainRun, schema.OnDrainWarn, schema.OnDrainError}
	reads    = []schema.Reads{schema.ReadsExact, schema.ReadsBase}
	merges   = []schema.Merge{schema.Latest, schema.Max, schema.Min}
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

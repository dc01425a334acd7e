package config

import "slices"

// A table's mode says what becomes of the application's statements on it in
// this process: on, slotsql's plans run; passive, they run, but that increments
// are made on the base row (see passive.go); shadow, the statements run as they
// are, and are counted (see shadow.go); off, they are not looked at. It says
// nothing of the slots in the database, which other processes may fill: what is
// done with those (roll-up, drain, migrate --down) is done whatever the mode.
const (
	ModeOn      = "on"
	ModePassive = "passive"
	ModeShadow  = "shadow"
	ModeOff     = "off"
)

// TablesOf returns the configured tables of the given modes.
func (c *Config) TablesOf(modes ...string) []TableConfig {
	return slices.DeleteFunc(c.Tables(), func(t TableConfig) bool { return !slices.Contains(modes, t.Mode) })
}

// Demanded says that the database must have what the table needs. Nothing is
// demanded for a table that statements run on as they are.
func Demanded(t *TableConfig) bool { return t.Mode == ModeOn || t.Mode == ModePassive }

// Always demands it for every table that counts are, or are to be, slotted of.
func Always(t *TableConfig) bool { return t.Mode != ModeOff }

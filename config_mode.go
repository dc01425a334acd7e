package slotsql

import "slices"

// A table's mode says what becomes of the application's statements on it in
// this process: on, slotsql's plans run; passive, they run, but that increments
// are made on the base row (see passive.go); shadow, the statements run as they
// are, and are counted (see shadow.go); off, they are not looked at. It says
// nothing of the slots in the database, which other processes may fill: what is
// done with those (roll-up, drain, migrate --down) is done whatever the mode.
const (
	modeOn      = "on"
	modePassive = "passive"
	modeShadow  = "shadow"
	modeOff     = "off"
)

// tablesOf returns the configured tables of the given modes.
func (c *Config) tablesOf(modes ...string) []TableConfig {
	return slices.DeleteFunc(c.Tables(), func(t TableConfig) bool { return !slices.Contains(modes, t.Mode) })
}

// demanded says that the database must have what the table needs. Nothing is
// demanded for a table that statements run on as they are.
func demanded(t *TableConfig) bool { return t.Mode == modeOn || t.Mode == modePassive }

// always demands it for every table that counts are, or are to be, slotted of.
func always(t *TableConfig) bool { return t.Mode != modeOff }

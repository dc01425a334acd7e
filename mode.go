package slotsql

import (
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

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

// newShared returns what plans and runs statements: it knows the tables that
// are on or passive, and no other ones.
func newShared(d dialect.Dialect, config *Config) *shared {
	return sharedOf(d, config, config.tablesOf(modeOn, modePassive))
}

// forModes returns one for tables of the given modes, which runs none of the
// application's statements; on itself where that has them all.
func (on *shared) forModes(modes ...string) *shared {
	tables := on.config.tablesOf(modes...)
	if len(tables) == len(on.tables) {
		return on
	}
	s := sharedOf(on.dialect, on.config, tables)
	s.logger, s.beside = on.logger, true
	s.made.wake, s.made.journal = on.made.wake, on.made.journal // a roll-up is of both
	return s
}

// demanded says that the database must have what the table needs. Nothing is
// demanded for a table that statements run on as they are.
func demanded(t *TableConfig) bool { return t.Mode == modeOn || t.Mode == modePassive }

// always demands it for every table that counts are, or are to be, slotted of.
func always(t *TableConfig) bool { return t.Mode != modeOff }

// notOff leaves out the tables with mode off.
func notOff(tables []checkedTable) []checkedTable {
	return slices.DeleteFunc(tables, func(t checkedTable) bool { return t.config.Mode == modeOff })
}

// absent returns what is to be said of tables with mode off that are not in the
// database, or not as a counter table has to be.
func absent(s *catalog, found []TableStatus) (out []TableStatus) {
	for _, t := range s.tables {
		if t.Mode == modeOff && !slices.ContainsFunc(found, func(o TableStatus) bool { return o.Table == t.Name }) {
			out = append(out, TableStatus{Table: t.Name, Mode: t.Mode, Key: []string{}, Counters: []CounterStatus{}, Missing: true})
		}
	}
	return out
}

// explainModes explains a text as it is run, and beside it, where it names
// tables with mode shadow, as it would be run if they were on.
func explainModes(config *Config, query string, explain func(shadow bool) (*Explanation, error)) (*Explanation, error) {
	e, err := explain(false)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, t := range config.tablesOf(modeShadow, modeOff) {
		switch named := rewrite.ContainsFold(query, rewrite.Spelled(t.Table)); {
		case named && t.Mode == modeOff:
			notes = append(notes, fmt.Sprintf("table %s has mode off: statements on it run as they are", t.Name))
		case named:
			notes = append(notes, fmt.Sprintf("table %s has mode shadow: statements on it run as they are, and are counted", t.Name))
			if e.Shadow != nil {
				continue
			}
			if e.Shadow, err = explain(true); err != nil {
				return nil, err
			}
		}
	}
	e.Notes = append(notes, e.Notes...)
	return e, nil
}

package slotsql

import (
	"github.com/slotsql/slotsql/dialect"
)

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
	s.logger, s.dial, s.beside = on.logger, on.dial, true
	s.made.wake, s.made.journal = on.made.wake, on.made.journal // a roll-up is of both
	return s
}

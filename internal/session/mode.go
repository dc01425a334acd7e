package session

import (
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
)

// New returns what plans and runs statements: it knows the tables that
// are on or passive, and no other ones.
func New(d dialect.Dialect, cfg *config.Config) *Shared {
	return NewFor(d, cfg, cfg.TablesOf(config.ModeOn, config.ModePassive))
}

// ForModes returns one for tables of the given modes, which runs none of the
// application's statements; on itself where that has them all.
func (on *Shared) ForModes(modes ...config.Mode) *Shared {
	tables := on.Config.TablesOf(modes...)
	if len(tables) == len(on.Tables) {
		return on
	}
	s := NewFor(on.Dialect, on.Config, tables)
	s.Logger, s.Dial, s.Role.Beside = on.Logger, on.Dial, true
	s.Made.Wake, s.Made.Journal = on.Made.Wake, on.Made.Journal // a roll-up is of both
	return s
}

package slotsql

import (
	"github.com/slotsql/slotsql/internal/upkeep"
)

// Inspection is a report from the database about counter tables at one moment: slots, the
// lag of the roll-up, and waiting sessions, whichever processes cause them. Stats has
// what statements of this process have done. At is the time of the report, RollUp reports
// whether a roll-up has the lease (nil if the engine has none), Tables has one report for
// each table, Missing are the configured tables that do not exist, and Lacks the rights
// that the session lacks to see all waiting sessions.
type Inspection = upkeep.Inspection

// TableInspection is a report from the database about one counter table:
//
//   - Table and SlotTable are its names; SlotTable is "" if it has no slots.
//   - Rows is the number of base rows that have slots with a value, Slots the number of
//     these slots, and Idle the number of empty slot rows. If More is set, there are more.
//   - Awake reports whether there is any of them; a table without one sleeps.
//   - Lag is the age of the oldest increment that may still be in a slot: the time since the
//     beginning of the last pass. It is nil if no slot holds a value, if that pass left a slot
//     behind or there was none, and on engines that do not keep it.
//   - Waits is the number of sessions that wait for a lock on the base table, SlotWaits for
//     one on the slot table, and Longest the longest of these waits.
type TableInspection = upkeep.TableInspection

// Inspector inspects a database repeatedly, on a connection of its own. Look(ctx) returns
// an *Inspection; Close closes the connection. It is not safe for concurrent use.
type Inspector = upkeep.Inspector

// NewInspector returns an inspector of the configured tables. It connects at the first
// Look, takes no locks and changes nothing. A configuration that does not fit the
// database is reported as a *ConfigError. Close closes its connection.
func NewInspector(c *Connector) (*Inspector, error) {
	return upkeep.NewInspector(c.every.Catalog)
}

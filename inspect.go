package slotsql

import (
	"github.com/slotsql/slotsql/internal/upkeep"
)

// Inspection is a report from the database about counter tables at one moment: slots, the
// lag of the roll-up, and waiting sessions, whichever processes cause them. Stats has
// what statements of this process have done.
type Inspection = upkeep.Inspection

// TableInspection is a report from the database about one counter table.
type TableInspection = upkeep.TableInspection

// Inspector inspects a database repeatedly, on a connection of its own. It is not safe
// for concurrent use.
type Inspector = upkeep.Inspector

// NewInspector returns an inspector of the configured tables. It connects at the first
// Look, takes no locks and changes nothing. A configuration that does not fit the
// database is reported as a *ConfigError. Close closes its connection.
func NewInspector(c *Connector) (*Inspector, error) {
	return upkeep.NewInspector(c.every.Catalog)
}

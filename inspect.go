package slotsql

import (
	"github.com/slotsql/slotsql/internal/upkeep"
)

// Inspection is what a database itself tells of counter tables at one moment, whatever
// processes use them: slots, lag of the roll-up, sessions that wait. What statements of
// this process have done is in Stats.
type Inspection = upkeep.Inspection

// TableInspection is what a database tells of one counter table.
type TableInspection = upkeep.TableInspection

// Inspector looks at a database again and again, on one connection of its own. It is not
// safe for concurrent use.
type Inspector = upkeep.Inspector

// NewInspector returns an inspector of the configured tables. It connects with the first
// Look, and takes locks and changes nothing; a configuration that does not fit the
// database is a *ConfigError. Close ends its connection.
func NewInspector(c *Connector) (*Inspector, error) {
	return upkeep.NewInspector(c.every.Catalog)
}

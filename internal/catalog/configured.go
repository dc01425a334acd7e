package catalog

import (
	"maps"
	"slices"

	"github.com/slotsql/slotsql/internal/config"
)

// Configured returns all tables of the configuration, whatever their mode, with the
// defaults of the engine.
func (c *Catalog) Configured() []config.TableConfig {
	tables := c.Config.Tables()
	for i := range tables {
		tables[i].Bind(engineSlots(c.Traits))
	}
	return tables
}

// StoredTable tells where the slots of a table are.
type StoredTable struct {
	Table   string
	Slotted string // see schema.Counter.Slotted
}

// Stored returns the tables with slots whose facts are known, in any namespace.
func (c *Catalog) Stored() (out []StoredTable) {
	c.mu.Lock()
	schemas := slices.Collect(maps.Values(c.schemas))
	c.mu.Unlock()
	for _, sc := range schemas {
		for _, t := range sc.Counters() {
			if st := (StoredTable{t.Name, t.Counter.Slotted()}); !slices.Contains(out, st) {
				out = append(out, st)
			}
		}
	}
	return out
}

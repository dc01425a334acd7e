package config

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// With slots: 0 a table has no slot table: nothing of it is added up, and increments
// that overlap share a statement on the base row. Where the file does not say how many
// slots there are, the engine does: see Bind. Keys that are about slots alone are
// problems beside slots: 0, so that they are not taken for being in force.

// DefaultSlots is the number of slots on engines that let several connections write.
const DefaultSlots = 64

// defaultsPath begins the paths of the file's defaults among the places of a table's
// keys.
const defaultsPath = "defaults."

// Bind sets Slots to the engine's own default, where the file neither says how many
// slots there are nor has a key that asks for them.
func (t *TableConfig) Bind(engine int) {
	if !t.Given("slots") && !t.asksForSlots() && t.slotsCounters() {
		t.Slots = engine
	}
}

// Given reports whether a key stands in the file, for the table or for all.
func (t *TableConfig) Given(key string) bool {
	_, own := t.at[key]
	_, all := t.at[defaultsPath+key]
	return own || all
}

// asksForSlots reports whether a key is set to what only slots have. One that is set
// to its default says nothing.
func (t *TableConfig) asksForSlots() bool {
	return t.Layout != schema.LayoutDedicated || t.choosesSlots() || len(t.Companions) > 0 || t.SlotTable != ""
}

// choosesSlots reports whether the table's placement always takes slots, by a key of
// the file.
func (t *TableConfig) choosesSlots() bool {
	return t.Placement != schema.PlacementAdaptive
}

// slotted are the keys that need slots, with whether a table has them set such.
func (t *TableConfig) slotted() []slottedKey {
	return []slottedKey{
		{"layout", t.Layout != schema.LayoutDedicated, "layout " + string(t.Layout) + " is how slots are stored"},
		{"placement", t.choosesSlots(), "placement " + string(t.Placement) + " chooses among slots"},
		{"companions", len(t.Companions) > 0, "companions are stored in slots"},
		{"reads", t.Reads != schema.ReadsExact, "without slots base values are the totals"},
		{"slot_table", t.SlotTable != "", "there is no slot table"},
	}
}

type slottedKey struct {
	key string
	set bool
	why string
}

const slotlessAdvice = "%s, and slots is 0: remove %s, or give slots (docs/operations.md has the steps from slots to none)"

// slotlessDefaults reports defaults that contradict each other.
func (d *decoder) slotlessDefaults(fallback *TableConfig) {
	if _, given := fallback.at[defaultsPath+"slots"]; !given || fallback.Slots != 0 {
		return
	}
	for _, k := range fallback.slotted() {
		if at, given := fallback.at[defaultsPath+k.key]; given && k.set {
			d.report(at, joinPath("defaults", k.key), "defaults: "+slotlessAdvice, k.why, k.key)
		}
	}
}

// slotless reports keys of a table without slots that are about slots. Those of the
// defaults are for other tables, and do not hold for it.
func (d *decoder) slotless(t *TableConfig) {
	if t.Slots != 0 {
		return
	}
	for _, k := range t.slotted() {
		if _, given := t.at[k.key]; given && k.set {
			d.problems = append(d.problems, t.Problem(k.key, slotlessAdvice, k.why, k.key))
		}
	}
	t.Layout, t.Reads = schema.LayoutDedicated, schema.ReadsExact
	if t.choosesSlots() {
		t.Placement = schema.PlacementAdaptive
	}
}

package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file checks tables of layout shared, and the slot tables that they share, against what
// the layout needs.

// sharedCounter sets what layout shared needs to know about a table.
func sharedCounter(cfg *config.TableConfig, t *schema.Table, c *schema.Counter) (faults []fault) {
	sh := cfg.Shared
	c.Shared = &schema.Shared{Type: sh.Type, ID: sh.ID, Count: sh.Count, Records: map[string]int64{}}
	c.SlotTable.Column, c.SlotTable.NoForeignKey = sh.Slot, true
	for _, cc := range cfg.Counters {
		if col, _ := FindColumn(t, cc.Column); col != nil && cc.RecordType != nil {
			c.Shared.Records[col.Name] = *cc.RecordType
		}
	}
	switch {
	case len(c.Key) == 0 && cfg.Key == nil:
		return nil // has been said
	case len(c.Key) != 1:
		return []fault{
			{
				"key",
				fmt.Sprintf(
					"layout shared stores the key in one column, but [%s] has %d: use layout dedicated",
					strings.Join(c.Key, ", "),
					len(c.Key),
				),
			},
		}
	}
	col := t.Column(c.Key[0])
	if kind, _, _ := textType(col); col.Numeric != schema.Integer && !slices.Contains(textKinds, kind) {
		return []fault{
			{
				"key",
				fmt.Sprintf(
					"key column %s has type %s, but layout shared stores integer and variable-length text keys only: use layout dedicated",
					config.Clip(col.Name),
					typeName(col),
				),
			},
		}
	}
	return nil
}

// textKinds are the types whose strings can be stored in another such column unchanged. (CHAR
// would lose trailing blanks, and other types have rules of comparison of their own.)
var textKinds = []string{"varchar", "character varying", "text", "nvarchar"}

var typeParts = regexp.MustCompile(`(?i)^\s*([a-z]+(?: varying)?)\s*(?:\(\s*(\d+)\s*\))?(?:\s+(.*))?$`)

// textType splits a type into its kind, its length (0 for none), and the part that says how
// its strings are compared.
func textType(c *schema.Column) (kind string, length int, comparison string) {
	m := typeParts.FindStringSubmatch(c.Type)
	if m == nil {
		return "", 0, ""
	}
	length, _ = strconv.Atoi(m[2])
	return strings.ToLower(m[1]), length, m[3]
}

// CheckSlots checks the slot table that the database has, nil for none, against what t needs,
// and notes its facts in t.Counter.
func (c *Catalog) CheckSlots(t, slot *schema.Table) []config.Problem {
	if t.Counter.Layout != schema.LayoutShared || slot == nil || slot.IsView || slot.Temporary {
		return CheckSlotTable(t, slot)
	}
	return checkSharedTable(t, slot, c.Traits)
}

// checkSharedTable checks a shared slot table, which another program may have made, against
// what the table t needs of it.
func checkSharedTable(t, slot *schema.Table, traits rewrite.Traits) (problems []config.Problem) {
	k := sharedTableCheck{slotTableCheck: slotTableCheck{table: t, slot: slot, kind: "shared slot table"}}
	if !k.findColumns() {
		return k.problems
	}
	k.logged("give the table a slot table of its own (layout: dedicated), or run ALTER TABLE %s SET %s")
	k.checkCounts()
	k.checkNumber()
	k.checkID()
	k.checkOtherColumns(traits)
	k.checkUniqueKeys()
	if slot.Numbers && t.Counter.Shared.Numbered == "" {
		k.report("has rowids, so that an increment would change last_insert_rowid(): create it WITHOUT ROWID")
	}
	if tr := slot.Triggers; tr.Unseen == "" && (tr.Insert || tr.Update || tr.Delete || tr.Ruled) {
		k.report("has triggers or rules: choose another table with slot_table")
	}
	return k.problems
}

// sharedTableCheck collects what is wrong with a shared slot table.
type sharedTableCheck struct {
	slotTableCheck
	record, id, number, count *schema.Column
}

// findColumns finds the columns that the layout needs, and notes their names as stored. It
// reports whether all of them are there.
func (k *sharedTableCheck) findColumns() bool {
	c, sh := k.table.Counter, k.table.Counter.Shared
	k.record, k.id = k.find(sh.Type, "record types"), k.find(sh.ID, "ids")
	k.number, k.count = k.find(c.SlotTable.Column, "slots"), k.find(sh.Count, "counts")
	if len(k.problems) > 0 {
		return false
	}
	sh.Type, sh.ID, sh.Count, c.SlotTable.Column = k.record.Name, k.id.Name, k.count.Name, k.number.Name
	return true
}

func (k *sharedTableCheck) find(name, what string) *schema.Column {
	col, _ := FindColumn(k.slot, name)
	switch {
	case col == nil:
		k.report("has no column %s for %s: name the column under shared, or choose another table with slot_table", config.Clip(name), what)
		return nil
	case col.Generated:
		k.report("has a generated column %s for %s: choose another table with slot_table", config.Clip(name), what)
		return nil
	}
	return col
}

// checkCounts checks that the table can hold the record types and the counts.
func (k *sharedTableCheck) checkCounts() {
	for _, name := range k.table.Counter.Counters {
		if n := k.table.Counter.Shared.Records[name]; !holds(k.record, 0, n) {
			k.report("has a column %s of type %s, which cannot hold record_type %d", config.Clip(k.record.Name), typeName(k.record), n)
		}
		if base := k.table.Column(name); base.Numeric == schema.Integer &&
			(k.count.Numeric != schema.Integer || k.count.Unsigned || k.count.Bits < base.Bits) {
			k.report(
				"has a column %s of type %s, which is too narrow for counter %s of type %s: a signed integer as wide as the counter is needed",
				config.Clip(k.count.Name), typeName(k.count), config.Clip(name), typeName(base),
			)
		}
	}
}

// checkNumber checks that the table can hold the slot numbers.
func (k *sharedTableCheck) checkNumber() {
	k.table.Counter.SlotTable.Wide = k.number.Bits > 16 // other programs may use numbers that slotsql does not
	const most = int64(config.MaxSlots)
	if !holds(k.number, 0, most) {
		k.report("has a column %s of type %s, which cannot hold slot %d", config.Clip(k.number.Name), typeName(k.number), most)
	}
}

// checkID checks that the table can hold the base table's keys.
func (k *sharedTableCheck) checkID() {
	key := k.table.Column(k.table.Counter.Key[0])
	if why := idFault(key, k.id); why != "" {
		k.report("has a column %s of type %s, and key column %s of the table has type %s: %s",
			config.Clip(k.id.Name), typeName(k.id), config.Clip(k.table.Counter.Key[0]), typeName(key), why)
	}
}

// key returns the columns of the unique key that the layout needs.
func (k *sharedTableCheck) key() []string { return []string{k.record.Name, k.id.Name, k.number.Name} }

// checkOtherColumns checks that a slot row can be inserted without a value for the other columns,
// and notes an AUTO_INCREMENT column that may stay.
func (k *sharedTableCheck) checkOtherColumns(traits rewrite.Traits) {
	for i := range k.slot.Columns {
		switch col := &k.slot.Columns[i]; {
		case col == k.record || col == k.id || col == k.number || col == k.count || col.Generated:
		case col.Identity && (!traits.UpsertSetsInsertID || col.Numeric != schema.Integer || col.Unsigned || col.Bits < 32):
			k.report(
				"has an auto-increment or identity column %s: drop it, and make [%s] the primary key (a signed AUTO_INCREMENT column of 32 or 64 bits may stay, on MySQL and MariaDB)",
				config.Clip(col.Name), strings.Join(k.key(), ", "),
			)
		case col.Identity:
			k.table.Counter.Shared.Numbered, k.table.Counter.Shared.NumberedBits = col.Name, col.Bits
		case !col.Nullable && !col.HasDefault:
			k.report("has a column %s without a default, for which slotsql has no value: add a default", config.Clip(col.Name))
		}
	}
}

// checkUniqueKeys checks that a row may have several slots, each of them once, and notes the key
// that upserts go by.
func (k *sharedTableCheck) checkUniqueKeys() {
	sh, found := k.table.Counter.Shared, false
	for _, u := range k.slot.Uniques {
		switch {
		case sameSet(u.Columns, k.key()):
			if u.Primary {
				found, sh.Index = true, ""
			} else if !found {
				found, sh.Index = true, u.Name
			}
		case len(u.Columns) == 1 && u.Columns[0] == sh.Numbered && sh.Numbered != "":
		default:
			k.report("has a unique key %s [%s], which allows a row only one slot: drop it", config.Clip(u.Name), strings.Join(u.Columns, ", "))
		}
	}
	if !found {
		k.report("has no unique key on [%s]: add one", strings.Join(k.key(), ", "))
	}
	if k.slot.OtherUniques {
		k.report("has a unique key on an expression, on part of a column or on some rows: drop it")
	}
}

// holds reports whether an integer column holds the numbers of a range.
func holds(c *schema.Column, low, high int64) bool {
	if c.Numeric != schema.Integer {
		return false
	}
	bits := c.Bits
	if bits == 0 {
		bits = 32
	}
	if !c.Unsigned {
		bits--
	}
	return bits >= 63 || low >= 0 && high < 1<<bits
}

// idFault returns why a column cannot hold the values of a key column and compare them as the key
// does, or "".
func idFault(key, id *schema.Column) string {
	switch {
	case key.Numeric == schema.Integer:
		switch {
		case id.Numeric != schema.Integer:
			return "an integer key needs an integer column"
		case id.Unsigned && !key.Unsigned:
			return "it cannot hold negative keys"
		case id.Bits < key.Bits || !id.Unsigned && key.Unsigned && id.Bits == key.Bits:
			return "it is too narrow"
		}
		return ""
	case id.Numeric != schema.NotNumeric:
		return "a text key needs a text column"
	}
	kind, length, comparison := textType(id)
	_, want, compared := textType(key)
	switch {
	case !slices.Contains(textKinds, kind):
		return "a variable-length text column is needed"
	case comparison != compared:
		return "they compare strings differently: give both the same character set and collation"
	case length > 0 && (want == 0 || length < want):
		return "it is too narrow"
	}
	return ""
}

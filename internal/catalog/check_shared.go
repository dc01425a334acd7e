package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
)

// This file holds tables of layout shared, and the slot tables that they share,
// against what the layout needs.

// sharedCounter sets what layout shared needs to know of a table.
func sharedCounter(cfg *config.TableConfig, t *rewrite.Table, c *rewrite.Counter) (faults []fault) {
	sh := cfg.Shared
	c.Shared = &rewrite.Shared{Type: sh.Type, ID: sh.ID, Count: sh.Count, Records: map[string]int64{}}
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
	if kind, _, _ := textType(col); col.Numeric != rewrite.Integer && !slices.Contains(textKinds, kind) {
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

// textKinds are types of strings that come out of another such column as they went
// in. (CHAR would lose blanks; what is compared by other rules than strings would
// be compared by those of strings.)
var textKinds = []string{"varchar", "character varying", "text", "nvarchar"}

var typeParts = regexp.MustCompile(`(?i)^\s*([a-z]+(?: varying)?)\s*(?:\(\s*(\d+)\s*\))?(?:\s+(.*))?$`)

// textType takes a type apart: its kind, its length (0 for none), and what says
// how its strings are compared.
func textType(c *rewrite.Column) (kind string, length int, comparison string) {
	m := typeParts.FindStringSubmatch(c.Type)
	if m == nil {
		return "", 0, ""
	}
	length, _ = strconv.Atoi(m[2])
	return strings.ToLower(m[1]), length, m[3]
}

// CheckSlots holds the slot table that the database has, nil for none, against
// what t needs, and notes facts of it.
func (c *Catalog) CheckSlots(t, slot *rewrite.Table) []config.Problem {
	if t.Counter.Layout != rewrite.LayoutShared || slot == nil || slot.IsView || slot.Temporary {
		return CheckSlotTable(t, slot)
	}
	return checkSharedTable(t, slot, c.Traits)
}

// checkSharedTable holds a shared slot table, which another program may have
// made, against what the table t needs of it.
//
//nolint:funlen // a list of checks, in the order of what they report
func checkSharedTable(t, slot *rewrite.Table, traits rewrite.Traits) (problems []config.Problem) {
	c, sh := t.Counter, t.Counter.Shared
	report := func(format string, args ...any) {
		problems = append(problems, config.Problem{
			Message: fmt.Sprintf("table %s: shared slot table %s ", config.Clip(t.Name), config.Clip(c.SlotTable.Name)) +
				fmt.Sprintf(format, args...),
		})
	}
	column := func(name, what string) *rewrite.Column {
		col, _ := FindColumn(slot, name)
		switch {
		case col == nil:
			report(
				"has no column %s for %s: name the column under shared, or choose another table with slot_table",
				config.Clip(name),
				what,
			)
		case col.Generated:
			report("has a generated column %s for %s: choose another table with slot_table", config.Clip(name), what)
			col = nil
		}
		return col
	}
	record, id := column(sh.Type, "record types"), column(sh.ID, "ids")
	number, count := column(c.SlotTable.Column, "slots"), column(sh.Count, "counts")
	if len(problems) > 0 {
		return problems
	}
	sh.Type, sh.ID, sh.Count, c.SlotTable.Column = record.Name, id.Name, count.Name, number.Name

	for _, name := range c.Counters {
		if n := sh.Records[name]; !holds(record, 0, n) {
			report("has a column %s of type %s, which cannot hold record_type %d", config.Clip(record.Name), typeName(record), n)
		}
		if base := t.Column(name); base.Numeric == rewrite.Integer &&
			(count.Numeric != rewrite.Integer || count.Unsigned || count.Bits < base.Bits) {
			report(
				"has a column %s of type %s, which is too narrow for counter %s of type %s: a signed integer as wide as the counter is needed",
				config.Clip(count.Name),
				typeName(count),
				config.Clip(name),
				typeName(base),
			)
		}
	}
	c.SlotTable.Wide = number.Bits > 16 // other programs may use numbers that slotsql does not
	const most = int64(config.MaxSlots)
	if !holds(number, 0, most) {
		report("has a column %s of type %s, which cannot hold slot %d", config.Clip(number.Name), typeName(number), most)
	}
	if why := idFault(t.Column(c.Key[0]), id); why != "" {
		report(
			"has a column %s of type %s, and key column %s of the table has type %s: %s",
			config.Clip(id.Name),
			typeName(id),
			config.Clip(c.Key[0]),
			typeName(t.Column(c.Key[0])),
			why,
		)
	}

	key := []string{record.Name, id.Name, number.Name}
	found := false
	for i := range slot.Columns {
		switch col := &slot.Columns[i]; {
		case col == record || col == id || col == number || col == count || col.Generated:
		case col.Identity && (!traits.UpsertSetsInsertID || col.Numeric != rewrite.Integer || col.Unsigned || col.Bits < 32):
			report(
				"has an auto-increment or identity column %s: drop it, and make [%s] the primary key (a signed AUTO_INCREMENT column of 32 or 64 bits may stay, on MySQL and MariaDB)",
				config.Clip(col.Name),
				strings.Join(key, ", "),
			)
		case col.Identity:
			sh.Numbered, sh.NumberedBits = col.Name, col.Bits
		case !col.Nullable && !col.HasDefault:
			report("has a column %s without a default, for which slotsql has no value: add a default", config.Clip(col.Name))
		}
	}
	for _, u := range slot.Uniques {
		switch {
		case sameSet(u.Columns, key):
			if u.Primary {
				found, sh.Index = true, ""
			} else if !found {
				found, sh.Index = true, u.Name
			}
		case len(u.Columns) == 1 && u.Columns[0] == sh.Numbered && sh.Numbered != "":
		default:
			report(
				"has a unique key %s [%s], which allows a row only one slot: drop it",
				config.Clip(u.Name),
				strings.Join(u.Columns, ", "),
			)
		}
	}
	if !found {
		report("has no unique key on [%s]: add one", strings.Join(key, ", "))
	}
	if slot.OtherUniques {
		report("has a unique key on an expression, on part of a column or on some rows: drop it")
	}
	if slot.Numbers && sh.Numbered == "" {
		report("has rowids, so that an increment would change last_insert_rowid(): create it WITHOUT ROWID")
	}
	if slot.Triggers.Insert || slot.Triggers.Update || slot.Triggers.Delete || slot.Triggers.Ruled {
		report("has triggers or rules: choose another table with slot_table")
	}
	return problems
}

// holds reports whether an integer column holds the numbers of a range.
func holds(c *rewrite.Column, low, high int64) bool {
	if c.Numeric != rewrite.Integer {
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

// idFault says why a column cannot hold the values of a key column such that they
// compare there as in the key, or "".
func idFault(key, id *rewrite.Column) string {
	switch {
	case key.Numeric == rewrite.Integer:
		switch {
		case id.Numeric != rewrite.Integer:
			return "an integer key needs an integer column"
		case id.Unsigned && !key.Unsigned:
			return "it cannot hold negative keys"
		case id.Bits < key.Bits || !id.Unsigned && key.Unsigned && id.Bits == key.Bits:
			return "it is too narrow"
		}
		return ""
	case id.Numeric != rewrite.NotNumeric:
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

package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file decodes what is said of slot tables that several tables share.

// SharedConfig is a slot table that tables with layout: shared keep their slots
// in: one row for each base row, slot and counter.
type SharedConfig struct {
	Table string // its name; it stands in the schema of each base table

	// The columns that hold a counter's record type, the key of its base row, the
	// number of the slot, and what the slot holds.
	Type, ID, Slot, Count string
}

// defaultShared is the table that is meant where the configuration names none.
func defaultShared() SharedConfig {
	return SharedConfig{Table: "slotted_counters", Type: "record_type", ID: "record_id", Slot: "slot", Count: "count"}
}

// shared decodes the slot tables that are shared.
func (d *decoder) shared(c *Config, e *entry) {
	entries, ok := d.mapping(e.value, e.valueAt(), e.path, "shared", "slotted_counters: {}")
	if ok && len(entries) == 0 {
		d.report(e.at, e.path, "shared is empty: name a table, such as slotted_counters: {}, or leave shared out to use that name")
	}
	for i := range entries {
		s := &entries[i]
		sh := defaultShared()
		parts, why := SplitName(s.name)
		switch {
		case why != "":
			d.report(s.at, s.path, "shared: table %s %s", Clip(s.name), why)
			continue
		case len(parts) == 2:
			d.report(
				s.at,
				s.path,
				"shared: table %s names a schema: leave it out, a slot table is in the schema of its base table",
				Clip(s.name),
			)
			continue
		}
		sh.Table = parts[0]
		d.sharedColumns(&sh, s)
		d.sharedAt = append(d.sharedAt, s.at)
		c.shared = append(c.shared, sh)
	}
}

func (d *decoder) sharedColumns(sh *SharedConfig, e *entry) {
	about := "shared table " + Clip(e.name)
	options, _ := d.mapping(e.value, e.valueAt(), e.path, about, "{} or columns: {count: n}")
	for i := range options {
		o := &options[i]
		if o.name != "columns" {
			d.unknown(o, about+": ", sharedKeys)
			continue
		}
		columns := map[string]*string{"type": &sh.Type, "id": &sh.ID, "slot": &sh.Slot, "count": &sh.Count}
		entries, _ := d.mapping(
			o.value,
			o.valueAt(),
			o.path,
			about+": columns",
			"{type: record_type, id: record_id, slot: slot, count: count}",
		)
		for j := range entries {
			c := &entries[j]
			to := columns[c.name]
			if to == nil {
				d.unknown(c, about+": columns: ", sharedColumnKeys)
				continue
			}
			name, ok := text(c.value)
			if !ok {
				d.report(c.valueAt(), c.path, "%s: column %s must be a name, got %s", about, c.name, describe(c.value))
				continue
			}
			if why := nameFault(name); why != "" {
				d.report(c.valueAt(), c.path, "%s: column %s %s", about, Clip(name), why)
				continue
			}
			*to = name
		}
	}
	names := []string{sh.Type, sh.ID, sh.Slot, sh.Count}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	for i := 1; i < len(names); i++ {
		if strings.EqualFold(names[i-1], names[i]) {
			d.report(e.at, e.path, "%s: column %s is named twice: name four different columns", about, Clip(names[i]))
		}
	}
}

// recordType decodes the record type of a counter.
func (d *decoder) recordType(counter *CounterConfig, o *entry, about string) {
	v, ok := whole(o.value)
	counter.RecordType = &v
	if !ok || v < 0 || v > math.MaxInt32 {
		d.report(
			o.valueAt(),
			o.path,
			"%s: record_type must be a whole number from 0 to %d, got %s",
			about,
			math.MaxInt32,
			describe(o.value),
		)
		v = -1 // there is one, but none to compare with
	}
}

// sharedTables sees that each counter of layout shared has a record type that no
// other one has, and finds the table that it is kept in. It comes when all tables
// are known.
func (d *decoder) sharedTables(c *Config) {
	tables := map[string]*SharedConfig{}
	line := map[string]int{}
	for i := range c.shared {
		sh := &c.shared[i]
		if tables[sh.Table] != nil {
			d.report(d.sharedAt[i], "shared", "shared table %s is already on line %d: keep one", Clip(sh.Table), line[sh.Table])
			continue
		}
		tables[sh.Table], line[sh.Table] = sh, d.sharedAt[i].line
	}
	if len(c.shared) == 0 {
		sh := defaultShared()
		tables[sh.Table] = &sh
	}
	taken := map[string]string{}
	for i := range c.tables {
		if t := &c.tables[i]; t.Layout != schema.LayoutShared {
			d.noRecordTypes(t)
		} else if d.findShared(t, tables) {
			d.recordTypes(t, taken)
		}
	}
}

// noRecordTypes reports record types of a table of another layout.
func (d *decoder) noRecordTypes(t *TableConfig) {
	for _, counter := range t.Counters {
		if counter.RecordType != nil {
			d.problems = append(d.problems, t.Problem(
				"counters."+PathName(counter.Column),
				"counter %s has a record_type, which is for layout: shared: remove it, or write layout: shared",
				Clip(counter.Column),
			))
		}
	}
}

// findShared sets the shared slot table of t, and reports whether there is one.
func (d *decoder) findShared(t *TableConfig, tables map[string]*SharedConfig) bool {
	report := func(path, format string, args ...any) {
		d.problems = append(d.problems, t.Problem(path, format, args...))
	}
	if t.Key != nil && len(t.Key) != 1 {
		report("key", "layout shared stores the key in one column: name a key of one column, or use layout dedicated")
	}
	if len(t.Companions) > 0 {
		report("companions", "layout shared does not support companions: remove them, or use layout dedicated")
	}
	known := slices.Sorted(maps.Keys(tables))
	name := t.SlotTable
	if name == "" && len(known) == 1 {
		name = known[0]
	}
	if name == "" {
		report("slot_table", "slot_table is missing: name a shared table (%s)", strings.Join(known, ", "))
		return false
	}
	if tables[name] == nil {
		report("slot_table", "slot table %s is not listed under shared (%s): add it there", Clip(name), strings.Join(known, ", "))
		return false
	}
	t.SlotTable, t.Shared = name, tables[name]
	return true
}

// recordTypes sees that each counter of t has a record type that none has taken.
func (d *decoder) recordTypes(t *TableConfig, taken map[string]string) {
	report := func(counter *CounterConfig, format string, args ...any) {
		d.problems = append(d.problems, t.Problem("counters."+PathName(counter.Column), format, args...))
	}
	for i := range t.Counters {
		counter := &t.Counters[i]
		if counter.RecordType == nil {
			report(counter, "counter %s has no record_type to identify its rows in %s: write %s: {record_type: N}",
				Clip(counter.Column), Clip(t.SlotTable), counter.Column)
			continue
		}
		if *counter.RecordType < 0 {
			continue
		}
		id := fmt.Sprintf("%s\x00%s\x00%d", t.Schema, t.SlotTable, *counter.RecordType)
		if other := taken[id]; other != "" {
			report(counter, "counter %s has the record_type %d of %s: each counter of a shared table needs its own",
				Clip(counter.Column), *counter.RecordType, other)
			continue
		}
		taken[id] = fmt.Sprintf("counter %s of table %s", Clip(counter.Column), Clip(t.Name))
	}
}

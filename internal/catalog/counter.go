package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file is the only place where a schema.Counter is made: for programs that use the database,
// for the golden cases, and for what slotsql init tries out. What the existing slot table adds is
// learned later: see learnSlots.

// Counter returns what the configuration makes of a table, whether or not it fits:
// a counter that the table does not have is left out, and Faults notes why others
// are not slotted.
func Counter(cfg *config.TableConfig, t *schema.Table, names dialect.NameRules) *schema.Counter {
	m := maker{cfg: cfg, table: t, names: names, severity: running}
	return m.make()
}

// heldCounter returns the Counter of a table that only has a slot table: none of its columns is
// slotted.
func heldCounter(slotSchema, slotTable string) *schema.Counter {
	return &schema.Counter{Layout: schema.LayoutDedicated, SlotTable: schema.SlotTable{Schema: slotSchema, Name: slotTable, Column: "slot"}}
}

// Slotted returns those of a table's counters that slots may hold counts of. The
// table has its Counter set.
func Slotted(t *schema.Table) (slotted []string) {
	for _, c := range t.Counter.Counters {
		if ok, _ := t.Slottable(c); ok || t.Counter.Unslotted.IsPassive(c) || t.Counter.Unslotted.IsRetired(c) {
			slotted = append(slotted, c)
		}
	}
	return slotted
}

// maker makes the Counter of one table, and collects what is wrong with the
// configuration.
type maker struct {
	cfg      *config.TableConfig
	table    *schema.Table // nil when there is none
	names    dialect.NameRules
	severity severity
	problems []config.Problem
}

func (m *maker) report(path, format string, args ...any) {
	m.problems = append(m.problems, m.cfg.Problem(path, format, args...))
}

// countable reports whether the table is one that can have counters.
func (m *maker) countable() bool {
	switch {
	case m.table == nil:
		m.report("", "does not exist in the database: create it, or correct the name")
	case m.table.IsView:
		m.report("", "is a view: configure the table that it reads")
	case m.table.Temporary:
		m.report("", "is a temporary table, which other sessions do not see: configure a permanent one")
	default:
		if why := noTransactions(m.table); why != "" && m.severity != running && m.cfg.Slots > 0 {
			m.report("", "%s", why)
		}
	}
	return len(m.problems) == 0
}

// make makes the Counter. Names in it are as the database stores them.
func (m *maker) make() *schema.Counter {
	cfg, t := m.cfg, m.table
	c := &schema.Counter{
		Layout: cfg.Layout,
		Slots:  cfg.Slots,
		Options: schema.Options{
			Placement:     cfg.Placement,
			OnDrain:       cfg.OnDrain,
			Reads:         cfg.Reads,
			Coalesce:      cfg.Coalesce,
			DeferTriggers: cfg.DeferTriggers,
		},
		SlotTable: schema.SlotTable{Schema: t.Schema, NoForeignKey: cfg.NoForeignKeys || t.Storage.Partitioned},
	}
	if c.Layout == schema.LayoutJournal {
		c.Options.Placement = schema.PlacementConnection // there are no slots to choose from
	}
	c.Options.Routines = routinesOf(cfg)
	var faults []fault
	c.Key, faults = resolveKey(cfg, t)
	m.add(faults)
	m.counters(c)
	m.companions(c)
	m.shared(c, "touch", "touched", m.cfg.Touch, &c.Touch)
	m.shared(c, "versions", "version", m.cfg.Versions, &c.Versions)
	c.SlotTable.Column = slotColumn(c)
	if cfg.Layout == schema.LayoutShared {
		m.add(sharedCounter(cfg, t, c))
	} else {
		c.SlotTable.Width = len(SlotColumns(c))
	}
	m.slotTable(c)
	return c
}

func (m *maker) add(faults []fault) {
	for _, f := range faults {
		m.report(f.path, "%s", f.message)
	}
}

// counters sets the counters of c, in table order.
func (m *maker) counters(c *schema.Counter) {
	t := m.table
	for _, cc := range m.cfg.Counters {
		path := "counters." + config.PathName(cc.Column)
		col, why := FindColumn(t, cc.Column)
		switch {
		case col == nil && m.severity == running:
			continue
		case col == nil:
			m.report(path, "counter %s", why)
			continue
		case slices.Contains(c.Counters, col.Name):
			m.report(path, "counter %s is the same column as another counter, %s: keep one", config.Clip(cc.Column), config.Clip(col.Name))
			continue
		}
		c.Counters = append(c.Counters, col.Name)
		m.bounds(c, &cc, col.Name, path)
		m.tickets(c, &cc, col, path)
		if why := noTransactions(t); why != "" {
			c.Unslotted.Fault(col.Name, "the table "+why)
		}
		switch why, judged := counterFault(t, col, c.Key); {
		case why == "":
		case judged && (m.severity != everything || m.cfg.Slots == 0):
			c.Unslotted.Fault(col.Name, "the column "+why)
		default:
			m.report(path, "counter %s %s", config.Clip(col.Name), why)
		}
	}
	c.Counters = inTableOrder(t, c.Counters)
}

// bounds sets the bounds of one counter.
func (m *maker) bounds(c *schema.Counter, cc *config.CounterConfig, counter, path string) {
	if !cc.Bounded() {
		return
	}
	b := schema.Bounds{Column: counter}
	b.Min = m.limit(cc.Min, cc.MinColumn, counter, path+".min")
	b.Max = m.limit(cc.Max, cc.MaxColumn, counter, path+".max")
	c.Bounds = append(c.Bounds, b)
}

// tickets sets the blocks of one counter.
func (m *maker) tickets(c *schema.Counter, cc *config.CounterConfig, col *schema.Column, path string) {
	if cc.Block == 0 {
		return
	}
	if col.Numeric != schema.Integer {
		m.report(path+".tickets", "counter %s has type %s, and tickets are whole numbers: remove tickets", config.Clip(col.Name), typeName(col))
	}
	t := schema.Tickets{Column: col.Name, Block: cc.Block}
	if m.cfg.Mode == config.ModePassive {
		t.Block = 0
	}
	c.Tickets = append(c.Tickets, t)
	c.Unslotted.Fault(col.Name, rewrite.InBlocks)
}

// limit returns one bound, nil where there is none.
func (m *maker) limit(number *int64, column, counter, path string) *schema.Limit {
	switch {
	case number != nil:
		return &schema.Limit{Number: *number}
	case column == "":
		return nil
	}
	about := "counter " + config.Clip(counter) + ": " + path[strings.LastIndexByte(path, '.')+1:]
	col, why := FindColumn(m.table, column)
	switch {
	case col == nil:
		m.report(path, "%s %s", about, why)
	case col.Numeric == schema.NotNumeric:
		m.report(path, "%s column %s has type %s, which is not numeric: name another column", about, config.Clip(col.Name), typeName(col))
	case slices.ContainsFunc(m.cfg.Counters, func(o config.CounterConfig) bool { return strings.EqualFold(o.Column, col.Name) }):
		m.report(path, "%s column %s is a counter, whose total is not in the row: name a column that is not a counter", about, config.Clip(col.Name))
	}
	if col == nil {
		return nil // at run time: the column has gone since
	}
	return &schema.Limit{Column: col.Name}
}

// companions sets the companions of c, in table order. Its key and counters are set.
func (m *maker) companions(c *schema.Counter) {
	for _, cc := range m.cfg.Companions {
		path := "companions." + config.PathName(cc.Column)
		col, why := FindColumn(m.table, cc.Column)
		switch {
		case col == nil:
			m.report(path, "companion %s", why)
		case slices.Contains(c.Counters, col.Name):
			m.report(path, "column %s is both companion and counter: remove it from one", config.Clip(col.Name))
		case slices.Contains(c.Key, col.Name):
			m.report(path, "column %s is both companion and key: remove it from companions", config.Clip(col.Name))
		case slices.ContainsFunc(c.Companions, func(o schema.Companion) bool { return o.Column == col.Name }):
			m.report(path, "companion %s is the same column as another companion, %s: keep one",
				config.Clip(cc.Column), config.Clip(col.Name))
		default:
			co := schema.Companion{Column: col.Name, Merge: cc.Merge}
			if why := m.table.CompanionFault(col.Name, co.Merge); why != "" {
				m.report(path, "companion %s %s: remove it from companions", config.Clip(col.Name), why)
			} else if m.names.TooLong(co.Stamp()) {
				m.report(path, "companion %s has too long a name for the slot table, which prefixes it with slotsql_at_: "+
					"remove it from companions", config.Clip(col.Name))
			}
			c.Companions = append(c.Companions, co)
		}
	}
	c.Companions = companionsInOrder(m.table, c.Companions)
}

// shared sets the columns of c that a key lists whose statements are shared: touched columns, then versions. The table's key, its counters
// and its companions are set. A column that can no longer be one at run time is left out: its statements run as written.
func (m *maker) shared(c *schema.Counter, key, one string, columns []string, out *[]string) {
	for i, written := range columns {
		col, why := FindColumn(m.table, written)
		if col != nil {
			why = sharedFault(c, col, key)
		}
		switch {
		case why == "":
			*out = append(*out, col.Name)
		case m.severity != running:
			m.report(fmt.Sprintf("%s[%d]", key, i), "%s column %s", one, why)
		}
	}
}

// sharedFault names why a column cannot be one of a key's, "" if it can.
func sharedFault(c *schema.Counter, col *schema.Column, key string) string {
	is := func(what string) string {
		return config.Clip(col.Name) + " is also " + what + ": remove it from " + key
	}
	switch {
	case slices.Contains(c.Touch, col.Name):
		return is("a touched column")
	case slices.Contains(c.Versions, col.Name):
		return is("another version")
	case slices.Contains(c.Counters, col.Name):
		return is("a counter")
	case slices.Contains(c.Key, col.Name):
		return is("a key column")
	case slices.ContainsFunc(c.Companions, func(o schema.Companion) bool { return o.Column == col.Name }):
		return is("a companion")
	case col.Generated || col.Identity:
		return config.Clip(col.Name) + " is written by the database: remove it from " + key
	}
	return ""
}

// slotTable sets the name of the slot table.
func (m *maker) slotTable(c *schema.Counter) {
	c.SlotTable.Name = m.names.SlotTable(m.table.Name)
	if m.cfg.SlotTable != "" {
		c.SlotTable.Name = m.cfg.SlotTable
		if m.names.TooLong(c.SlotTable.Name) {
			m.report("slot_table", "slot_table %s is longer than %s: choose a shorter name", config.Clip(c.SlotTable.Name), m.names.Limit())
		}
	}
	if c.SlotTable.Name == m.table.Name || m.names.Folds && strings.EqualFold(c.SlotTable.Name, m.table.Name) {
		m.report("slot_table", "slot_table is the table itself: choose another name")
	}
}

// slotColumn returns a name for the slot-number column that no key or counter
// column has, in whatever letter case.
func slotColumn(c *schema.Counter) string {
	name := "slot"
	for i := 1; ; i++ {
		same := func(column string) bool { return strings.EqualFold(column, name) }
		if !slices.ContainsFunc(c.Key, same) && !slices.ContainsFunc(c.Counters, same) &&
			!slices.ContainsFunc(c.Companions, func(co schema.Companion) bool { return same(co.Column) || same(co.Stamp()) }) {
			return name
		}
		name = "slotsql_slot"
		if i > 1 {
			name = fmt.Sprintf("slotsql_slot%d", i)
		}
	}
}

// SlotColumns returns the columns of a table's own slot table: key, slot, counters, companions.
func SlotColumns(c *schema.Counter) []string {
	columns := slices.Concat(c.Key, []string{c.SlotTable.Column}, c.Counters)
	for _, co := range c.Companions {
		if columns = append(columns, co.Column); co.Stamp() != "" {
			columns = append(columns, co.Stamp())
		}
	}
	return columns
}

func inTableOrder(t *schema.Table, names []string) []string {
	ordered := make([]string, 0, len(names))
	for i := range t.Columns {
		if slices.Contains(names, t.Columns[i].Name) {
			ordered = append(ordered, t.Columns[i].Name)
		}
	}
	return ordered
}

func companionsInOrder(t *schema.Table, list []schema.Companion) []schema.Companion {
	var ordered []schema.Companion
	for i := range t.Columns {
		for _, co := range list {
			if co.Column == t.Columns[i].Name {
				ordered = append(ordered, co)
			}
		}
	}
	return ordered
}

package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
)

// This file holds the configuration against what the database says of its
// tables. It asks the database nothing itself.

// CheckTable holds one configured table against the facts of its base table,
// which is nil when there is none. Without problems it returns the counter
// configuration with names as the database stores them; with problems, nil.
// Names in the configuration match a column exactly, or else the only one that
// differs in letter case.
func CheckTable(cfg *config.TableConfig, t *rewrite.Table, names dialect.NameRules) (problems []config.Problem, counter *rewrite.Counter) {
	return checkTableAs(cfg, t, names, everything)
}

// severity is what is a problem of a table.
type severity int

const (
	everything severity = iota
	// starting: a program begins to use the table. A counter that could be counted,
	// but for what else in the table looks at its base value, is noted in Faults.
	starting
	// running: the table may have changed since. A counter that has gone is left
	// out, too.
	running
)

// checkTableAs is checkTable for a severity.
func checkTableAs(
	cfg *config.TableConfig,
	t *rewrite.Table,
	names dialect.NameRules,
	severity severity,
) (problems []config.Problem, counter *rewrite.Counter) {
	report := func(path, format string, args ...any) {
		problems = append(problems, cfg.Problem(path, format, args...))
	}
	switch {
	case t == nil:
		report("", "does not exist in the database: create it, or correct the name")
		return problems, nil
	case t.IsView:
		report("", "is a view: configure the table that it reads")
		return problems, nil
	case t.Temporary:
		report("", "is a temporary table, which other sessions do not see: configure a permanent one")
		return problems, nil
	}
	if why := noTransactions(t); why != "" && severity != running {
		report("", "%s", why)
		return problems, nil
	}
	c := &rewrite.Counter{
		Slots:         cfg.Slots,
		SlotSchema:    t.Schema,
		SlotColumn:    "slot",
		Layout:        cfg.Layout,
		Placement:     cfg.Placement,
		OnDrain:       cfg.OnDrain,
		Reads:         cfg.Reads,
		Coalesce:      cfg.Coalesce,
		DeferTriggers: cfg.DeferTriggers,
		NoForeignKey:  cfg.NoForeignKeys || t.Partitioned,
	}
	if c.Layout == rewrite.LayoutJournal {
		c.Placement = rewrite.PlacementConnection // there are no slots to choose from
	}

	for _, written := range cfg.Routines {
		parts, _ := config.SplitName(written)
		c.Routines = append(c.Routines, parts[len(parts)-1])
	}

	key, faults := resolveKey(cfg, t)
	for _, w := range faults {
		report(w.path, "%s", w.message)
	}
	c.Key = key

	for _, cc := range cfg.Counters {
		path := "counters." + config.PathName(cc.Column)
		col, why := FindColumn(t, cc.Column)
		switch {
		case col == nil && severity == running:
			continue
		case col == nil:
			report(path, "counter %s", why)
			continue
		}
		if slices.Contains(c.Counters, col.Name) {
			report(path, "counter %s is the same column as another counter, %s: keep one", config.Clip(cc.Column), config.Clip(col.Name))
			continue
		}
		c.Counters = append(c.Counters, col.Name)
		if why := noTransactions(t); why != "" {
			c.Fault(col.Name, "the table "+why)
		}
		switch why, judged := counterFault(t, col, key); {
		case why == "":
		case severity != everything && judged:
			c.Fault(col.Name, "the column "+why)
		default:
			report(path, "counter %s %s", config.Clip(col.Name), why)
		}
	}
	for _, cc := range cfg.Companions {
		path := "companions." + config.PathName(cc.Column)
		col, why := FindColumn(t, cc.Column)
		switch {
		case col == nil:
			report(path, "companion %s", why)
		case slices.Contains(c.Counters, col.Name):
			report(path, "column %s is both companion and counter: remove it from one", config.Clip(col.Name))
		case slices.Contains(key, col.Name):
			report(path, "column %s is both companion and key: remove it from companions", config.Clip(col.Name))
		case slices.ContainsFunc(c.Companions, func(o rewrite.Companion) bool { return o.Column == col.Name }):
			report(
				path,
				"companion %s is the same column as another companion, %s: keep one",
				config.Clip(cc.Column),
				config.Clip(col.Name),
			)
		default:
			co := rewrite.Companion{Column: col.Name, Merge: cc.Merge}
			if why := t.CompanionFault(col.Name, co.Merge); why != "" {
				report(path, "companion %s %s: remove it from companions", config.Clip(col.Name), why)
			} else if names.TooLong(co.Stamp()) {
				report(
					path,
					"companion %s has too long a name for the slot table, which prefixes it with slotsql_at_: remove it from companions",
					config.Clip(col.Name),
				)
			}
			c.Companions = append(c.Companions, co)
		}
	}
	c.Companions = companionsInOrder(t, c.Companions)
	c.Counters = inTableOrder(t, c.Counters)
	c.SlotColumn = slotColumn(c)

	if cfg.Layout != config.LayoutShared {
		c.Width = len(SlotColumns(c))
	} else {
		for _, w := range sharedCounter(cfg, t, c) {
			report(w.path, "%s", w.message)
		}
	}

	c.SlotTable = names.SlotTable(t.Name)
	if cfg.SlotTable != "" {
		c.SlotTable = cfg.SlotTable
		if names.TooLong(c.SlotTable) {
			report("slot_table", "slot_table %s is longer than %s: choose a shorter name", config.Clip(c.SlotTable), names.Limit())
		}
	}
	if c.SlotTable == t.Name || names.Folds && strings.EqualFold(c.SlotTable, t.Name) {
		report("slot_table", "slot_table is the table itself: choose another name")
	}
	if len(problems) > 0 {
		return problems, nil
	}
	return nil, c
}

// noTransactions says why a table of a storage engine that does not roll back is
// refused; "" for others.
func noTransactions(t *rewrite.Table) string {
	if t.NoTransactions == "" {
		return ""
	}
	return "has the storage engine " + t.NoTransactions + ", which has no transactions: counts would double when a drain or roll-up is rolled back; change it (ALTER TABLE ... ENGINE=InnoDB)"
}

// fault is a Problem still without its table.
type fault struct{ path, message string }

// resolveKey returns the key columns by their stored names, in configured
// order, or else in that of the primary key.
func resolveKey(cfg *config.TableConfig, t *rewrite.Table) (key []string, faults []fault) {
	if cfg.Key == nil {
		for _, u := range t.Uniques {
			if u.Primary {
				return slices.Clone(u.Columns), nil
			}
		}
		if len(t.Uniques) == 0 {
			return nil, []fault{
				{"", "has neither a primary key nor another unique key: add one, or write key: [] if it only ever has one row"},
			}
		}
		return nil, []fault{{"", "has no primary key: name the columns of a unique key with key, here " + listUniques(t)}}
	}
	key = []string{}
	for i, written := range cfg.Key {
		path := fmt.Sprintf("key[%d]", i)
		col, why := FindColumn(t, written)
		switch {
		case col == nil:
			faults = append(faults, fault{path, "key column " + why})
		case slices.Contains(key, col.Name):
			faults = append(faults, fault{path, fmt.Sprintf("key names column %s twice: keep one", config.Clip(col.Name))})
		default:
			key = append(key, col.Name)
		}
	}
	if len(faults) > 0 || len(key) == 0 {
		return key, faults
	}
	for _, u := range t.Uniques {
		if sameSet(u.Columns, key) {
			return key, nil
		}
	}
	if len(t.Uniques) == 0 {
		return key, []fault{
			{
				"key",
				fmt.Sprintf(
					"key [%s] is not unique: add a unique key on it to the table, or write key: [] if it only ever has one row",
					strings.Join(key, ", "),
				),
			},
		}
	}
	return key, []fault{
		{
			"key",
			fmt.Sprintf(
				"key [%s] is not a unique key of the table: use %s, or add a unique key on exactly these columns",
				strings.Join(key, ", "),
				listUniques(t),
			),
		},
	}
}

// counterFault says why a column cannot be a counter, or "". Judged reports that
// it could be counted, but for what else in the table looks at its base value.
func counterFault(t *rewrite.Table, col *rewrite.Column, key []string) (why string, judged bool) {
	switch {
	case slices.Contains(key, col.Name):
		return "is part of the key, which cannot be a counter: remove it from one", false
	case col.Generated:
		return "is a generated column: name the columns it is computed from instead", false
	case col.Identity:
		return "is an auto-increment or identity column: remove it from counters", false
	case col.Numeric == rewrite.NotNumeric:
		return fmt.Sprintf(
			"has type %s, which cannot be summed: a counter is an integer, decimal (numeric) or floating-point column",
			typeName(col),
		), false
	}
	for _, u := range t.Uniques {
		if slices.Contains(u.Columns, col.Name) {
			return fmt.Sprintf(
				"is part of the unique key %s [%s], which the database checks against base values, not totals: remove it from counters",
				config.Clip(u.Name),
				strings.Join(u.Columns, ", "),
			), true
		}
	}
	for i := range t.Columns {
		if g := &t.Columns[i]; g.Generated && g.Name != col.Name && slices.Contains(g.DependsOn, col.Name) {
			return fmt.Sprintf(
				"is used by generated column %s, which would show the base value and not the total: remove it from counters",
				config.Clip(g.Name),
			), true
		}
	}
	return "", false
}

func typeName(col *rewrite.Column) string {
	if col.Type == "" {
		return "none"
	}
	return col.Type
}

// FindColumn returns the column that a configured name means, or nil and why.
func FindColumn(t *rewrite.Table, written string) (*rewrite.Column, string) {
	if col := t.Column(written); col != nil {
		return col, ""
	}
	var found *rewrite.Column
	for i := range t.Columns {
		col := &t.Columns[i]
		if !strings.EqualFold(col.Name, written) {
			continue
		}
		if found != nil {
			return nil, fmt.Sprintf(
				"%s could be %s or %s: write the name as the database stores it",
				config.Clip(written),
				config.Clip(found.Name),
				config.Clip(col.Name),
			)
		}
		found = col
	}
	if found == nil {
		return nil, fmt.Sprintf("%s is not a column of the table: correct the name (columns are %s)", config.Clip(written), listColumns(t))
	}
	return found, ""
}

// slotColumn returns a name for the slot-number column that no key or counter
// column has, in whatever letter case.
func slotColumn(c *rewrite.Counter) string {
	name := "slot"
	for i := 1; ; i++ {
		same := func(column string) bool { return strings.EqualFold(column, name) }
		if !slices.ContainsFunc(c.Key, same) && !slices.ContainsFunc(c.Counters, same) &&
			!slices.ContainsFunc(c.Companions, func(co rewrite.Companion) bool { return same(co.Column) || same(co.Stamp()) }) {
			return name
		}
		name = "slotsql_slot"
		if i > 1 {
			name = fmt.Sprintf("slotsql_slot%d", i)
		}
	}
}

// SlotColumns are the columns of a slot table of the table's own.
func SlotColumns(c *rewrite.Counter) []string {
	columns := slices.Concat(c.Key, []string{c.SlotColumn}, c.Counters)
	for _, co := range c.Companions {
		if columns = append(columns, co.Column); co.Stamp() != "" {
			columns = append(columns, co.Stamp())
		}
	}
	return columns
}

func inTableOrder(t *rewrite.Table, names []string) []string {
	ordered := make([]string, 0, len(names))
	for i := range t.Columns {
		if slices.Contains(names, t.Columns[i].Name) {
			ordered = append(ordered, t.Columns[i].Name)
		}
	}
	return ordered
}

func companionsInOrder(t *rewrite.Table, list []rewrite.Companion) []rewrite.Companion {
	var ordered []rewrite.Companion
	for i := range t.Columns {
		for _, co := range list {
			if co.Column == t.Columns[i].Name {
				ordered = append(ordered, co)
			}
		}
	}
	return ordered
}

func listColumns(t *rewrite.Table) string {
	const most = 20
	names := make([]string, 0, most)
	for i := range t.Columns {
		if i == most {
			return strings.Join(names, ", ") + ", ..."
		}
		names = append(names, t.Columns[i].Name)
	}
	return strings.Join(names, ", ")
}

func listUniques(t *rewrite.Table) string {
	keys := make([]string, len(t.Uniques))
	for i, u := range t.Uniques {
		keys[i] = "[" + strings.Join(u.Columns, ", ") + "]"
	}
	return strings.Join(keys, " or ")
}

func sameSet(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// CheckedTable is a configured table that checkTable found right, with its
// Counter set.
type CheckedTable struct {
	Config *config.TableConfig
	Table  *rewrite.Table
}

// checkTogether reports tables that are the same one to the database, and slot
// tables that stand where another configured table or its slot table does.
func checkTogether(tables []CheckedTable, names dialect.NameRules) (problems []config.Problem) {
	id := func(schema, name string) [2]string {
		if names.Folds {
			schema, name = strings.ToLower(schema), strings.ToLower(name)
		}
		return [2]string{schema, name}
	}
	base := map[[2]string]*config.TableConfig{}
	for _, c := range tables {
		// Stored names: on MySQL with case-sensitive names two that differ in
		// case are two tables.
		at := [2]string{c.Table.Schema, c.Table.Name}
		if other := base[at]; other != nil {
			problems = append(problems, c.Config.Problem("", "is the same database table as %s: keep one", config.Clip(other.Name)))
			continue
		}
		base[at] = c.Config
	}
	folded := map[[2]string]*config.TableConfig{}
	for _, c := range tables {
		folded[id(c.Table.Schema, c.Table.Name)] = c.Config
	}
	slot := map[[2]string]*config.TableConfig{}
	for _, c := range tables {
		if base[[2]string{c.Table.Schema, c.Table.Name}] != c.Config {
			continue
		}
		name := c.Table.Counter.SlotTable
		at := id(c.Table.Counter.SlotSchema, name)
		if other := folded[at]; other != nil {
			problems = append(
				problems,
				c.Config.Problem(
					"slot_table",
					"slot table %s is the configured table %s: choose another name with slot_table",
					config.Clip(name),
					config.Clip(other.Name),
				),
			)
		}
		if other := slot[at]; other != nil && (c.Config.Layout != config.LayoutShared || other.Layout != config.LayoutShared) {
			problems = append(
				problems,
				c.Config.Problem(
					"slot_table",
					"slot table %s is already the slot table of %s: choose another name with slot_table",
					config.Clip(name),
					config.Clip(other.Name),
				),
			)
		}
		slot[at] = c.Config
	}
	return problems
}

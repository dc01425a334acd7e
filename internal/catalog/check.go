package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file checks the configuration against what the database says about its tables. It does not
// query the database.

// CheckTable checks one configured table against the facts of its base table, nil if it does not
// exist. Without problems it returns the counter configuration, with names as the database stores
// them; with problems, nil. A configured name means the column with exactly that name, or else the
// only one that differs in letter case.
func CheckTable(cfg *config.TableConfig, t *schema.Table, names dialect.NameRules) (problems []config.Problem, counter *schema.Counter) {
	return checkTableAs(cfg, t, names, everything)
}

// severity is what counts as a problem of a table.
type severity int

const (
	everything severity = iota
	// starting: a program begins to use the table. A counter whose base value something else in
	// the table depends on is not a problem, but noted in Faults.
	starting
	// running: the table may have changed since. A counter whose column has been dropped is left
	// out as well.
	running
)

// checkTableAs is CheckTable for a severity.
func checkTableAs(
	cfg *config.TableConfig,
	t *schema.Table,
	names dialect.NameRules,
	severity severity,
) (problems []config.Problem, counter *schema.Counter) {
	m := maker{cfg: cfg, table: t, names: names, severity: severity}
	if !m.countable() {
		return m.problems, nil
	}
	if counter = m.make(); len(m.problems) > 0 {
		return m.problems, nil
	}
	return nil, counter
}

// noTransactions says why a table of a storage engine that does not roll back is
// refused; "" for others.
func noTransactions(t *schema.Table) string {
	if t.Storage.NoTransactions == "" {
		return ""
	}
	return "has the storage engine " + t.Storage.NoTransactions + ", which has no transactions: counts would double when a drain or roll-up is rolled back; change it (ALTER TABLE ... ENGINE=InnoDB)"
}

// fault is a Problem still without its table.
type fault struct{ path, message string }

// resolveKey returns the key columns by their stored names, in the configured order or else in
// that of the primary key.
func resolveKey(cfg *config.TableConfig, t *schema.Table) (key []string, faults []fault) {
	if t.Storage.Inherited {
		return nil, []fault{
			{
				"",
				"has tables that inherit from it, whose rows its unique keys do not cover: make them partitions, or tables of their own (ALTER TABLE ... NO INHERIT)",
			},
		}
	}
	if cfg.Key == nil {
		return primaryKey(t)
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

// primaryKey returns the key of a table whose configuration names none.
func primaryKey(t *schema.Table) (key []string, faults []fault) {
	for _, u := range t.Uniques {
		if u.Primary {
			return slices.Clone(u.Columns), nil
		}
	}
	if len(t.Uniques) == 0 {
		return nil, []fault{{"", noKey(t) + ": add one, or write key: [] if it only ever has one row"}}
	}
	return nil, []fault{{"", "has no primary key: name the columns of a unique key with key, here " + listUniques(t)}}
}

// noKey describes a table that has no unique key that slots can use. A key that only holds for some
// rows, or at the end of a transaction, or for something else than the columns' values as the
// columns compare them, does not identify a row, and no foreign key can refer to it.
func noKey(t *schema.Table) string {
	if len(t.PartialUniques) == 0 {
		return "has neither a primary key nor another unique key"
	}
	keys := make([]string, len(t.PartialUniques))
	for i, u := range t.PartialUniques {
		keys[i] = fmt.Sprintf("%s [%s]", config.Clip(u.Name), strings.Join(u.Columns, ", "))
	}
	return "has no unique key of all rows over whole columns that is checked at once: " + strings.Join(keys, ", ") +
		" is DEFERRABLE, partial, on an expression or a prefix, or of another collation than its columns"
}

// counterFault returns why a column cannot be a counter, or "". Judged reports that it could be
// counted, except that something else in the table depends on its base value.
func counterFault(t *schema.Table, col *schema.Column, key []string) (why string, judged bool) {
	switch {
	case slices.Contains(key, col.Name):
		return "is part of the key, which cannot be a counter: remove it from one", false
	case col.Generated:
		return "is a generated column: name the columns it is computed from instead", false
	case col.Identity:
		return "is an auto-increment or identity column: remove it from counters", false
	case col.Numeric == schema.NotNumeric:
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

func typeName(col *schema.Column) string {
	if col.Type == "" {
		return "none"
	}
	return col.Type
}

// FindColumn returns the column that a configured name means, or nil and why.
func FindColumn(t *schema.Table, written string) (*schema.Column, string) {
	if col := t.Column(written); col != nil {
		return col, ""
	}
	var found *schema.Column
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

func listColumns(t *schema.Table) string {
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

func listUniques(t *schema.Table) string {
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

// CheckedTable is a configured table that CheckTable found right, with its
// Counter set.
type CheckedTable struct {
	Config *config.TableConfig
	Table  *schema.Table
}

// withoutDoubles leaves out tables configured without a schema that are the same table of the
// database as one configured with a schema: a session may have moved to that schema.
func withoutDoubles(tables []CheckedTable) []CheckedTable {
	named := map[schema.TableName]bool{}
	for _, c := range tables {
		if c.Config.Schema != "" {
			named[schema.TableName{Schema: c.Table.Schema, Name: c.Table.Name}] = true
		}
	}
	return slices.DeleteFunc(tables, func(c CheckedTable) bool {
		return c.Config.Schema == "" && named[schema.TableName{Schema: c.Table.Schema, Name: c.Table.Name}]
	})
}

// checkTogether reports configured tables that are the same table of the database, and slot tables
// that have the name of another configured table or of its slot table.
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
		name := c.Table.Counter.SlotTable.Name
		at := id(c.Table.Counter.SlotTable.Schema, name)
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
		if other := slot[at]; other != nil && (c.Config.Layout != schema.LayoutShared || other.Layout != schema.LayoutShared) {
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

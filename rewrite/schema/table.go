package schema

import (
	"slices"
	"sort"
)

// Table is what the planner knows of one base table: its definition in the database and,
// for a counter table, its configuration.
type Table struct {
	Schema  string // schema (PostgreSQL), database (MySQL), "main" (SQLite)
	Name    string
	Columns []Column // in table order

	// Uniques holds the primary key and every UNIQUE key that holds for all
	// rows (no partial or expression index), the primary key first.
	Uniques []Unique
	// PartialUniques holds the unique keys that do not: partial ones, those on expressions
	// or prefixes, those with another collation than their columns have, deferrable ones and
	// those of a partition alone. Their columns are all that they mention, in table order.
	PartialUniques []Unique
	// OtherUniques reports whether a row may meet another by a key that is not in
	// Uniques, or by one whose comparison is coarser than its columns'. It is
	// not set where an INSERT names the key it meets.
	OtherUniques bool

	// Checked holds the columns that a CHECK constraint mentions; a
	// constraint whose columns are unknown lists every column.
	Checked []string
	// Checks are these constraints themselves, as far as they are known.
	Checks []Check

	Triggers    Triggers
	ForeignKeys ForeignKeys
	Storage     Storage

	// Unseen describes what the table may have that the session's user cannot see; "" if
	// the facts are complete.
	Unseen string

	// IsView reports whether the name is a view. Temporary: a temporary table.
	IsView, Temporary bool

	// Numbers reports whether a new row changes the number that the session tells as
	// its last one, without a column for it (SQLite's rowids).
	Numbers bool

	Counter *Counter // nil for a table that is not configured
}

// Triggers are what an engine does of its own when a row of the table changes.
type Triggers struct {
	// Update reports whether a trigger fires on UPDATE of a row. Delete: on DELETE,
	// Insert: on INSERT. slotsql's own triggers do not count.
	Update, Delete, Insert bool
	// Own are the names of slotsql's triggers on the table.
	Own []string
	// Unseen is why the session's user cannot see the table's triggers: the table then counts as
	// having triggers of all kinds. "" if the user can.
	Unseen string
	// Ruled reports whether row security or a rewrite rule may change which rows an
	// UPDATE touches; it counts as Update, and cannot be deferred.
	Ruled bool
	// UpdateRule reports whether there is a rewrite rule for UPDATE. PostgreSQL does not run
	// some of them in a statement that does anything else.
	UpdateRule bool
}

// ForeignKeys are those from and to a table.
type ForeignKeys struct {
	Columns []string // of the table's own foreign keys
	Parents []Parent // these keys themselves, where the facts come from a database
	// Targets are columns that foreign keys refer to, in table order, on an engine that lets
	// them refer to columns that are in no unique key.
	Targets []string
	// Referenced reports whether a foreign key of another table references this
	// one with ON UPDATE/ON DELETE actions; informational.
	Referenced bool
}

// Storage is how the engine keeps the table's rows.
type Storage struct {
	// Partitioned: the table has partitions, and the engine then lets no foreign key
	// reference it.
	Partitioned bool
	// PartitionedBy are the columns whose values decide which partition a row is in: those
	// of the table's partitions, of the partitions of these, and of what the table is
	// itself a partition of.
	PartitionedBy []string
	// Indexed are the columns that are in an index, unique or not, where foreign keys may
	// refer to any of them (MySQL).
	Indexed []string
	// Orders are the columns of each index, in whose order rows can be read.
	Orders [][]string
	// Parts are the names of the table's partitions, where they are tables that
	// statements may name.
	Parts []string
	// Ancestors are the tables that this one is a partition of or inherits from, at whatever
	// depth: statements that name one reach the table's rows.
	Ancestors []TableName
	// Inherited reports whether other tables inherit from this one, whose unique keys
	// their rows are not under.
	Inherited bool
	// Versioned reports whether the table keeps every version of its rows.
	Versioned bool
	// Computed is what the engine computes of a row that it stores, but for what a unique index
	// does: generated columns, expressions of indexes and conditions of partial ones.
	Computed []Computed
	// Unlogged reports whether a crash of the server empties the table (PostgreSQL).
	Unlogged bool
	// Unidentified reports whether the table publishes updates and has no replica identity: PostgreSQL refuses every UPDATE.
	Unidentified bool
	// NoTransactions is the storage engine of a table that a rollback leaves as it
	// is; "" where a rollback takes back what has been written.
	NoTransactions string
}

// Computed is what the engine computes of a row: the value of a generated column, or of an
// index, which has no Column. Columns are those that it may read, and SQL is the expression, ""
// if it is not known.
type Computed struct {
	Name, Column string
	Columns      []string
	SQL          string
}

// AddGenerated adds the generated column at place i to what is computed.
func (t *Table) AddGenerated(i int, sql string) {
	c := &t.Columns[i]
	t.addComputed(Computed{"generated column " + c.Name, c.Name, c.DependsOn, sql})
}

// AddIndexed adds an expression or condition of an index to what is computed.
func (t *Table) AddIndexed(index, sql string, reads func(column string) bool) {
	x := Computed{Name: "index " + index, SQL: sql}
	for i := range t.Columns {
		if c := t.Columns[i].Name; reads(c) {
			x.Columns = append(x.Columns, c)
		}
	}
	t.addComputed(x)
}

// addComputed keeps the list in an order that does not depend on where the facts come from.
func (t *Table) addComputed(c Computed) {
	t.Storage.Computed = append(t.Storage.Computed, c)
	sort.SliceStable(t.Storage.Computed, func(i, j int) bool { return t.Storage.Computed[i].Name < t.Storage.Computed[j].Name })
}

// TableName is a table's name as the database stores it.
type TableName struct{ Schema, Name string }

// Column is one column of a base table.
type Column struct {
	Name string
	Type string // the type as the dialect's DDL writes it, with collation and character set where a key column needs them
	// Domain is the domain that Type is of, as an expression is cast to it; "" for
	// none.
	Domain   string
	Nullable bool
	// Hidden reports whether * leaves the column out.
	Hidden bool
	// Identity reports whether the database fills the column: AUTO_INCREMENT,
	// serial/identity, or SQLite's rowid alias.
	Identity bool
	// Always reports whether the database fills the column, and refuses any other value
	// that an INSERT gives.
	Always bool
	// HasDefault reports whether the column has a default other than NULL.
	HasDefault bool
	Default    DefaultKind
	Generated  bool     // GENERATED ALWAYS AS
	DependsOn  []string // the columns a generated column is computed from, or every column when unknown
	OnUpdate   bool     // MySQL ON UPDATE CURRENT_TIMESTAMP
	// Collation is what the column's strings are compared by, where that is not
	// what strings are compared by that come from no column (SQLite: BINARY).
	Collation string

	Denied Denied
	NumericType
}

// DefaultKind is what is known of a column's default on an engine where a default may read
// other columns of the row (MySQL).
type DefaultKind int

// The kinds of default.
const (
	DefaultFixed    DefaultKind = iota // none, a constant, or one that reads no column
	DefaultNow                         // the current time, as ON UPDATE sets it
	DefaultComputed                    // an expression
)

// Denied is what the session's user may not do with a column, where an increment in a slot
// does not ask the engine for it.
type Denied struct {
	Select, Insert, Update bool
	// References: the user may not refer to the column. A user that has been granted
	// everything on the table may.
	References bool
}

// NumericType is what a column is as a number.
type NumericType struct {
	Numeric  Numeric
	Unsigned bool
	// Padded: the column's values are shown with zeros in front (ZEROFILL).
	Padded bool
	// Bits is the width of an Integer: 8, 16, 24, 32 or 64.
	Bits int
	// Precision and Scale are a Decimal's; Precision 0 means unconstrained.
	Precision, Scale int
}

// Numeric is how values of a column add up.
type Numeric int

// Only Integer and Decimal counters are ever slotted: their addition is exact
// and commutes. Float addition is neither, so a Float counter stays on its
// base row.
const (
	NotNumeric Numeric = iota
	Integer
	Decimal
	Float
)

// A Check is a constraint on the values of a row: the columns that it mentions, and its
// condition in SQL, "" where that is not known or it is no condition.
type Check struct {
	Columns []string
	SQL     string
}

// Parent is one foreign key of a table: to which table, by which columns, and
// whether the database deletes rows along with the row that they refer to.
type Parent struct {
	Schema, Name string
	Columns      []string // of the table itself
	References   []string // of the other table, in the same order
	Cascades     bool     // ON DELETE CASCADE
	Rekeys       bool     // ON UPDATE CASCADE
}

// Unique is a unique key: its name (of the index or constraint) and columns.
type Unique struct {
	Name    string
	Primary bool
	Columns []string
	// Index reports whether it is an index and no constraint: ON CONSTRAINT does not
	// know its name (PostgreSQL).
	Index bool
	// Present reports whether a partial key leaves out nothing but rows with a NULL in it
	// (UNIQUE (kind, project_id) WHERE project_id IS NOT NULL): who compares its columns with
	// values finds one row. Foreign keys cannot refer to it.
	Present bool
}

// Unrestricted forgets the restrictions of the user who has read the table's facts: tools
// read them on behalf of others, with an account that may only read.
func (t *Table) Unrestricted() {
	for i := range t.Columns {
		t.Columns[i].Denied = Denied{}
	}
	if tr := &t.Triggers; tr.Unseen != "" {
		tr.Insert, tr.Update, tr.Delete = false, false, false
	}
}

// Doubt returns what keeps the table's counters from slots because the session's user
// cannot see it; "" for nothing. Another user may see more, and count in slots.
func Doubt(t *Table) string {
	if t.Triggers.Unseen != "" && (t.Counter == nil || !t.Counter.Options.DeferTriggers) {
		return t.Triggers.Unseen
	}
	return t.Unseen
}

// AddPartialUnique adds a key to PartialUniques, of all columns that it mentions.
func (t *Table) AddPartialUnique(name string, mentions func(column string) bool) {
	u := Unique{Name: name}
	for i := range t.Columns {
		if c := t.Columns[i].Name; mentions(c) {
			u.Columns = append(u.Columns, c)
		}
	}
	if len(u.Columns) == 0 {
		return
	}
	t.PartialUniques = append(t.PartialUniques, u)
	sort.Slice(t.PartialUniques, func(i, j int) bool { return t.PartialUniques[i].Name < t.PartialUniques[j].Name })
}

// MarkPresent sets Present of the partial key of that name.
func (t *Table) MarkPresent(name string) {
	for i := range t.PartialUniques {
		if t.PartialUniques[i].Name == name {
			t.PartialUniques[i].Present = true
		}
	}
}

// PresentUniques returns the partial keys that are Present.
func (t *Table) PresentUniques() (out []Unique) {
	for _, u := range t.PartialUniques {
		if u.Present {
			out = append(out, u)
		}
	}
	return out
}

// UniqueOver returns a unique key, of whichever kind, that mentions a column; nil for none.
func (t *Table) UniqueOver(mentions func(column string) bool) *Unique {
	for _, list := range [][]Unique{t.Uniques, t.PartialUniques} {
		for i := range list {
			for _, c := range list[i].Columns {
				if mentions(c) {
					return &list[i]
				}
			}
		}
	}
	return nil
}

// AddPassive adds a counter that other processes may count in slots.
func (t *Table) AddPassive(column string) {
	c := t.Counter
	c.Unslotted.Passive = append(c.Unslotted.Passive, column)
	var all []string
	for i := range t.Columns {
		if name := t.Columns[i].Name; name == column || t.IsCounter(name) {
			all = append(all, name)
		}
	}
	c.Counters = all
}

// Refer notes columns of one of the table's own foreign keys.
func (t *Table) Refer(columns ...string) { t.note(&t.ForeignKeys.Columns, columns) }

// Target notes columns that a foreign key refers to.
func (t *Table) Target(columns ...string) { t.note(&t.ForeignKeys.Targets, columns) }

// Partition notes columns that decide which partition a row is in.
func (t *Table) Partition(columns ...string) { t.note(&t.Storage.PartitionedBy, columns) }

// Index notes columns of an index.
func (t *Table) Index(columns ...string) { t.note(&t.Storage.Indexed, columns) }

// AddOrder notes an index by its columns, in their order.
func (t *Table) AddOrder(columns ...string) {
	same := func(o []string) bool { return slices.Equal(o, columns) }
	if len(columns) > 0 && !slices.ContainsFunc(t.Storage.Orders, same) {
		t.Storage.Orders = append(t.Storage.Orders, columns)
		slices.SortFunc(t.Storage.Orders, slices.Compare[[]string])
	}
}

// note adds columns to a list that is in table order.
func (t *Table) note(list *[]string, columns []string) {
	var all []string
	for i := range t.Columns {
		if name := t.Columns[i].Name; slices.Contains(columns, name) || slices.Contains(*list, name) {
			all = append(all, name)
		}
	}
	*list = all
}

// Column returns the column of that exact name, or nil.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// IsCounter reports whether the named column is a configured counter.
func (t *Table) IsCounter(column string) bool {
	if t.Counter == nil {
		return false
	}
	for _, c := range t.Counter.Counters {
		if c == column {
			return true
		}
	}
	return false
}

package history

import (
	"fmt"
	"strings"
)

// Table is a table of a history. Of Pairs every statement that changes views
// changes likes in the same way, so that the model is that of one counter, and a
// row that shows two different ones is wrong whatever the order of events. It has
// no companions: its further columns are ordinary ones.
type Table string

// The tables.
const (
	Hits  Table = "hits"
	Pairs Table = "pairs"
)

// tableOf is the table of a history.
func tableOf(number int) Table {
	if number%3 == 2 {
		return Pairs
	}
	return Hits
}

// read writes a query of rows.
func (t Table) read(where string) string {
	second := ""
	if t == Pairs {
		second = ", likes"
	}
	return "SELECT id, views, seen, high, low, version" + second + " FROM " + string(t) + " WHERE " + where
}

// set writes an assignment to the counter, or to both, with its arguments.
func (t Table) set(expr string, args ...any) (string, []any) {
	query := "views = " + expr
	if t == Pairs {
		query += ", likes = " + strings.ReplaceAll(expr, "views", "likes")
		args = append(args[:len(args):len(args)], args...)
	}
	return query, args
}

// Layout is how the wrapped side keeps slots.
type Layout string

// The layouts. Adopted is a shared one in a table that another program has made,
// of the widest kind that the engine takes.
const (
	Dedicated Layout = "dedicated"
	Shared    Layout = "shared"
	Adopted   Layout = "adopted"
	Journal   Layout = "journal"
	// Adaptive is a dedicated one where cold rows are counted on the base row, and None
	// has no slot tables. Neither has companions.
	Adaptive Layout = "adaptive"
	None     Layout = "none"
	// Bounded is a dedicated one of counters with a lower bound, whose slots hold portions.
	// Limited is the same with an upper bound: every value in the database is the negative of
	// that in the model, so that what the model takes is added there.
	Bounded Layout = "bounded"
	Limited Layout = "limited"
)

// Layouts are all of them.
var Layouts = []Layout{Dedicated, Shared, Adopted, Journal, Adaptive, None, Bounded, Limited}

func (l Layout) shared() bool { return l == Shared || l == Adopted }

// companions reports whether the table has any.
func (l Layout) companions(t Table) bool {
	return t == Hits && strings.Contains(l.Config(), "companions:")
}

// HasBounds reports whether the counters have bounds.
func (l Layout) HasBounds() bool { return l == Bounded || l == Limited }

// sign is what a value of the model is multiplied with in the database.
func (l Layout) sign() int32 {
	if l == Limited {
		return -1
	}
	return 1
}

// Schema makes the tables. A history uses the rows of its keys, and removes them.
func (l Layout) Schema(dialect string) []string {
	columns := "views BIGINT NOT NULL, seen BIGINT NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL, title VARCHAR(20), " +
		"capacity BIGINT NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0)"
	schema := []string{
		"CREATE TABLE hits (id INTEGER PRIMARY KEY, " + columns,
		"CREATE TABLE pairs (id INTEGER PRIMARY KEY, likes BIGINT NOT NULL, " + columns,
	}
	schema = append(schema, "CREATE TABLE files (id INTEGER NOT NULL, tag BIGINT NOT NULL, PRIMARY KEY (id, tag))")
	if l != Adopted {
		return schema
	}
	key := ", UNIQUE (record_type, record_id, slot))"
	id := ""
	switch dialect {
	case "mysql":
		id = "id INT AUTO_INCREMENT PRIMARY KEY, "
	case "sqlite":
		key = ", PRIMARY KEY (record_type, record_id, slot)) WITHOUT ROWID"
	}
	return append(
		schema,
		"CREATE TABLE slotted_counters ("+id+"record_type INTEGER NOT NULL, record_id BIGINT NOT NULL, slot INTEGER NOT NULL DEFAULT 0, count BIGINT NOT NULL DEFAULT 0"+key,
		// Of no table that slotsql knows: they must stay, and disturb nothing.
		"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (0, 10, 0, 1000), (8, 10, 0, 1000), (20, 20, 1, 1000)",
	)
}

// Config is what slotsql has to know of the tables. A column seen that is no companion is a touched one.
func (l Layout) Config() string {
	defaults, views, both := "slots: 8", "views: {}", "views: {}, likes: {}"
	beside := "companions: {seen: latest, high: max, low: min}"
	switch l {
	case Adaptive:
		defaults, beside = "slots: 8, placement: adaptive", "touch: [seen]"
	case None:
		defaults, beside = "slots: 0", "touch: [seen]"
	case Bounded:
		defaults, views, both = "slots: 8, placement: connection", "views: {min: 0}", "views: {min: 0}, likes: {min: 0}"
	case Limited:
		defaults, views = "slots: 8, placement: connection", "views: {max: 0}"
		both = "views: {min: -1000000, max: capacity}, likes: {max: capacity}"
	case Journal:
		defaults = "slots: 8, layout: journal"
	case Shared, Adopted:
		defaults, beside = "slots: 8, layout: shared", "touch: [seen]"
		views, both = "views: {record_type: 7}", "views: {record_type: 12}, likes: {record_type: 9}"
	}
	return "version: 1\nauto_migrate: true\ndefaults: {" + defaults + "}\ntables:\n" +
		"  hits: {counters: {" + views + "}, " + beside + ", versions: [version]}\n" +
		"  pairs: {counters: {" + both + "}, touch: [seen], versions: [version]}\n"
}

// Functions reports whether there are functions that count.
func (l Layout) Functions(dialect string) bool {
	return dialect != "sqlite" && l != None && !l.HasBounds()
}

// leftQuery counts the slots of a table that has no rows, and what is missing of others'.
func (l Layout) leftQuery(t Table) string {
	if l == None {
		return "SELECT 0"
	}
	if !l.shared() {
		return fmt.Sprintf("SELECT COUNT(*) FROM %s_slots", t)
	}
	count := "SELECT (SELECT COUNT(*) FROM slotted_counters WHERE record_type IN (7, 9, 12))"
	if l == Adopted {
		count += " + (SELECT 3000 - SUM(count) FROM slotted_counters WHERE record_type IN (0, 8, 20))"
	}
	return count
}

package mysql

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.Widener = (*Dialect)(nil)

var _ dialect.BriefLocker = (*Dialect)(nil)

// CreateSlots writes the slot table. Constraints get short names of their
// own, because a name that the server makes of a long table name may exceed
// 64 characters.
func (d *Dialect) CreateSlots(t *schema.Table) []string {
	ct := t.Counter
	if ct.Layout == schema.LayoutShared {
		return []string{createShared(t)}
	}
	slot := slotColumn(t)
	var lines []string
	for _, k := range ct.Key {
		if c := t.Column(k); c != nil {
			lines = append(lines, quote(k)+" "+c.Type+" NOT NULL")
		}
	}
	lines = append(lines, slot+" "+numberType(t)+" NOT NULL")
	for _, name := range ct.Counters {
		if c := t.Column(name); c != nil {
			lines = append(lines, quote(name)+" "+slotType(c)+" NOT NULL DEFAULT 0")
		}
	}
	for _, co := range ct.Companions {
		if c := t.Column(co.Column); c != nil {
			lines = append(lines, quote(co.Column)+" "+c.Type+" NULL DEFAULT NULL")
		}
		if co.Stamp() != "" {
			lines = append(lines, quote(co.Stamp())+" DATETIME(6) NULL DEFAULT NULL")
		}
	}
	key := quoteAll(ct.Key)
	lines = append(lines, "PRIMARY KEY ("+strings.Join(append(append([]string{}, key...), slot), ", ")+")")
	if len(key) > 0 && !ct.SlotTable.NoForeignKey {
		lines = append(lines, foreignKey(t))
	}
	if ct.Layout != schema.LayoutJournal {
		lines = append(lines, fmt.Sprintf("CONSTRAINT %s CHECK (%s < %d)", constraint(t, "slot"), slot, maxSlots))
	}
	lines = append(lines, ranges(t, ct.Counters)...)
	return []string{"CREATE TABLE IF NOT EXISTS " + slotTable(t) + " (\n  " + strings.Join(lines, ",\n  ") + "\n) ENGINE=InnoDB"}
}

// ranges are the constraints that keep what slots hold of counters in its range. (The
// number is cast since a product with an unsigned one is unsigned.)
func ranges(t *schema.Table, counters []string) (out []string) {
	for _, name := range counters {
		if c := t.Column(name); c != nil {
			l, value := limit(c, t.Counter), quote(name)
			if t.Counter.Layout != schema.LayoutJournal {
				value += fmt.Sprintf(" * (1 + CAST(%s AS SIGNED))", slotColumn(t))
			}
			out = append(
				out,
				fmt.Sprintf("CONSTRAINT %s CHECK (%s BETWEEN %s AND %s)", rangeConstraint(t, name), value, l.slotLow, l.slotHigh),
			)
		}
	}
	return out
}

// rangeConstraint names the constraint of a counter's range.
func rangeConstraint(t *schema.Table, counter string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(counter))
	return constraint(t, fmt.Sprintf("%08x", h.Sum32()))
}

// AddSlots adds columns with their constraints; for these the server copies the
// table.
func (d *Dialect) AddSlots(t *schema.Table, counters []string) []string {
	var parts []string
	for _, c := range counters {
		parts = append(parts, "ADD COLUMN "+quote(c)+" "+slotType(t.Column(c))+" NOT NULL DEFAULT 0")
	}
	for _, r := range ranges(t, counters) {
		parts = append(parts, "ADD "+r)
	}
	return []string{"ALTER TABLE " + slotTable(t) + " " + strings.Join(parts, ", ")}
}

// Briefly has MariaDB's statements not wait at all, or for so many seconds. MySQL's wait for a second at least: it
// has no setting for one statement of DDL, so the session's are kept in two variables, and restored from there.
func (d *Dialect) Briefly(ddl []string, wait time.Duration) (brief, restore []string) {
	seconds := int(wait / time.Second)
	if d.NoWait {
		for _, q := range ddl {
			brief = append(brief, fmt.Sprintf("SET STATEMENT lock_wait_timeout = %d, innodb_lock_wait_timeout = %d FOR %s", seconds, seconds, q))
		}
		return brief, nil
	}
	brief = append([]string{
		"SET @slotsql_metadata = @@SESSION.lock_wait_timeout, @slotsql_rows = @@SESSION.innodb_lock_wait_timeout",
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d, innodb_lock_wait_timeout = 1", max(seconds, 1)),
	}, ddl...)
	return brief, []string{
		// The variables are NULL if nothing has begun.
		"SET SESSION lock_wait_timeout = CAST(COALESCE(@slotsql_metadata, @@SESSION.lock_wait_timeout) AS UNSIGNED), " +
			"SESSION innodb_lock_wait_timeout = CAST(COALESCE(@slotsql_rows, @@SESSION.innodb_lock_wait_timeout) AS UNSIGNED)",
		"SET @slotsql_metadata = NULL, @slotsql_rows = NULL",
	}
}

// WidenSlots makes room for the numbers of a journal's rows, and for what the
// roll-up puts together in one. The server copies the table.
func (d *Dialect) WidenSlots(t *schema.Table) []string {
	drop := "DROP CONSTRAINT "
	if d.NoWait { // MariaDB
		drop += "IF EXISTS "
	}
	parts := []string{"MODIFY " + slotColumn(t) + " " + numberType(t) + " NOT NULL", drop + constraint(t, "slot")}
	for _, c := range t.Counter.Counters {
		parts = append(parts, drop+rangeConstraint(t, c))
	}
	for _, r := range ranges(t, t.Counter.Counters) {
		parts = append(parts, "ADD "+r)
	}
	return []string{"ALTER TABLE " + slotTable(t) + " " + strings.Join(parts, ", ")}
}

// numberType is the type of a slot's number.
func numberType(t *schema.Table) string {
	if t.Counter.Layout == schema.LayoutJournal {
		return "BIGINT"
	}
	return "SMALLINT UNSIGNED"
}

// DropSlots writes the removal of the slot table, or of the table's rows of a
// shared one.
func (d *Dialect) DropSlots(t *schema.Table) []string {
	if of := t.Counter.OfTable(quote, ""); of != "" {
		return []string{"DELETE FROM " + slotTable(t) + " WHERE " + of}
	}
	return []string{"DROP TABLE IF EXISTS " + slotTable(t)}
}

// constraintPrefix begins the names of slotsql's own constraints.
const constraintPrefix = "slotsql_"

func constraint(t *schema.Table, suffix string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(slotTable(t)))
	return quote(fmt.Sprintf("%s%016x_%s", constraintPrefix, h.Sum64(), suffix))
}

// CreateLocks says what the foreign key asks of the base table.
func (*Dialect) CreateLocks(t *schema.Table) []string {
	switch {
	case len(t.Counter.Key) == 0:
		return []string{"Takes no lock on " + t.Name + "."}
	case t.Counter.SlotTable.NoForeignKey:
		return []string{"Takes no lock on " + t.Name + ": no foreign key. A DELETE of its rows through slotsql drains first."}
	}
	return []string{
		"On MariaDB the foreign key does not wait. MySQL 8 takes an exclusive metadata lock on " + t.Name + " for a moment:",
		"it waits for transactions that have used the table, and later statements wait behind it. Set lock_wait_timeout, and retry.",
	}
}

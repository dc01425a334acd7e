package mysql

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// CreateSlots writes the slot table. Constraints get short names of their
// own, because a name that the server makes of a long table name may exceed
// 64 characters.
func (d *Dialect) CreateSlots(t *rewrite.Table) []string {
	ct := t.Counter
	slot := slotColumn(t)
	var lines []string
	for _, k := range ct.Key {
		if c := t.Column(k); c != nil {
			lines = append(lines, quote(k)+" "+c.Type+" NOT NULL")
		}
	}
	lines = append(lines, slot+" SMALLINT UNSIGNED NOT NULL")
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
	if len(key) > 0 && !ct.NoForeignKey {
		lines = append(lines, foreignKey(t))
	}
	lines = append(lines, fmt.Sprintf("CONSTRAINT %s CHECK (%s <= %d OR %s BETWEEN %d AND %d)",
		constraint(t, "slot"), slot, ct.Slots, slot, folding, folding+ct.Slots))
	for i, name := range ct.Counters {
		if c := t.Column(name); c != nil {
			l := limit(c, ct.Slots)
			lines = append(lines, fmt.Sprintf("CONSTRAINT %s CHECK (%s BETWEEN %s AND %s)", constraint(t, fmt.Sprintf("c%d", i+1)), quote(name), l.slotLow, l.slotHigh))
		}
	}
	return []string{"CREATE TABLE IF NOT EXISTS " + slotTable(t) + " (\n  " + strings.Join(lines, ",\n  ") + "\n) ENGINE=InnoDB"}
}

// DropSlots writes the removal of the slot table.
func (d *Dialect) DropSlots(t *rewrite.Table) []string {
	return []string{"DROP TABLE IF EXISTS " + slotTable(t)}
}

// constraintPrefix begins the names of slotsql's own constraints.
const constraintPrefix = "slotsql_"

func constraint(t *rewrite.Table, suffix string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(slotTable(t)))
	return quote(fmt.Sprintf("%s%016x_%s", constraintPrefix, h.Sum64(), suffix))
}

// CreateLocks says what the foreign key asks of the base table.
func (*Dialect) CreateLocks(t *rewrite.Table) []string {
	switch {
	case len(t.Counter.Key) == 0:
		return []string{"Takes no lock on " + t.Name + "."}
	case t.Counter.NoForeignKey:
		return []string{"Takes no lock on " + t.Name + ": no foreign key. A DELETE of its rows through slotsql is drained for."}
	}
	return []string{
		"The foreign key waits for nobody on MariaDB. MySQL 8 takes an exclusive metadata lock on " + t.Name + " for a moment:",
		"it waits for transactions that have used the table, and statements wait behind. Set lock_wait_timeout, and try again.",
	}
}

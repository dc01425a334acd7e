package mysql

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file writes what is special about a slot table that several counter
// tables share. It has a row for each counter, so that an increment of several
// writes several; it may be another program's, with an AUTO_INCREMENT column and
// without CHECK constraints.

// and joins two conditions, the first of which may be empty.
func and(first, second string) string {
	if first == "" {
		return second
	}
	return first + " AND " + second
}

// slotIndex names the index by which a slot row is found.
func slotIndex(t *schema.Table) string {
	if sh := t.Counter.Shared; sh != nil && sh.Index != "" {
		return " FORCE INDEX (" + quote(sh.Index) + ")"
	}
	return " FORCE INDEX (PRIMARY)"
}

func createShared(t *schema.Table) string {
	sh, slot := t.Counter.Shared, slotColumn(t)
	id := "BIGINT"
	if c := t.Column(t.Counter.Key[0]); c.Numeric != schema.Integer {
		id = c.Type
	} else if c.Unsigned {
		id = "BIGINT UNSIGNED"
	}
	return fmt.Sprintf(
		"CREATE TABLE IF NOT EXISTS %s (\n  %s INT NOT NULL,\n  %s %s NOT NULL,\n  %s SMALLINT UNSIGNED NOT NULL,\n  %s BIGINT NOT NULL DEFAULT 0,\n  PRIMARY KEY (%[2]s, %[3]s, %[5]s)\n) ENGINE=InnoDB",
		slotTable(t),
		quote(sh.Type),
		quote(sh.ID),
		id,
		slot,
		quote(sh.Count),
	)
}

// sharedRange is what the CHECK constraint of a slot table of the table's own
// says: that a slot's value keeps the total from overflowing (see limit).
//
// Which numbers of slots the configuration has had cannot be read off the
// table, so the bounds must add up for any history of them: slot i is only
// written while the number is n > i, when its bound is at most that of n = i+1,
// so that of free (what limit leaves free) all slots together take at most
// 1/9 * (1 + 1/2 + ... + 1/4096) < 8.9/9.
func sharedRange(t *schema.Table, counter, value string) string {
	c := t.Column(counter)
	bits := c.Bits
	if bits == 0 {
		bits = 32
	}
	if !c.Unsigned {
		bits--
	}
	free := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits-1)), big.NewInt(1))
	high := free.Quo(free, big.NewInt(harmonicBound*int64(max(t.Counter.Slots, 1))))
	low := "0"
	if !c.Unsigned {
		low = "-" + high.String()
	}
	return value + " BETWEEN " + low + " AND " + high.String()
}

// incrementShared is Increment for a shared table. A sum that leaves its range
// must be an error, which undoes all rows of the statement: there is no WHERE
// behind ON DUPLICATE KEY UPDATE. The product is out of every integer's range,
// which is error 1690 in any sql_mode, and Overflow knows that.
//
// A row that is inserted must not have its AUTO_INCREMENT column numbered: that
// would change LAST_INSERT_ID(), and burn a number for each upsert. It is given a
// hash of the slot row's names, below zero, where the database numbers none.
// Should two rows have the same hash, the second one does not pass for the first.
func incrementShared(t *schema.Table, in rewrite.IncrementSQL) string {
	sh, q := t.Counter.Shared, in.Qualifier
	slots, key, slot, count := slotTable(t), quote(t.Counter.Key[0]), slotColumn(t), quote(sh.Count)
	record, delta, from := "", "", ""
	var guards, within []string
	sum := slots + "." + count + " + VALUES(" + count + ")"
	if len(in.Deltas) == 1 {
		dl := in.Deltas[0]
		record, delta = fmt.Sprint(sh.Records[dl.Column]), "CAST("+dl.SQL+" AS SIGNED)"
		within = append(within, sharedRange(t, dl.Column, sum))
	} else {
		var rows []string
		for _, dl := range in.Deltas {
			rows = append(rows, fmt.Sprintf("SELECT %d AS slotsql_y, CAST(%s AS SIGNED) AS slotsql_d", sh.Records[dl.Column], dl.SQL))
			within = append(
				within,
				fmt.Sprintf("(%s.%s <> %d OR %s)", slots, quote(sh.Type), sh.Records[dl.Column], sharedRange(t, dl.Column, sum)),
			)
		}
		record, delta = "slotsql_y.slotsql_y", "slotsql_y.slotsql_d"
		from = " CROSS JOIN (" + strings.Join(rows, " UNION ALL ") + ") AS slotsql_y"
	}
	for _, dl := range in.Deltas {
		guards = append(guards, sharedRange(t, dl.Column, "CAST("+dl.SQL+" AS SIGNED)"))
		if col := t.Column(dl.Column); col != nil {
			l := limit(col, t.Counter)
			guards = append(guards, q+"."+quote(dl.Column)+" BETWEEN "+l.baseLow+" AND "+l.baseHigh)
		}
	}
	hint, guard := rowLock(t, in)
	if guard != "" {
		guards = append(guards, guard)
	}
	columns := []string{quote(sh.Type), quote(sh.ID), slot, count}
	values := []string{record, q + "." + key, in.Slot, delta}
	if sh.Numbered != "" {
		columns = append(columns, quote(sh.Numbered))
		values = append(values, rowNumber(sh, record, q+"."+key, in.Slot))
		for _, c := range columns[:3] {
			within = append(within, slots+"."+c+" = VALUES("+c+")")
		}
	}
	over := fmt.Sprintf("(%s.%s + 1) * 9223372036854775807 * 4", slots, slot)
	return "INSERT INTO " + slots + " (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM " +
		in.Ref + hint + from + " WHERE (" + in.Where + ") AND " + strings.Join(guards, " AND ") +
		" LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE " + count + " = IF(" + strings.Join(within, " AND ") + ", " + sum + ", " +
		over + ")"
}

// rowNumber is the hash that a slot row has for a number: of 60 bits, or 28 where
// the column has 32.
func rowNumber(sh *schema.Shared, record, id, slot string) string {
	digits := 15
	if sh.NumberedBits < 64 {
		digits = 7
	}
	return fmt.Sprintf("-1 - CAST(CONV(LEFT(SHA2(CONCAT_WS('/', %s, %s, %s), 256), %d), 16, 10) AS SIGNED)", record, id, slot, digits)
}

// hideShared writes Hide and Drop of Versions, whose key begins with the record
// type: its arguments are the slot, the type, the key and the version.
func hideShared(t *schema.Table, base string, same []string) (hide, drop string) {
	sh, slot := t.Counter.Shared, slotColumn(t)
	id := "slotsql_b." + quote(t.Counter.Key[0])
	columns := []string{quote(sh.ID), slot, quote(sh.Type), quote(sh.Count)}
	values := []string{id, "slotsql_v.n", "slotsql_v.y", "0"}
	if sh.Numbered != "" {
		columns = append(columns, quote(sh.Numbered))
		values = append(values, rowNumber(sh, "slotsql_v.y", id, "slotsql_v.n"))
	}
	hide = "INSERT IGNORE INTO " + slotTable(t) + " (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") +
		" FROM (SELECT ? AS n, ? AS y) AS slotsql_v CROSS JOIN " + base + " WHERE " + strings.Join(same, " AND ")
	drop = "DELETE FROM " + slotTable(t) + " WHERE " + quote(sh.Type) + " = ? AND " + quote(sh.ID) + " = ? AND " + slot + " = ?"
	return hide, drop
}

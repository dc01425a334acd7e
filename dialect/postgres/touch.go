package postgres

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Additions to a counter may cancel each other out. To a transaction at REPEATABLE READ or
// SERIALIZABLE they are changes of the row like any others: one whose snapshot is older
// than they are must not change the row (40001). It meets them in their slot row, and no more
// when that has been deleted, unless the base row is newer than the snapshot as well. So
// what deletes a slot row that holds nothing touches the base row, too: it sets the counter to what
// it is. That is not needed where the slot row is as its base row's last change has left it:
// a roll-up empties the one as it adds to the other. Their versions are then of one
// transaction, and who does not see the one does not see the other.

// changedSince reports whether the last change of a slot row was not that of its base row, too. A
// role that may not read all columns may not read whose change it was, and takes it for one
// that was not.
func changedSince(t *schema.Table, slots string) string {
	on := backEquals(t, slots)
	if on == "" {
		on = "TRUE"
	}
	if !t.Counter.Rights.ByColumn {
		on += " AND NOT " + baseAlias + ".xmin = " + slots + ".xmin"
	}
	return "EXISTS (SELECT 1 FROM " + qualified(t.Schema, t.Name) + " AS " + baseAlias + " WHERE " + on + ")"
}

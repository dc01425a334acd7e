package postgres

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An increment in a journal locks the base row FOR KEY SHARE, which lets roll-ups, other
// increments and ordinary updates of the row pass, and should exclude FOR UPDATE,
// which a drain takes. PostgreSQL does not always keep the two apart (seen in 15.18).
// A request for FOR KEY SHARE that meets a row that others have locked or are updating
// releases its page, and does not look closely when it has it again (heap_lock_tuple).
// Meanwhile
//
//  1. those others may have ended, and a drain may have locked the row FOR UPDATE: both
//     then have it;
//  2. the update may have been rolled back, and another transaction may be updating the
//     row: its new version is not locked, and a drain may have that.
//
// And an update whose new version does not fit on the page releases the page, too, with the
// row marked as locked; later it overwrites what others have recorded there meanwhile
// (heap_update):
//
//  3. the lock is lost, and a drain may lock the new version.
//
// A drain cannot see that an increment is in one of these moments, and so cannot wait for
// it. The increment can tell: its lock is recorded in the row, beside those of others. So
// once it has the lock it checks, and goes on only if its own lock is recorded, with
// nothing but weak locks of others beside it. Then the row's version is the newest, and a
// later request for it, or for a version made of it, meets the lock, because an update
// carries it over. Otherwise the statement affects no row, and its form with FOR SHARE
// follows. That lock waits for every update and for FOR UPDATE, is compared with them
// when it is granted, and conflicts with the mark.

// lockedAlias names the base row that an increment has locked.
const lockedAlias = "slotsql_q"

// Columns of the locked row beside its key: where it is.
const (
	lockedPlace = "slotsql_c"
	lockedTable = "slotsql_r"
)

// rowLock is the lock on the base row: FOR SHARE, which excludes the lock of a drain, FOR NO KEY
// UPDATE. It keeps out every UPDATE of the row, so that a predicate on other columns than the key holds
// when the increment is committed, as with the plain UPDATE. In a journal every increment makes
// a row, and those of a hot one would keep a roll-up out for good. So there it is FOR KEY SHARE, and
// drains take FOR UPDATE, unless there is such a predicate, or the role may not look at the row's locks.
func rowLock(t *schema.Table, in rewrite.IncrementSQL) string {
	if in.Holds || t.Counter.Rights.ByColumn || t.Counter.Layout != schema.LayoutJournal {
		return "FOR SHARE"
	}
	return "FOR KEY SHARE"
}

// lockedRow writes the source of an increment's upsert, which is the base row when it is
// locked, under the name lockedAlias; with holds, what holds of it then. OFFSET keeps the
// query of the row apart: what is asked of it is asked when it has been locked.
func lockedRow(t *schema.Table, in rewrite.IncrementSQL, guards []string) (source, holds string) {
	list := []string{}
	for _, k := range t.Counter.Key {
		list = append(list, in.Qualifier+"."+quote(k))
	}
	lock := rowLock(t, in)
	if holds = "TRUE"; lock == "FOR KEY SHARE" {
		holds = certain(t)
		list = append(list, in.Qualifier+".ctid AS "+lockedPlace, in.Qualifier+".tableoid AS "+lockedTable)
	} else if len(list) == 0 {
		list = []string{"1"}
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + in.Ref + " WHERE (" + in.Where + ") AND " + strings.Join(guards, " AND ") +
		" OFFSET 0 " + lock + ") AS " + lockedAlias, holds
}

// certain reports whether the lock on the row excludes FOR UPDATE. The row's xmax is that
// of the one transaction that has locked or updated it, or a MultiXact of several; which
// of the two it is cannot be known, but members that are not this transaction answer
// nothing. (The server knows a MultiXact that is not older than the oldest of the table.)
// Subtransactions have numbers of their own, and are asked for only where the transaction's
// is not there; those that have been released are found no more, and the answer is FALSE. A
// version that is newer than the snapshot is not found, and the answer is NULL.
func certain(t *schema.Table) string {
	const (
		xmax    = baseAlias + ".xmax"
		members = lockers + "(" + xmax + ") AS slotsql_m"
		weak    = "slotsql_m.mode IN ('keysh', 'sh')"
		own     = "slotsql_m.xid = " + ownXID
		ownSubs = "pg_catalog.pg_locks AS slotsql_l WHERE slotsql_l.locktype = 'transactionid' AND slotsql_l.pid = pg_catalog.pg_backend_pid()" +
			" AND slotsql_l.mode = 'ExclusiveLock' AND slotsql_l.transactionid = "
	)
	return "(SELECT CASE WHEN " + xmax + " = " + ownXID + " THEN TRUE" +
		" WHEN " + mayBeMulti(baseAlias) +
		" THEN CASE (SELECT CASE WHEN pg_catalog.bool_and(" + weak + " OR " + own + ") THEN CASE WHEN pg_catalog.bool_or(" + own + ") THEN 2 ELSE 1 END END" +
		" FROM " + members + ") WHEN 2 THEN TRUE WHEN 1 THEN EXISTS (SELECT 1 FROM " + members + ", " + ownSubs + "slotsql_m.xid) ELSE FALSE END" +
		" ELSE EXISTS (SELECT 1 FROM " + ownSubs + xmax + ") END FROM " + qualified(t.Schema, t.Name) + " AS " + baseAlias +
		" WHERE " + baseAlias + ".ctid = " + lockedAlias + "." + lockedPlace +
		" AND " + baseAlias + ".tableoid = " + lockedAlias + "." + lockedTable + ")"
}

// lockers is the function that lists the transactions of a MultiXact, and fails for a number that
// none has had.
const lockers = "pg_catalog.pg_get_multixact_members"

// mayBeMulti reports whether a row's xmax is a number of a MultiXact that the server knows.
func mayBeMulti(row string) string {
	return "pg_catalog.mxid_age(" + row + ".xmax) BETWEEN 1 AND" +
		" (SELECT pg_catalog.mxid_age(slotsql_k.relminmxid) FROM pg_catalog.pg_class AS slotsql_k WHERE slotsql_k.oid = " + row + ".tableoid)"
}

// lockedByOwn reports whether the transaction is among those that have locked the row. Once that
// is so it stays so until the transaction changes the row or ends, even if others are granted locks.
func lockedByOwn(row string) string {
	return "CASE WHEN " + row + ".xmax = " + ownXID + " THEN TRUE WHEN " + mayBeMulti(row) +
		" THEN " + ownXID + " IN (SELECT slotsql_m.xid FROM " + lockers + "(" + row + ".xmax) AS slotsql_m) ELSE FALSE END"
}

// ownXID is the transaction, as the system columns of rows name it.
const ownXID = "CAST(pg_catalog.pg_current_xact_id() AS pg_catalog.xid)"

package history

import (
	"fmt"
	"slices"
)

// checkErrors holds the errors of transactions that meet others to where the
// plain engine can give them. That plain histories keep to it is tested as
// everything else is.
func checkErrors(h *History) error {
	for c, txs := range h.Clients {
		for n, t := range txs {
			if t.Class == "" {
				continue
			}
			if why := h.impossible(t); why != "" {
				return fmt.Errorf("client %d tx %d: %s: %s:\n%s", c, n, t.Class, why, h)
			}
		}
	}
	return nil
}

// impossible says why an error cannot be the engine's.
func (h *History) impossible(t *Tx) string {
	if h.Dialect == "sqlite" {
		// With a busy timeout only those fail that have begun to read and then
		// want to write: to wait would be of no use.
		if t.Auto || t.Begin != "BEGIN" {
			return "it does not go from reading to writing"
		}
		return ""
	}
	conflict := t.Class == "PostgreSQL 40001" || t.Class == "MySQL 1020 (HY000)"
	if conflict && h.Level == "READ COMMITTED" {
		return "READ COMMITTED has no such error"
	}
	if conflict || h.Dialect == "mysql" && h.gaps() {
		return ""
	}
	if h.Wrapped && h.Several && h.Dialect == "postgres" {
		// An increment holds one slot row and asks for the next. A drain keeps it
		// out by the base row's lock, but where PostgreSQL grants both (see slips)
		// it may have that next one and ask for the first: it deletes them in no
		// order. Seen once in some thousand histories, of a drain that had gone back
		// to a savepoint of slotsql's own because the row was new.
		return ""
	}
	// A deadlock takes somebody who holds one row and waits for another. Its
	// victim may be a third, who only waits in the queue between them.
	for _, txs := range h.Clients {
		for _, u := range txs {
			if u.from() <= t.End && u.End >= t.from() && u.holdsAndWaits(h) {
				return ""
			}
		}
	}
	return "nobody at that time held one row and waited for another"
}

// gaps says that InnoDB may deadlock in more ways: by the shared locks of
// SERIALIZABLE, by locks on gaps, and by those that an INSERT sets where it
// finds a row.
func (h *History) gaps() bool {
	if h.Level == "SERIALIZABLE" {
		return true
	}
	for _, txs := range h.Clients {
		for _, t := range txs {
			for _, o := range t.Ops {
				if o.Kind == Insert || o.Kind == Upsert || o.Kind == Delete {
					return true
				}
			}
		}
	}
	return false
}

// from is when the transaction's first statement began.
func (t *Tx) from() int64 {
	if len(t.Ops) > 0 {
		return t.Ops[0].Start
	}
	return t.Start
}

// holdsAndWaits says that a statement of the transaction may have waited for a
// row while the transaction held another one; or, of a wrapped client, the same
// one by an increment, as docs/divergences.md lists.
func (t *Tx) holdsAndWaits(h *History) bool {
	for i, o := range t.Ops {
		if o.Kind == Savepoint || o.Kind == RollbackTo {
			continue
		}
		if o.Kind == Read || o.Kind == ReadAll {
			if h.Wrapped && slices.ContainsFunc(t.Ops[:i], func(before *Op) bool { return (before.Kind.additive() || h.apart(before)) && before.Affected > 0 }) {
				return true // it drains the rows that the transaction has changed
			}
			continue
		}
		if h.Wrapped && h.Dialect == "mysql" && o.Kind.additive() && o.Affected == 0 {
			return true // it looks for the row under a shared lock, and then drains
		}
		for _, before := range t.Ops[:i] {
			// InnoDB locks rows that do not change, too.
			held := before.Affected > 0 || before.Kind == Lock && before.Got[before.Key].There ||
				h.Dialect == "mysql" && !before.Kind.reads() && before.Kind != Savepoint && before.Kind != RollbackTo
			if held && (before.Key != o.Key || h.Wrapped && before.Kind.additive()) {
				return true
			}
		}
	}
	return false
}

package history

import (
	"fmt"

	"github.com/slotsql/slotsql/integration/twin"
)

// checkErrors holds the errors of transactions that meet others to where the
// plain engine can give them. That plain histories keep to it is tested as
// everything else is.
func checkErrors(h *History) error {
	for c, txs := range h.Clients {
		for n, t := range txs {
			if t.Class == "" || t.Class == Killed {
				continue
			}
			if why := h.impossible(t); why != "" {
				err := fmt.Errorf("client %d tx %d: %s: %s:\n%s", c, n, t.Class, why, h)
				if h.Wrapped && (!h.Apart || t.Class == "PostgreSQL 40P01" || t.Class == "MySQL 1213 (40001)") {
					return &Unlearned{err}
				}
				return err
			}
		}
	}
	return nil
}

// Unlearned is a deadlock that the plain driver does not have, of transactions that
// want one row each. slotsql learns from it which statements are to lock first
// (docs/design/transactions.md), so that a process has few of them, and all of them at
// first.
type Unlearned struct{ error }

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
	conflict := t.Class == "PostgreSQL 40001" || t.Class == twin.Newer
	if conflict && h.Level == "READ COMMITTED" {
		return "READ COMMITTED has no such error"
	}
	if t.Class == twin.Newer && t.Auto && h.Level == "REPEATABLE READ" {
		return "a statement in autocommit has no snapshot before its locks"
	}
	if h.Wrapped && h.Several && h.Dialect != "sqlite" && t.Class != "PostgreSQL 40001" {
		// An increment holds one slot row and asks for the next. A drain keeps it
		// out by the base row's lock, but on MySQL an increment that knows its slot
		// rows locks no base row. On PostgreSQL one that finds its lock uncertain
		// keeps it and waits (docs/design/locks.md).
		return ""
	}
	if h.Apart {
		// PostgreSQL's serializable snapshot isolation takes pages and whole tables
		// for what has been read of them. A roll-up is another one who changes a row.
		if conflict && (h.Level == "SERIALIZABLE" || h.RolledUp) {
			return ""
		}
		if h.Wrapped && h.Dialect == "mysql" && h.Level != "READ COMMITTED" && t.Auto && h.evicts(t) {
			return "" // the gap of a DELETE in the slot table: docs/divergences.md
		}
		return "no client waits for two rows, and rows that are changed are not those of others"
	}
	if conflict || h.Dialect == "mysql" && h.gaps() {
		return ""
	}
	// A deadlock takes a client that holds one row and waits for another. Its
	// victim may be a third, who only waits in the queue between them.
	for _, txs := range h.Clients {
		for _, u := range txs {
			if u.from() <= t.End && u.End >= t.from() && u.holdsAndWaits(h) {
				return ""
			}
		}
	}
	return "no client at that time held one row and waited for another"
}

// evicts reports whether a transaction at the time of t deletes a neighbour's row.
func (h *History) evicts(t *Tx) bool {
	for _, txs := range h.Clients {
		for _, u := range txs {
			for _, o := range u.Ops {
				if o.Kind == Evict && u.from() <= t.End && u.End >= t.from() {
					return true
				}
			}
		}
	}
	return false
}

// gaps reports whether InnoDB may deadlock in more ways: by the shared locks of
// SERIALIZABLE, by locks on gaps, and by those that an INSERT sets where it
// finds a row.
func (h *History) gaps() bool {
	if h.Level == "SERIALIZABLE" {
		return true
	}
	for _, txs := range h.Clients {
		for _, t := range txs {
			for _, o := range t.Ops {
				if o.Kind == Insert || o.Kind == Upsert || o.Kind == Delete || o.judges() {
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

// holdsAndWaits reports whether a statement of the transaction may have waited for a
// row while the transaction held another one.
func (t *Tx) holdsAndWaits(h *History) bool {
	for i, o := range t.Ops {
		if o.Kind == Savepoint || o.Kind == RollbackTo || o.Kind.beside() {
			continue
		}
		if o.Kind == Read {
			continue
		}
		if h.Wrapped && h.Dialect == "mysql" && h.Level != "READ COMMITTED" && o.Kind.additive() && o.Affected == 0 {
			return true // it locks the place of a row that is not there: docs/divergences.md
		}
		if o.Kind == ReadAll && !h.Wrapped {
			continue
		}
		for _, before := range t.Ops[:i] {
			if before.holds(h) && (before.Key != o.Key || o.Kind == ReadAll || o.judges() && h.Wrapped) {
				return true
			}
		}
	}
	return false
}

// holds reports whether the statement has locked its row.
func (o *Op) holds(h *History) bool {
	if o.Kind == Savepoint || o.Kind == RollbackTo || o.Kind.beside() {
		return false
	}
	// InnoDB locks rows that do not change, too.
	return o.Affected > 0 || o.Kind == Lock && o.Got[o.Key].There || h.Dialect == "mysql" && !o.Kind.reads()
}

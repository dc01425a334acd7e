package history

// slips reports whether an increment may have got its lock beside a drain's: a
// transaction has changed a row, then locked it against everything, and been
// undone. PostgreSQL (15 at least) may then grant FOR UPDATE and FOR KEY SHARE
// together to two who were waiting: who waits for FOR KEY SHARE follows the
// row's versions, and when it finds the change undone, heap_lock_tuple looks
// only at whether the row was changed anew, and not at whether it was locked. No
// statement of the plain driver's asks for FOR KEY SHARE, so there is no rule
// for it; docs/divergences.md says what comes of it.
func (h *History) slips() bool {
	if h.Dialect != "postgres" || !h.Wrapped {
		return false
	}
	for _, txs := range h.Clients {
		for _, t := range txs {
			if t.slips(h) {
				return true
			}
		}
	}
	return false
}

func (t *Tx) slips(h *History) bool {
	undone := t.Outcome != Committed
	for _, o := range t.Ops {
		undone = undone || o.Kind == RollbackTo
	}
	if !undone {
		return false
	}
	for i, o := range t.Ops {
		if o.Kind == Savepoint || o.Kind == RollbackTo || o.Kind.beside() || o.Kind.additive() || h.apart(o) {
			continue
		}
		for _, before := range t.Ops[:i] {
			if (before.Key == o.Key || o.Kind == ReadAll) && (h.apart(before) || h.onBase(before)) && before.Affected > 0 {
				return true
			}
		}
	}
	return false
}

package history

import "fmt"

// checkSeen judges the companion seen, the latest value set. It is held to less
// than the rows are: a value must have been written by a statement that the
// reader could know of, and no write may lie wholly between that statement and
// the reader. On a plain row of two transactions that set it the second waits
// for the first, so that its statement ends later; through slots the times of
// the statements decide. A roll-up may have moved the later one to the base row
// before the earlier one is committed, which then comes later (docs/design/rollup.md).
func checkSeen(h *History) error {
	for k := range Keys {
		var writes []seenWrite
		for _, txs := range h.Clients {
			for _, t := range txs {
				writes = append(writes, t.seenWrites(k)...)
			}
		}
		final := reader{from: 1 << 62, to: 1 << 62}
		if err := final.explain(h, k, h.Final[k], h.Seen[k], writes); err != nil {
			return err
		}
		for _, txs := range h.Clients {
			for _, t := range txs {
				if t.Plain || h.Dialect == "postgres" && h.Level == "SERIALIZABLE" && t.Outcome != Committed {
					continue
				}
				from := t.Start
				if len(t.Ops) > 0 {
					from = t.Ops[0].Start // the snapshot may be as old
				}
				for _, o := range t.Ops {
					if !o.Kind.reads() || o.Class != "" || o.Many[k] || o.Kind != ReadAll && o.Key != k {
						continue
					}
					r := reader{tx: t, op: o, from: from, to: o.End}
					if err := r.explain(h, k, o.Got[k], o.Saw[k], writes); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// seenWrite is a statement that has, or may have, set seen of a key.
type seenWrite struct {
	*Op
	tx     *Tx
	undone bool // by a rollback to the savepoint
}

// reader sees everything that was committed before from, and nothing that began
// after to.
type reader struct {
	tx       *Tx // nil for the end
	op       *Op
	from, to int64
}

func (r reader) explain(h *History, k int, row Row, seen int64, writes []seenWrite) error {
	if !row.There {
		return nil
	}
	fault := func(format string, args ...any) error {
		who := "in the end"
		if r.op != nil {
			who = r.op.String()
		}
		return fmt.Errorf("key %d: seen is %d %s; %s:\n%s", k, seen, who, fmt.Sprintf(format, args...), h)
	}
	var by *Op
	var byTx *Tx
	for _, w := range writes {
		if w.Tag == seen && w.Kind != Delete && w.Start <= r.to && (w.tx == r.tx || w.tx.Outcome == Committed && !w.undone) {
			by, byTx = w.Op, w.tx
		}
	}
	if by == nil && seen != h.First[k] {
		return fault("no statement that it could know has written that")
	}
	for _, w := range writes {
		if w.undone || !w.setsSeen() && w.Kind != Delete || w.tx.Outcome != Committed || w.tx == r.tx || w.tx.End >= r.from {
			continue
		}
		if by == nil || w.Start > by.End && !(h.RolledUp && byTx.End > w.tx.Start) {
			return fault("%q came later", w.Op)
		}
	}
	return nil
}

// seenWrites are the statements of a transaction that have, or may have, set
// seen of the key, or deleted the row.
func (t *Tx) seenWrites(k int) []seenWrite {
	var out []seenWrite
	saved := 0
	for _, o := range t.Ops {
		switch {
		case o.Kind == Savepoint:
			saved = len(out)
		case o.Kind == RollbackTo:
			for i := saved; i < len(out); i++ {
				out[i].undone = true
			}
		case o.Key != k || o.Affected == 0 || o.Class != "":
		case o.setsSeen(), o.Kind == Upsert, o.Kind == Delete:
			out = append(out, seenWrite{Op: o, tx: t})
		}
	}
	return out
}

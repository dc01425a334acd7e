package history

// parts are the transactions as the engine has them. A ROLLBACK TO SAVEPOINT
// ends InnoDB's transaction, with its locks and its snapshot, when the engine
// had no part in the transaction yet as the savepoint was set: MariaDB's
// ha_rollback_to_savepoint rolls back such engines as a whole. What follows is
// another transaction.
func (h *History) parts(txs []*Tx) []*Tx {
	if h.Dialect != "mysql" {
		return txs
	}
	var out []*Tx
	for _, t := range txs {
		rest, joined, begins, cuts := t.Ops, false, false, 0
		for i, o := range t.Ops {
			switch o.Kind {
			case Savepoint:
				begins = !joined
			case RollbackTo:
				if begins && joined {
					part := *t
					part.Outcome, part.Start, part.End = RolledBack, o.Start, o.End
					part.Ops = t.Ops[cuts:i]
					out = append(out, &part)
					cuts, rest, joined = i+1, t.Ops[i+1:], false
				}
			default:
				joined = true
			}
		}
		if cuts > 0 {
			last := *t
			last.Ops = rest
			t = &last
		}
		out = append(out, t)
	}
	return out
}

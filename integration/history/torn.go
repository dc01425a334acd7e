package history

// Torn is a history in which a plain read of several rows of MariaDB sees a change, and
// not another one that was acknowledged before the first was committed. A total is such a read
// too: of the base row and its slots (docs/divergences.md). The plain driver
// shows the same: InnoDB lists the transactions under way for a snapshot while they come
// and go, and one that it has listed may end before another one that it has yet to come to
// (trx_sys_t::snapshot_ids). It takes a thread that is interrupted in between, and so a busy
// machine: it is rare.
type Torn struct{ error }

// explainedTorn reports whether a history of MariaDB is explained if its reads of all rows
// may be torn.
func explainedTorn(h *History) bool {
	if h.Dialect != "mysql" || h.Level == "SERIALIZABLE" {
		return false
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		if checkStatements(h, h.Level != "READ COMMITTED", order).explained {
			return true
		}
	}
	return h.Wrapped && h.Level == "READ COMMITTED" && explainedTornTotal(h)
}

// explainedTornTotal reports whether a history is explained if one plain read of a total misses some
// increments that were committed during the read.
func explainedTornTotal(h *History) bool {
	for _, txs := range h.Clients {
		for _, t := range txs {
			for _, o := range t.Ops {
				if o.Kind != Read || o.Class != "" || !o.Got[o.Key].There {
					continue
				}
				whole := *o
				for _, m := range missedDuring(h, o) {
					// The read comes after what it has missed.
					o.Got[o.Key].Views, o.Start = whole.Got[o.Key].Views+m.sum, m.until+1
					explained := checkStatements(h, false, nil).explained
					*o = whole
					if explained {
						return true
					}
				}
			}
		}
	}
	return false
}

// missing is what some transactions have added, and when the last of them had been committed.
type missing struct {
	sum   int32
	until int64
}

// missedDuring returns what transactions that were committed while a read ran have added to its row,
// for each choice of them.
func missedDuring(h *History, read *Op) (out []missing) {
	const most = 6 // 63 choices
	var added []missing
	for _, txs := range h.Clients {
		for _, t := range txs {
			if n := t.adds(read.Key); n != 0 && t.Outcome == Committed && t.End > read.Start && t.End < read.End && len(added) < most {
				added = append(added, missing{n, t.End})
			}
		}
	}
	for choice := 1; choice < 1<<len(added); choice++ {
		var m missing
		for i, a := range added {
			if choice&(1<<i) != 0 {
				m.sum, m.until = m.sum+a.sum, max(m.until, a.until)
			}
		}
		out = append(out, m)
	}
	return out
}

// adds is what a transaction adds to a row in slots.
func (t *Tx) adds(key int) (n int32) {
	for _, o := range t.Ops {
		if o.Key == key && o.Affected > 0 && (o.Kind == Increment || o.Kind == Touch || o.Kind == Upsert || o.Kind == Call) {
			n += o.N
		}
	}
	return n
}

// parts is the operation, or the reads of single rows that a read of all rows consists of.
func (o *Op) parts(order []int) []*Op {
	if order == nil || o.Kind != ReadAll {
		return []*Op{o}
	}
	var parts []*Op
	for _, k := range order {
		part := *o
		part.Kind, part.Key = Read, k
		parts = append(parts, &part)
	}
	return parts
}

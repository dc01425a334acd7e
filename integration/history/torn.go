package history

// Torn is a history in which a plain read of several rows of MariaDB sees a change, and
// not another one that was acknowledged before the first was committed. The plain driver
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
	return false
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

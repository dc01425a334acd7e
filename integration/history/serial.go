package history

import "fmt"

// serialMachine takes whole transactions, one after the other.
//
// It is the rule of SERIALIZABLE on PostgreSQL and MySQL, and of SQLite at
// large. Real time counts from the first statement to the end of the commit:
// strict two-phase locking (InnoDB) and SQLite's single writer keep to it, and
// so does PostgreSQL's serializable snapshot isolation, whose proof only needs
// that the edges of a cycle which are not read-write conflicts go from a commit
// to a later snapshot, as real time does.
type serialMachine struct {
	h *History
	// victims reports whether what a transaction saw which was not committed is
	// explained as well; PostgreSQL promises it only of those that commit.
	victims bool
}

// serialState are the rows, and how many files each has in the second table.
type serialState struct {
	rows  [Keys]Row
	files [Keys]int8
}

func (m serialMachine) step(db serialState, e *event) (serialState, bool, bool) {
	if e.tx.Outcome != Committed && !m.victims {
		return db, true, true
	}
	now, saved := db, db
	for _, o := range e.tx.Ops {
		if o.Class != "" {
			break
		}
		switch o.Kind {
		case Savepoint:
			saved = now
			continue
		case RollbackTo:
			now = saved
			continue
		case File:
			now.files[o.Key] += int8(o.Affected)
			continue
		case Files:
			if int(now.files[o.Key]) != o.Count {
				return db, false, false
			}
			continue
		case Evict, Fresh:
			continue
		}
		if !matches(m.h, o, &now.rows, e.tx.Plain) {
			return db, false, false
		}
	}
	if e.tx.Outcome != Committed {
		return db, true, true
	}
	return now, true, changesNothing(e.tx)
}

// changesNothing reports whether the transaction changes no row wherever it stands in
// the order, and not only where it is tried now.
func changesNothing(t *Tx) bool {
	for _, o := range t.Ops {
		if o.Affected != 0 {
			return false
		}
	}
	return true
}

func (m serialMachine) final(db serialState) bool { return db.rows == m.h.Final }

func (m serialMachine) describe(db serialState) string {
	return fmt.Sprintf("%v files %v", db.rows, db.files)
}

// matches runs a statement on the rows and reports whether its result is what the
// client has seen.
func matches(h *History, o *Op, now *[Keys]Row, blind bool) bool {
	if o.Kind.reads() {
		for k := range Keys {
			if !blind && (o.Kind == ReadAll || o.Key == k) && (o.Got[k] != now[k] || o.Many[k]) {
				return false
			}
		}
		return true
	}
	if h.Dialect == "postgres" && o.Kind == Insert && o.Affected == 0 {
		// That ON CONFLICT DO NOTHING has met a row is not a read to PostgreSQL's
		// serializable snapshot isolation: it sets no predicate lock (the row is
		// fetched by ExecCheckTIDVisible), so another transaction may delete it.
		return true
	}
	r, n := effect(h.Dialect, o, now[o.Key])
	now[o.Key] = r
	return n == o.Affected
}

func checkSerial(h *History) verdict {
	var clients [Clients][]event
	for c, txs := range h.Clients {
		for _, t := range h.parts(txs) {
			start := t.Start
			if len(t.Ops) > 0 {
				start = t.Ops[0].Start
			}
			clients[c] = append(clients[c], event{client: c, tx: t, start: start, end: t.End})
		}
	}
	return search[serialState](serialMachine{h, h.Dialect != "postgres"}, clients, serialState{rows: h.Initial})
}

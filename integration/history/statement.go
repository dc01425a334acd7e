package history

import "fmt"

// statementMachine is the rule where each statement sees for itself: READ
// COMMITTED, and MySQL's REPEATABLE READ, whose writes and locking reads see
// what is committed and whose plain reads see one snapshot, taken by the first
// of them, and the rows that the transaction has changed.
//
// Every statement takes effect at one moment. A change locks its row until the
// transaction ends. Of wrapped clients increments lock the row against
// everything but each other; a transaction that has incremented a row and
// looks at it, or changes it otherwise, has it alone from then on.
type statementMachine struct {
	h        *History
	snapshot bool // plain reads see the transaction's snapshot
	reborn   []*Tx
}

type statementState struct {
	db     [Keys]Row
	active [Clients]statementTx
	// ghosts are the transactions among reborn that have been committed, one bit
	// for each.
	ghosts uint64
}

type statementTx struct {
	own, saved [Keys]hold
	snapshot   [Keys]Row
	taken      [Keys]bool
}

// hold is what a transaction has to do with a row.
type hold struct {
	kind    uint8
	changed bool // the row's newest version is the transaction's own
	row     Row  // as it is for the transaction, when exclusive
	delta   sum  // when shared
}

const (
	free uint8 = iota
	shared
	exclusive
)

func (m statementMachine) others(s *statementState, me, key int) (kind uint8) {
	for c := range s.active {
		if c != me {
			kind = max(kind, s.active[c].own[key].kind)
		}
	}
	return kind
}

// taken is how much of a row others have taken that is not committed. There is enough for
// a statement that passes them, however they end, if there is without that.
func (m statementMachine) taken(s *statementState, me, key int) (n int32) {
	for c := range s.active {
		if h := &s.active[c].own[key]; c != me && h.kind == shared {
			n += h.delta.taken
		}
	}
	return n
}

// swapping reports whether another transaction has changed the version of a row, and is not committed.
func (m statementMachine) swapping(s *statementState, me, key int) bool {
	for c := range s.active {
		if h := &s.active[c].own[key]; c != me && h.kind == shared && h.delta.swaps > 0 {
			return true
		}
	}
	return false
}

func (m statementMachine) step(s statementState, e *event) (statementState, bool, bool) {
	a := &s.active[e.client]
	o := e.op
	if o == nil {
		return m.end(s, e)
	}
	switch o.Kind {
	case Savepoint:
		a.saved = a.own
		return s, true, true
	case RollbackTo:
		// The locks taken since may or may not be kept: PostgreSQL gives them
		// back, InnoDB does not.
		a.own = a.saved
		return s, true, false
	}
	if o.Kind.beside() {
		return s, true, true
	}
	if o.Kind == Read || o.Kind == ReadAll {
		return m.read(s, e)
	}
	k := o.Key
	h := a.own[k]
	now := s.db[k]
	switch h.kind {
	case shared:
		now = now.plus(h.delta)
	case exclusive:
		now = h.row
	}
	if m.missed(&s, o) {
		return s, true, true
	}
	others := m.others(&s, e.client, k)
	if o.Kind == Lock {
		if (o.Got[k] != now || o.Many[k]) && !e.tx.Plain {
			return s, false, false
		}
		if !now.There {
			return s, true, !m.snapshot
		}
		if others != free {
			return s, false, false
		}
		a.own[k] = hold{kind: exclusive, row: now, changed: h.changed || h.kind == shared}
		return s, true, false
	}
	r, n := effect(m.h.Dialect, o, now)
	if n != o.Affected {
		return s, false, false
	}
	if n == 0 {
		// One that only expects another version tells nothing of the counter.
		if o.Kind == Swap {
			return s, true, false
		}
		// InnoDB locks a row that exists and does not change. A transaction that looks at
		// it afterwards may see its newest version or the snapshot's.
		if m.snapshot && now.There && o.Kind != Insert {
			if others != free {
				return s, false, false
			}
			a.own[k] = hold{kind: exclusive, row: now, changed: h.changed || h.kind == shared}
			return s, true, false
		}
		return s, true, true
	}
	adds := o.Kind.additive() && now.There || m.h.separate(o) || m.h.Bounded && o.takes() && now.Views-m.taken(&s, e.client, k) >= o.N
	if adds && m.h.Wrapped && h.kind != exclusive {
		if others == exclusive || o.Kind == Swap && m.swapping(&s, e.client, k) {
			return s, false, false
		}
		d := none
		if h.kind == shared {
			d = h.delta
		}
		a.own[k] = hold{kind: shared, delta: d.plus(o)}
		return s, true, false
	}
	if others != free {
		return s, false, false
	}
	a.own[k] = hold{kind: exclusive, row: r, changed: true}
	return s, true, false
}

// missed reports whether a statement that affects nothing may have met a row that is
// gone although there is one: at PostgreSQL's READ COMMITTED a statement finds
// its rows in a snapshot of its own, waits for who is changing them, and skips
// those that were deleted; a row that the same transaction has inserted again
// is not in the snapshot (PostgreSQL's manual, 13.2.1).
func (m statementMachine) missed(s *statementState, o *Op) bool {
	if s.ghosts == 0 || o.Affected != 0 || o.Kind == Insert || o.Kind == Upsert || o.Kind == Lock && o.Got[o.Key].There {
		return false
	}
	for i, t := range m.reborn {
		if s.ghosts&(1<<i) != 0 && t.End > o.Start && t.bears(o.Key) {
			return true
		}
	}
	return false
}

// bears reports whether the transaction deletes a row and inserts one at its key.
func (t *Tx) bears(key int) bool {
	deleted := false
	for _, o := range t.Ops {
		if o.Key == key && o.Affected > 0 {
			if deleted && (o.Kind == Insert || o.Kind == Upsert) {
				return true
			}
			deleted = deleted || o.Kind == Delete
		}
	}
	return false
}

// read is a plain read.
func (m statementMachine) read(s statementState, e *event) (statementState, bool, bool) {
	o, a := e.op, &s.active[e.client]
	if e.tx.Plain {
		return s, true, true
	}
	took := false
	for k := range Keys {
		if m.snapshot && !a.taken[k] && (!e.torn || k == o.Key) {
			took, a.taken[k], a.snapshot[k] = true, true, s.db[k]
		}
	}
	upgraded := false
	for k := range Keys {
		if k != o.Key && o.Kind == Read {
			continue
		}
		seen := s.db[k]
		if m.snapshot {
			seen = a.snapshot[k]
		}
		h := a.own[k]
		switch {
		case h.kind == exclusive && h.changed:
			seen = h.row
		case h.kind == exclusive && m.snapshot:
			if o.Got[k] == h.row {
				continue
			}
		case h.kind == shared:
			if m.others(&s, e.client, k) != free {
				return s, false, false
			}
			seen = s.db[k]
			seen = seen.plus(h.delta)
			a.own[k] = hold{kind: exclusive, row: seen, changed: true}
			upgraded = true
		}
		if o.Got[k] != seen || o.Many[k] {
			return s, false, false
		}
	}
	return s, true, !took && !upgraded
}

// end commits, or forgets.
func (m statementMachine) end(s statementState, e *event) (statementState, bool, bool) {
	mine := s.active[e.client]
	s.active[e.client] = statementTx{}
	if e.tx.Outcome != Committed {
		return s, true, true
	}
	for i, t := range m.reborn {
		if t == e.tx {
			s.ghosts |= 1 << i
		}
	}
	none := true
	for k, h := range mine.own {
		switch h.kind {
		case shared:
			s.db[k] = s.db[k].plus(h.delta)
		case exclusive:
			s.db[k] = h.row
		default:
			continue
		}
		none = false
	}
	return s, true, none
}

func (m statementMachine) describe(s statementState) string {
	out := fmt.Sprint(s.db)
	for c, a := range s.active {
		if a != (statementTx{}) {
			out += fmt.Sprintf("\n  client %d: holds %+v, snapshot %v %v", c, a.own, a.taken, a.snapshot)
		}
	}
	return out
}

func (m statementMachine) final(s statementState) bool { return s.db == m.h.Final }

// checkStatements looks for an order of statements. Where apart is not nil, a plain read of all rows
// reads one after another, in that order.
func checkStatements(h *History, snapshot bool, apart []int) verdict {
	m := statementMachine{h: h, snapshot: snapshot}
	var clients [Clients][]event
	for c, txs := range h.Clients {
		for _, t := range h.parts(txs) {
			start := t.Start
			for k := range Keys {
				if h.Dialect == "postgres" && t.Outcome == Committed && t.bears(k) && len(m.reborn) < 64 {
					m.reborn = append(m.reborn, t)
					break
				}
			}
			for _, o := range t.Ops {
				if t.Auto {
					start = o.Start
				}
				if o.Class != "" {
					// Both engines give all locks back when they raise an error that
					// ends the transaction, before its client says ROLLBACK.
					start = min(start, o.Start) // a kill may come first
					break
				}
				for _, part := range o.parts(apart) {
					clients[c] = append(clients[c], event{client: c, tx: t, op: part, torn: part != o, start: o.Start, end: o.End})
				}
			}
			clients[c] = append(clients[c], event{client: c, tx: t, start: start, end: t.End})
		}
	}
	return search[statementState](m, clients, statementState{db: h.Initial})
}

package history

import (
	"fmt"
	"math"
)

// snapshotMachine is PostgreSQL's REPEATABLE READ: a transaction sees the rows
// as they were at one moment of its first statement, and its own changes. What
// it changes or locks must not have been changed by others since. Increments
// through slots may pass each other, but only by transactions that have not
// looked at the counter. So may guarded decrements of a counter with a bound, whose
// guards hold in the end, too.
type snapshotMachine struct{ h *History }

type snapshotState struct {
	db     [Keys]Row
	active [Clients]snapshotTx
}

type snapshotTx struct {
	writes [Keys]snapshotWrite
	// What others have committed since the snapshot.
	added, changed, swapped uint8
}

type snapshotWrite struct {
	kind  uint8
	row   Row
	delta sum
	least int32 // what the row must have at the commit, for the guards to hold then
	fresh Row   // what upserts make if the row of the snapshot has been deleted since
}

const (
	unwritten uint8 = iota
	added           // by increments alone
	counted         // by increments alone, by a transaction that has looked at the counter
	written
	locked   // FOR UPDATE
	inserted // where the snapshot has no row, or one that has been deleted since
)

func (m snapshotMachine) step(s snapshotState, e *event) (snapshotState, bool, bool) {
	a := &s.active[e.client]
	if e.begin {
		writes, ok := m.run(e.tx, s.db)
		if !ok {
			return s, false, false
		}
		*a = snapshotTx{writes: writes}
		return s, true, writes == [Keys]snapshotWrite{}
	}
	mine := *a
	*a = snapshotTx{}
	if e.tx.Outcome != Committed {
		return s, true, true
	}
	free := true
	for k := range Keys {
		w, bit := mine.writes[k], uint8(1)<<k
		switch w.kind {
		case unwritten:
			continue
		case locked:
			if (mine.added|mine.changed)&bit != 0 {
				return s, false, false
			}
			continue
		case added:
			if mine.changed&bit != 0 {
				if !w.fresh.There || s.db[k].There {
					return s, false, false
				}
				s.db[k] = w.fresh
				break
			}
			if s.db[k].Views < w.least || w.delta.swaps > 0 && mine.swapped&bit != 0 {
				return s, false, false
			}
			s.db[k] = s.db[k].plus(w.delta)
		case counted, written:
			if (mine.added|mine.changed)&bit != 0 {
				if !w.fresh.There || s.db[k].There {
					return s, false, false
				}
				s.db[k] = w.fresh
				break
			}
			s.db[k] = w.row
		case inserted:
			if s.db[k].There {
				return s, false, false
			}
			s.db[k] = w.row
		}
		free = false
		for c := range s.active {
			if c == e.client {
				continue
			}
			if w.kind == added || w.kind == counted {
				s.active[c].added |= bit
			} else {
				s.active[c].changed |= bit
			}
			if w.delta.swaps > 0 {
				s.active[c].swapped |= bit
			}
		}
	}
	return s, true, free
}

// run says what the transaction writes, given its snapshot; false when it
// cannot have seen what it has.
func (m snapshotMachine) run(t *Tx, snapshot [Keys]Row) ([Keys]snapshotWrite, bool) {
	now, saved := snapshot, snapshot
	var w, savedW [Keys]snapshotWrite
	var looked [Keys]bool
	// Two rows of one key are visible: the snapshot's, which another session has
	// deleted since, and the transaction's own.
	var odd [Keys]bool
	both := t.sawBoth()
	for _, o := range t.Ops {
		if o.Class != "" {
			break
		}
		switch o.Kind {
		case Savepoint:
			saved, savedW = now, w
			continue
		case RollbackTo:
			now, w = saved, savedW
			continue
		}
		if o.Kind.beside() {
			continue
		}
		k := o.Key
		if o.Kind.reads() {
			for i := range Keys {
				if (i == k || o.Kind == ReadAll) && !odd[i] {
					if o.Got[i] != now[i] && !t.Plain {
						return w, false
					}
					looked[i] = true
				}
			}
			if o.Kind == Lock && now[k].There && w[k].kind == unwritten {
				w[k].kind = locked
			}
			continue
		}
		if odd[k] {
			switch o.Kind {
			case Upsert:
				w[k].row.Views += o.N
			case Swap:
				w[k].row.Version += int8(o.Affected)
			}
			continue
		}
		was := now[k]
		if was.There && w[k].kind == unwritten && o.Affected == 1 && (o.Kind == Insert || o.Kind == Upsert && both[k]) {
			odd[k] = true
			w[k] = snapshotWrite{kind: inserted, row: Row{There: true, Views: o.N, High: o.Mark, Low: o.Mark}}
			continue
		}
		r, n := effect(m.h.Dialect, o, was)
		if n != o.Affected {
			return w, false
		}
		if n == 0 {
			looked[k] = looked[k] || (o.takes() || o.judges()) && was.There // a refusal tells of the counter
			continue
		}
		adds := o.Kind.additive() || m.h.Bounded && o.takes() && was.Views >= o.N
		now[k] = r
		switch {
		case m.h.separate(o) && w[k].kind == unwritten:
			w[k] = snapshotWrite{kind: added, delta: none.plus(o), least: math.MinInt32}
		case m.h.separate(o) && w[k].kind == added:
			w[k].delta = w[k].delta.plus(o)
		case !was.There && w[k].kind == unwritten:
			w[k] = snapshotWrite{kind: inserted, row: r}
		case w[k].kind == inserted:
			w[k].row = r
		case adds && (w[k].kind == locked || w[k].kind == counted):
			w[k] = snapshotWrite{kind: counted, row: r}
		case adds && (w[k].kind == unwritten || w[k].kind == added):
			add := snapshotWrite{kind: added, delta: none, least: math.MinInt32}
			switch {
			case w[k].kind == added:
				add.delta, add.least, add.fresh = w[k].delta, w[k].least, w[k].fresh
				if o.Kind == Upsert && add.fresh.There {
					add.fresh.Views += o.N
				} else {
					add.fresh = Row{}
				}
			case o.Kind == Upsert:
				add.fresh = Row{There: true, Views: o.N, High: o.Mark, Low: o.Mark}
			}
			if o.takes() {
				add.least = max(add.least, o.N-add.delta.views)
			}
			add.delta = add.delta.plus(o)
			w[k] = add
		default:
			w[k] = snapshotWrite{kind: written, row: r}
		}
	}
	for k := range Keys {
		switch {
		case w[k].kind == counted && !m.h.Wrapped:
			w[k].kind = written
		case w[k].kind == added && !m.h.Wrapped:
			w[k] = snapshotWrite{kind: written, row: now[k], fresh: w[k].fresh}
		case w[k].kind == added && looked[k] && !t.Plain:
			w[k] = snapshotWrite{kind: counted, row: now[k], fresh: w[k].fresh, delta: w[k].delta}
		}
	}
	return w, true
}

// sawBoth says of which keys a read has shown two rows.
func (t *Tx) sawBoth() (both [Keys]bool) {
	for _, o := range t.Ops {
		for k, many := range o.Many {
			both[k] = both[k] || many
		}
	}
	return both
}

func (m snapshotMachine) describe(s snapshotState) string {
	out := fmt.Sprint(s.db)
	for c, a := range s.active {
		if a != (snapshotTx{}) {
			out += fmt.Sprintf("\n  client %d: %+v", c, a)
		}
	}
	return out
}

func (m snapshotMachine) final(s snapshotState) bool { return s.db == m.h.Final }

func checkSnapshot(h *History) verdict {
	var clients [Clients][]event
	for c, txs := range h.Clients {
		for _, t := range txs {
			if t.Auto {
				// A snapshot and a commit within one statement.
				o := t.Ops[0]
				clients[c] = append(clients[c], event{client: c, tx: t, begin: true, start: o.Start, end: o.End},
					event{client: c, tx: t, start: o.Start, end: o.End})
				continue
			}
			first := t.Start
			firstEnd := t.End
			for _, o := range t.Ops {
				if o.Kind != Savepoint && o.Kind != RollbackTo {
					first, firstEnd = o.Start, o.End
					break
				}
			}
			clients[c] = append(clients[c], event{client: c, tx: t, begin: true, start: first, end: firstEnd},
				event{client: c, tx: t, start: t.Start, end: t.End})
		}
	}
	return search[snapshotState](snapshotMachine{h}, clients, snapshotState{db: h.Initial})
}

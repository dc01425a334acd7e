package history

import "math/rand/v2"

// style is what the transactions of a history do, and on which rows. A generator
// that mixes everything finds few of the faults that take one habit of many clients.
type style struct {
	kinds []Kind
	// first are the statements that begin most transactions: they take a row.
	first []Kind
	rows  rows
	// absent: most rows are not there in the beginning; else, but for anyRows, all
	// are.
	absent bool
	// serial: only where all transactions are as if one after the other.
	serial bool
	// judges: most statements that rename and delete find their row by a condition on the counter.
	judges bool
	// saves: savepoints, and rollbacks to them, are frequent.
	saves bool
	// auto: outside transactions, where those that overlap share a statement.
	auto bool
}

// rows are those that the transactions of a history change.
type rows int

const (
	anyRows rows = iota
	oneRow       // a transaction changes one row of the model: it never holds one and waits for another
	ownRow       // a row is changed by the transactions of one client alone: none waits for another one
)

var styles = [...]style{
	{kinds: []Kind{Increment, Increment, Touch, Increment, Upsert, Read, Read, ReadAll, Set, Clamp, Lock, Delete, Insert}},
	{kinds: []Kind{Increment, Touch, Wide, Read, Rename, Set, Double, Clamp, Take, Lock, ReadAll, Read}},
	{kinds: []Kind{Increment, Increment, Upsert, Delete, Insert, Insert, Read, Set, Touch, Mark, Lock}},
	{kinds: []Kind{Increment, Increment, Increment, Touch, Increment, Read, ReadAll, Wide}},
	// Lock first, then increment: on a row of one's own, and on one that others want.
	{
		rows:  ownRow,
		first: []Kind{Lock, Set, Take, Clamp, Evict, Evict},
		kinds: []Kind{Increment, Increment, Increment, Touch, Wide, Read, Fresh, Set},
	},
	{
		rows:  oneRow,
		first: []Kind{Lock, Set, Take, Increment, Increment},
		kinds: []Kind{Increment, Increment, Touch, Wide, Rename, Read, Lock, Set, Take, Fresh},
	},
	// New keys: of one transaction alone, and of several.
	{rows: oneRow, first: []Kind{Fresh}, kinds: []Kind{Fresh, Increment, Fresh, Read}},
	{absent: true, kinds: []Kind{Upsert, Upsert, Upsert, Fresh, Increment, Read, Delete, Lock}},
	// By a condition on the counter, which other clients change.
	{judges: true, kinds: []Kind{Increment, Increment, Rename, Delete, Insert, Read, Touch, Rename, Lock}},
	{
		judges: true,
		rows:   oneRow,
		saves:  true,
		first:  []Kind{Lock, Increment, Read, Rename},
		kinds:  []Kind{Increment, Read, Rename, Rename, Lock, Increment, Set},
	},
	// A row that is locked, counted and read, and part of that undone.
	{rows: oneRow, saves: true, first: []Kind{Lock, Increment}, kinds: []Kind{Increment, Read, Lock, Increment, Read, Set, ReadAll}},
	// What is shared outside transactions, and compare and sets within.
	{auto: true, kinds: []Kind{Swap, Swap, Swap, Mark, Increment, Take, Read}},
	{auto: true, kinds: []Kind{Mark, Mark, Mark, Mark, Read}},
	{kinds: []Kind{Swap, Swap, Mark, Increment, Rename, Read, Lock, Delete, Insert}},
	// A limit that is kept by reading: count, then add elsewhere.
	{serial: true, first: []Kind{Read, Files}, kinds: []Kind{Increment, Increment, File, File, Read, Files, Set}},
}

// bounded are the styles of counters with bounds: many take, and some give or set.
var bounded = [...]style{
	{kinds: []Kind{Take, Take, Take, Clamp, Increment, Read}},
	{rows: oneRow, first: []Kind{Take}, kinds: []Kind{Take, Take, Clamp, Increment, Read, Set, Lock}},
	{kinds: []Kind{Take, Take, Clamp, Increment, Touch, Read, ReadAll, Set, Rename, Double, Delete, Insert}},
	{judges: true, kinds: []Kind{Take, Take, Increment, Rename, Delete, Insert, Read}},
	// A checkout that gives back what it has taken if something else is missing.
	{saves: true, kinds: []Kind{Take, Take, Take, Clamp, Increment, Upsert, Read}},
}

// plan is what the clients of one history are going to do.
func (r *runner) plan(rnd *rand.Rand, number int, mixed bool) (h *History) {
	h = &History{}
	serial := r.dialect == "sqlite" || r.Level == "SERIALIZABLE"
	st := styles[rnd.IntN(len(styles))]
	// With bounds a session of slotsql's own locks rows, too, so that a client may wait for two.
	for st.serial && !serial || st.rows == ownRow && r.Layout.HasBounds() {
		st = styles[rnd.IntN(len(styles))]
	}
	if r.Layout.HasBounds() && rnd.IntN(4) > 0 {
		st = bounded[rnd.IntN(len(bounded))]
	}
	h.Apart = st.rows == ownRow
	for k := range Keys {
		h.Initial[k] = Row{There: rnd.IntN(5) > 0}
		switch {
		case st.absent:
			h.Initial[k].There = rnd.IntN(4) == 0
		case st.rows != anyRows:
			h.Initial[k].There = true
		}
		if h.Initial[k].There {
			h.Initial[k].Views = int32(rnd.IntN(8))
			if r.Layout.HasBounds() && rnd.IntN(3) > 0 { // far enough from the bound for portions
				h.Initial[k].Views += []int32{60, 100, 200, 2000}[rnd.IntN(4)]
				r.stocked[k] = rnd.IntN(Clients)
			}
			h.Initial[k].High, h.Initial[k].Low = 1, -1
		}
	}
	// What is frequent differs from history to history.
	hot := rnd.IntN(3) > 0
	only := rnd.IntN(6) == 0 // one row: no cycle of rows
	tag := int64(100)
	pause := rnd.IntN(3)
	for c := range Clients {
		for n := range 2 + rnd.IntN(3) {
			p := planned{runner: r, number: number, rnd: rnd, style: st, Tx: &Tx{Auto: rnd.IntN(3) == 0}, guest: h.Apart && c >= Keys}
			t := p.Tx
			t.Auto = t.Auto || p.guest || st.auto
			length := 1
			if !t.Auto {
				length += rnd.IntN(4)
				t.Begin = r.begins[rnd.IntN(len(r.begins))]
				if rnd.IntN(5) == 0 {
					t.Outcome = RolledBack
				}
			}
			t.Plain = mixed && c < len(r.plain) && !h.Apart
			t.Pool = t.Auto && !t.Plain && rnd.IntN(2) == 0
			key := rnd.IntN(Keys)
			if h.Apart && !p.guest {
				key = c
			} else if only || hot && rnd.IntN(3) > 0 {
				key = 0
			}
			for range length {
				o := &Op{Kind: p.kind(), Key: key, Form: rnd.IntN(6)}
				if st.rows == anyRows {
					o.Key = rnd.IntN(Keys)
					if only || hot && rnd.IntN(3) > 0 {
						o.Key = 0
					}
				}
				o.N = int32(1 + rnd.IntN(4))
				much := r.Layout.HasBounds() && (o.takes() || o.Kind.additive()) && rnd.IntN(4) == 0
				if much {
					// What slots hold is about all that is left then, and the base value below its bound,
					// where no guard has kept it.
					o.N += int32(rnd.IntN(150))
				}
				o.Mark = int8(rnd.IntN(19) - 9)
				o.Pause = pause * rnd.IntN(20)
				if o.Kind.additive() && o.Kind != Upsert && (rnd.IntN(3) == 0 || much) {
					o.N = -o.N
				}
				switch {
				case o.Kind == Swap:
					o.N = int32(max(n-rnd.IntN(2), 0)) // about what it is by then
				case r.Calls && t.Auto && o.Kind == Increment && rnd.IntN(3) == 0:
					o.Kind = Call
				case o.judges() && !st.judges:
					o.Form -= 3
				case st.judges && (o.Kind == Rename || o.Kind == Delete) && o.Form > 0 && o.Form < 3:
					o.Form += 3
				}
				tag++
				o.Tag = tag
				o.Other = p.other(o, n)
				t.Ops = append(t.Ops, o)
			}
			if r.Layout.HasBounds() && !t.Auto && rnd.IntN(30) == 0 {
				t.Ops[rnd.IntN(length)].Kill = killBefore + rnd.IntN(2)
			}
			h.Clients[c] = append(h.Clients[c], t)
		}
	}
	return h
}

// planned is a transaction that is being made up.
type planned struct {
	*runner
	*Tx
	number int // of the history: no other one has had its new keys, which a process may remember
	rnd    *rand.Rand
	style  style
	guest  bool // of a client that has no row of its own
	fresh  int  // the transaction's new key
}

func (p *planned) kind() Kind {
	pick := func(list []Kind) Kind {
		k := list[p.rnd.IntN(len(list))]
		if k == Lock && p.dialect == "sqlite" {
			k = Read // it has no such lock
		}
		return k
	}
	saved := false
	for _, o := range p.Ops {
		saved = saved || o.Kind == Savepoint
	}
	switch {
	case p.Plain:
		return []Kind{Increment, Wide}[p.rnd.IntN(2)] // nothing but additions to counters
	case p.guest:
		// A client that only adds, in one statement, waits for one row and keeps none from a
		// second one. But it may be the conflict of a snapshot, or come between a
		// reader's shared lock and its change.
		if p.Level != "SERIALIZABLE" && (p.dialect != "postgres" || p.Level == "READ COMMITTED") {
			return pick([]Kind{Read, ReadAll, Fresh, Increment, Increment, Touch})
		}
		return pick([]Kind{Read, ReadAll, Fresh})
	case len(p.Ops) == 0 && p.style.first != nil && p.rnd.IntN(4) > 0:
		return pick(p.style.first)
	case !p.Auto && (p.rnd.IntN(10) == 0 || p.style.saves && p.rnd.IntN(3) == 0):
		if saved {
			return RollbackTo
		}
		return Savepoint
	}
	return pick(p.style.kinds)
}

// other is the row beside the model that a statement is about: a neighbour of the
// n-th transaction's row, or the transaction's new key.
func (p *planned) other(o *Op, n int) int {
	switch o.Kind {
	case Evict:
		return p.id(o.Key) + 1 + n
	case Fresh:
		if p.fresh == 0 {
			p.fresh = firstOf(p.number) + int(o.Tag)
		}
		return p.fresh
	}
	return 0
}

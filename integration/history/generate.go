package history

import "math/rand/v2"

// plan is what the clients of one history are going to do.
func (r *runner) plan(rnd *rand.Rand, mixed bool) (h *History) {
	h = &History{}
	for k := range Keys {
		h.Initial[k] = Row{There: rnd.IntN(5) > 0}
		if h.Initial[k].There {
			h.Initial[k].Views = int32(rnd.IntN(8))
			h.Initial[k].High, h.Initial[k].Low = 1, -1
		}
	}
	// What is frequent differs from history to history.
	style := rnd.IntN(4)
	hot := rnd.IntN(3) > 0
	only := rnd.IntN(6) == 0 // one row: no cycle of rows
	tag := int64(100)
	pause := rnd.IntN(3)
	for c := range Clients {
		for range 2 + rnd.IntN(3) {
			t := &Tx{Auto: rnd.IntN(3) == 0}
			n := 1
			if !t.Auto {
				n += rnd.IntN(4)
				t.Begin = r.begins[rnd.IntN(len(r.begins))]
				if rnd.IntN(5) == 0 {
					t.Outcome = RolledBack
				}
			}
			t.Plain = mixed && c < len(r.plain)
			t.Pool = t.Auto && !t.Plain && rnd.IntN(2) == 0
			saved := false
			for range n {
				o := &Op{Kind: r.kind(rnd, style, t, saved), Key: rnd.IntN(Keys), Form: rnd.IntN(6)}
				if only || hot && rnd.IntN(3) > 0 {
					o.Key = 0
				}
				saved = saved || o.Kind == Savepoint
				o.N = int32(1 + rnd.IntN(4))
				o.Mark = int8(rnd.IntN(19) - 9)
				o.Pause = pause * rnd.IntN(20)
				if o.Kind.additive() && o.Kind != Upsert && rnd.IntN(3) == 0 {
					o.N = -o.N
				}
				tag++
				o.Tag = tag
				t.Ops = append(t.Ops, o)
			}
			h.Clients[c] = append(h.Clients[c], t)
		}
	}
	return h
}

var styles = [...][]Kind{
	{Increment, Increment, Touch, Increment, Upsert, Read, Read, ReadAll, Set, Clamp, Lock, Delete, Insert},
	{Increment, Touch, Wide, Read, Rename, Set, Double, Clamp, Take, Lock, ReadAll, Read},
	{Increment, Increment, Upsert, Delete, Insert, Insert, Read, Set, Touch, Mark, Lock},
	{Increment, Increment, Increment, Touch, Increment, Read, ReadAll, Wide},
}

func (r *runner) kind(rnd *rand.Rand, style int, t *Tx, saved bool) Kind {
	if t.Plain {
		return []Kind{Increment, Touch, Wide}[rnd.IntN(2)*2] // nothing but additions to counters
	}
	if !t.Auto && rnd.IntN(10) == 0 {
		if saved {
			return RollbackTo
		}
		return Savepoint
	}
	list := styles[style]
	k := list[rnd.IntN(len(list))]
	if k == Lock && r.dialect == "sqlite" {
		k = Read // it has no such lock
	}
	return k
}

package history

import "fmt"

// Rows beside the model: neighbours of its rows, which are deleted, and new keys,
// which are upserted, each by one transaction alone. They are there for the locks
// that they take; what becomes of them needs no order of events.

// firstFresh is below all new keys, and above the rows of the model and their
// neighbours.
const firstFresh = 1000

// firstOf is the number before the keys of a history's own rows: no other history has had them.
func firstOf(number int) int { return firstFresh * (1 + number%1_000_000) }

// id is the key that a row of the model has in the database. There is room for
// neighbours between them.
func (r *runner) id(key int) int { return r.before + 10*(key+1) }

// keyOf is the row of the model with that key, if it is one.
func (r *runner) keyOf(id int) (key int, ok bool) {
	id -= r.before
	key = id/10 - 1
	return key, id%10 == 0 && key < Keys
}

// idOf is the key of the row that the statement is about.
func (r *runner) idOf(o *Op) int {
	if o.Other != 0 {
		return o.Other
	}
	return r.id(o.Key)
}

// beside reports whether the statement changes no row of the model.
func (k Kind) beside() bool { return k == Evict || k == Fresh || k == File || k == Files }

// neighbours are the rows beside the model that are there in the beginning.
func (h *History) neighbours() (ids []int) {
	for _, txs := range h.Clients {
		for _, t := range txs {
			for _, o := range t.Ops {
				if o.Kind == Evict {
					ids = append(ids, o.Other)
				}
			}
		}
	}
	return ids
}

// checkBeside looks at the row counts of statements beside the model, and at what
// is left of their rows: those of committed transactions, counted once.
func checkBeside(h *History) error {
	want := map[int]int32{}
	for _, id := range h.neighbours() {
		want[id] = 0
	}
	for c, txs := range h.Clients {
		for n, t := range txs {
			mine, saved := map[int]int32{}, map[int]int32{}
			evicted, wasEvicted := 0, 0
			for _, o := range t.Ops {
				if o.Class != "" {
					break
				}
				affected := int64(1)
				switch o.Kind {
				case Savepoint:
					saved, wasEvicted = clone(mine), evicted
					continue
				case RollbackTo:
					mine, evicted = clone(saved), wasEvicted
					continue
				case Evict:
					if evicted != 0 {
						affected = 0
					}
					evicted = o.Other
				case Fresh:
					if _, there := mine[o.Other]; there && h.Dialect == "mysql" {
						affected = 2
					}
					mine[o.Other] += o.N
				case File:
				default:
					continue
				}
				if o.Affected != affected {
					return fmt.Errorf(
						"client %d tx %d: %s: %d rows are affected, and it can only be %d:\n%s",
						c,
						n,
						o,
						o.Affected,
						affected,
						h,
					)
				}
			}
			if t.Outcome != Committed {
				continue
			}
			for id, views := range mine {
				want[id] = views
			}
			delete(want, evicted)
		}
	}
	for id, views := range want {
		if got, there := h.Others[id]; !there || got != views {
			return fmt.Errorf("key %d: %d in the end (there: %v), want %d:\n%s", id, got, there, views, h)
		}
	}
	if len(h.Others) != len(want) {
		return fmt.Errorf("rows beside the model: %v, want %v:\n%s", h.Others, want, h)
	}
	return nil
}

func clone(m map[int]int32) map[int]int32 {
	out := make(map[int]int32, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

package history

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The histories have what finds faults: each of these is there many times over.
func TestProduced(t *testing.T) {
	t.Parallel()
	const histories = 300
	// A query that locks, writes that drain, and a DELETE of the row's neighbour.
	locks := []Kind{Lock, Set, Take, Clamp, Evict}
	for _, dialect := range []string{"mysql", "postgres"} {
		r := &runner{dialect: dialect, Options: Options{Dialect: dialect, Level: "READ COMMITTED", Calls: true}, begins: []string{"BEGIN"}}
		locked, apart, fresh, upserted, judged := 0, 0, 0, 0, 0
		alone := map[Kind]int{} // outside transactions
		for number := range histories {
			h := r.plan(rand.New(rand.NewPCG(1, uint64(number))), number, false)
			rows := map[int]bool{} // that are locked first and counted then
			for _, txs := range h.Clients {
				for _, tx := range txs {
					if slices.ContainsFunc(tx.Ops, (*Op).judges) {
						judged++
					}
					if tx.Auto {
						alone[tx.Ops[0].Kind]++
						continue
					}
					lock := slices.IndexFunc(tx.Ops, func(o *Op) bool { return slices.Contains(locks, o.Kind) })
					inc := slices.IndexFunc(tx.Ops, func(o *Op) bool { return o.Kind.additive() })
					if lock == 0 && inc > 0 && tx.Ops[lock].Key == tx.Ops[inc].Key {
						locked++
						rows[tx.Ops[lock].Key] = true
					}
					if slices.ContainsFunc(tx.Ops, func(o *Op) bool { return o.Kind == Fresh }) {
						fresh++
					}
					if slices.ContainsFunc(tx.Ops, func(o *Op) bool { return o.Kind == Upsert && !h.Initial[o.Key].There }) {
						upserted++
					}
				}
			}
			if h.Apart && len(rows) > 1 {
				apart++
			}
		}
		for what, n := range map[string]int{
			"transactions lock a row and then increment it":     locked,
			"histories do that with a row of each client's own": apart,
			"transactions insert a new key of their own":        fresh,
			"transactions upsert a key that others upsert, too": upserted,
			"transactions find a row by its counter":            judged,
			"statements by themselves expect a version":         alone[Swap],
			"statements by themselves set seen alone":           alone[Mark],
			"statements by themselves call a function":          alone[Call],
		} {
			if t.Logf("%s: %d %s", dialect, n, what); n < histories/25 {
				t.Errorf("%s: only %d %s", dialect, n, what)
			}
		}
	}
}

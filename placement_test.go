package slotsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A slot of a row has one holder at a time, and is given out again; the lowest
// that is free comes first.
func TestPlacementTakes(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 3, 64, 200} {
		p := newPlacement()
		keys := []rowKey{{table: "a", values: "1"}, {table: "a", values: "2"}, {table: "b", values: "1"}, {table: "a", values: "1", node: 1}}
		holders := map[rowKey][]atomic.Int32{}
		for _, k := range keys {
			holders[k] = make([]atomic.Int32, slots)
		}
		var wg sync.WaitGroup
		for client := range 12 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(1, uint64(client)))
				for range 500 {
					k := keys[rnd.IntN(len(keys))]
					i := p.take(k, slots)
					if i < 0 {
						if slots >= 12 {
							t.Error("no slot, where there are more than clients")
						}
						continue
					}
					if n := holders[k][i].Add(1); n != 1 || i >= max(slots, 12) || slots >= 12 && i >= 12 {
						t.Errorf("slot %d of %d has %d holders", i, slots, n)
					}
					holders[k][i].Add(-1)
					p.give(k, i)
				}
			})
		}
		wg.Wait()
		if n := p.held(); n != 0 {
			t.Errorf("%d rows have slots held by nobody", n)
		}
		for want := range slots {
			if got := p.take(keys[0], slots); got != want {
				t.Errorf("slot %d, want %d", got, want)
			}
		}
		if got := p.take(keys[0], slots); got != -1 {
			t.Errorf("slot %d, where all are held", got)
		}
		p.give(keys[0], slots-1)
		p.give(keys[0], 0)
		if got := p.take(keys[0], slots); got != 0 {
			t.Errorf("slot %d is taken before slot 0", got)
		}
	}
}

// Transactions that are open at the same time count in slots of their own
// while there are enough, and in any slot of the table where there are not.
func TestTransactionsHoldSlots(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{64, 5} {
		server := &fakeServer{}
		wrapped := wrap(t, fakeConnector{server: server}, probing, fmt.Sprintf("version: 1\ntables: {posts: {counters: {views: {}}, slots: %d}}\n", slots))
		db := sql.OpenDB(wrapped)
		defer db.Close()
		conn, err := db.Conn(t.Context()) // learns the schema
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		server.arm(nil)
		var txs []*sql.Tx
		for range 16 {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			txs = append(txs, tx)
			for range 2 { // in the same slot
				if _, err := tx.ExecContext(t.Context(), increment); err != nil {
					t.Fatal(err)
				}
			}
		}
		seen := map[int64]int{}
		for _, args := range server.args {
			if len(args) > 0 {
				if n, ok := args[0].Value.(int64); ok {
					seen[n]++
				}
			}
		}
		for slot, n := range seen {
			if slot < 0 || slot >= int64(slots) || slots >= 16 && n != 2 {
				t.Errorf("of %d: slot %d is written %d times", slots, slot, n)
			}
		}
		if len(seen) != min(slots, 16) {
			t.Errorf("of %d: slots %v", slots, seen)
		}
		for i, tx := range txs {
			if i%2 == 0 {
				_ = tx.Commit()
			} else {
				_ = tx.Rollback()
			}
		}
		if n := wrapped.shared.placement.held(); n != 0 {
			t.Errorf("%d rows have slots that ended transactions hold", n)
		}
	}
}

// However a statement or a transaction ends, nothing is left held.
func TestPlacementGivesBack(t *testing.T) {
	t.Parallel()
	inTx := func(end func(*sql.Tx) error) func(context.Context, *sql.DB) error {
		return func(ctx context.Context, db *sql.DB) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(ctx, increment); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, strings.Replace(increment, "id = 1", "id = 2", 1)); err != nil {
				return err
			}
			return end(tx)
		}
	}
	whole := map[string]scenario{
		"commit":   {run: inTx((*sql.Tx).Commit)},
		"rollback": {run: inTx((*sql.Tx).Rollback)},
		"texts": {run: func(ctx context.Context, db *sql.DB) error {
			c, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer c.Close()
			for _, text := range []string{"BEGIN", increment, "COMMIT"} {
				if _, err := c.ExecContext(ctx, text); err != nil {
					return err
				}
			}
			return nil
		}},
		"connection dropped": {run: func(ctx context.Context, db *sql.DB) error {
			c, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer c.Close()
			for _, text := range []string{"BEGIN", increment} {
				if _, err := c.ExecContext(ctx, text); err != nil {
					return err
				}
			}
			return c.Raw(func(any) error { return driver.ErrBadConn })
		}},
	}
	for name, sc := range scenarios {
		if strings.Contains(name, "increment") || name == "fallback" {
			whole[name] = sc
		}
	}
	for way, d := range ways {
		for name, sc := range whole {
			server := &fakeServer{affected: sc.affected}
			db := openFaulty(t, d, server)
			server.arm(nil)
			if err := sc.run(t.Context(), db); err != nil && name != "connection dropped" {
				t.Fatalf("%s, %s: %v", way, name, err)
			}
			for k, text := range server.ran() {
				for kind, f := range faults {
					if word, _, _ := strings.Cut(text, " "); strings.HasPrefix(kind, "hang") && (word == "COMMIT" || word == "ROLLBACK") && (name == "commit" || name == "rollback") {
						continue // a driver.Tx has no context
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%d", way, name, kind, k), func(t *testing.T) {
						t.Parallel()
						server := &fakeServer{affected: sc.affected}
						db := openFaulty(t, d, server)
						var p *placement
						if err := withConn(t, db, func(c *conn) { p = c.shared.placement }); err != nil {
							t.Fatal(err)
						}
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						server.arm(func(step int, _ string) *misfortune {
							if step == k {
								time.AfterFunc(20*time.Millisecond, cancel) // of what hangs
								return f(cancel)
							}
							return nil
						})
						_ = sc.run(ctx, db)
						// database/sql may be about to roll back what the context has ended.
						// A connection that is idle may hold slots until it is used.
						_ = db.Close()
						for limit := time.Now().Add(time.Minute); p.held() > 0; time.Sleep(time.Millisecond) {
							if time.Now().After(limit) {
								t.Fatalf("%d rows have slots that nobody can give back", p.held())
							}
						}
					})
				}
			}
		}
	}
}

// After a roll-up that has deleted what it has emptied, rows are made again at
// once; one that is gone by a drain says nothing of the others.
func TestPlacementMisses(t *testing.T) {
	p := newPlacement()
	row := func(table string, i int) slotRow { return slotRow{row: rowKey{table: table, values: fmt.Sprint(i)}} }
	for i := range 100 {
		p.learn(row("posts", i))
		p.learn(row("users", i))
	}
	known := func(table string) (n int) {
		for i := range 100 {
			if p.knows(row(table, i)) {
				n++
			}
		}
		return n
	}
	for i := range 50 {
		p.miss(row("posts", i))
		p.met("posts")
	}
	if n := known("posts"); n != 50 {
		t.Errorf("%d of 50 are known, after each of the others has gone by itself", n)
	}
	for i := range manyMissed {
		p.miss(row("posts", 50+i))
	}
	if n, others := known("posts"), known("users"); n != 0 || others != 100 {
		t.Errorf("%d are known after %d have gone together, and %d of another table", n, manyMissed, others)
	}
}

package session

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

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/slots"
)

// A slot of a row has one holder at a time, and is given out again; the lowest
// that is free comes first.
func TestPlacementTakes(t *testing.T) {
	t.Parallel()
	for _, table := range []int{1, 3, 64, 200} {
		p := slots.NewPlacement()
		keys := []slots.RowKey{
			{Table: "a", Values: "1"},
			{Table: "a", Values: "2"},
			{Table: "b", Values: "1"},
			{Table: "a", Values: "1", Node: 1},
		}
		holders := map[slots.RowKey][]atomic.Int32{}
		for _, k := range keys {
			holders[k] = make([]atomic.Int32, table)
		}
		var wg sync.WaitGroup
		for client := range 12 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(1, uint64(client)))
				for range 500 {
					k := keys[rnd.IntN(len(keys))]
					i := p.Take(k, table)
					if i < 0 {
						if table >= 12 {
							t.Error("no slot, where there are more than clients")
						}
						continue
					}
					if n := holders[k][i].Add(1); n != 1 || i >= max(table, 12) || table >= 12 && i >= 12 {
						t.Errorf("slot %d of %d has %d holders", i, table, n)
					}
					holders[k][i].Add(-1)
					p.Give(k, i)
				}
			})
		}
		wg.Wait()
		if n := p.Held(); n != 0 {
			t.Errorf("%d rows have slots that no session holds", n)
		}
		for want := range table {
			if got := p.Take(keys[0], table); got != want {
				t.Errorf("slot %d, want %d", got, want)
			}
		}
		if got := p.Take(keys[0], table); got != -1 {
			t.Errorf("slot %d, where all are held", got)
		}
		p.Give(keys[0], table-1)
		p.Give(keys[0], 0)
		if got := p.Take(keys[0], table); got != 0 {
			t.Errorf("slot %d is taken before slot 0", got)
		}
	}
}

// Transactions that are open at the same time count in slots of their own
// while there are enough, and in any slot of the table where there are not.
func TestTransactionsHoldSlots(t *testing.T) {
	t.Parallel()
	for _, table := range []int{64, 5} {
		server := &fake.Server{}
		wrapped := wrap(
			t,
			fake.Connector{Server: server},
			fake.Probing,
			fmt.Sprintf("version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}, slots: %d}}\n", table),
		)
		db := sql.OpenDB(wrapped)
		defer db.Close()
		conn, err := db.Conn(t.Context()) // learns the schema
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		server.Arm(nil)
		var txs []*sql.Tx
		for range 16 {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			txs = append(txs, tx)
			for range 2 { // in the same slot
				if _, err := tx.ExecContext(t.Context(), incrementSQL); err != nil {
					t.Fatal(err)
				}
			}
		}
		seen := map[int64]int{}
		for _, args := range server.Args {
			if len(args) > 0 {
				if n, ok := args[0].Value.(int64); ok {
					seen[n]++
				}
			}
		}
		for slot, n := range seen {
			if slot < 0 || slot >= int64(table) || table >= 16 && n != 2 {
				t.Errorf("of %d: slot %d is written %d times", table, slot, n)
			}
		}
		if len(seen) != min(table, 16) {
			t.Errorf("of %d: slots %v", table, seen)
		}
		for i, tx := range txs {
			if i%2 == 0 {
				_ = tx.Commit()
			} else {
				_ = tx.Rollback()
			}
		}
		if n := wrapped.shared.placement.Held(); n != 0 {
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
			if _, err := tx.ExecContext(ctx, incrementSQL); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, strings.Replace(incrementSQL, "id = 1", "id = 2", 1)); err != nil {
				return err
			}
			return end(tx)
		}
	}
	whole := map[string]scenario{
		"commit":   {run: inTx((*sql.Tx).Commit)},
		"rollback": {run: inTx((*sql.Tx).Rollback)},
		"SQL": {run: func(ctx context.Context, db *sql.DB) error {
			c, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer c.Close()
			for _, query := range []string{"BEGIN", incrementSQL, "COMMIT"} {
				if _, err := c.ExecContext(ctx, query); err != nil {
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
			for _, query := range []string{"BEGIN", incrementSQL} {
				if _, err := c.ExecContext(ctx, query); err != nil {
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
	for way, d := range fake.Ways {
		for name, sc := range whole {
			server := &fake.Server{Affected: sc.affected}
			db := openFake(t, d, fake.Connector{Server: server})
			server.Arm(nil)
			if err := sc.run(t.Context(), db); err != nil && name != "connection dropped" {
				t.Fatalf("%s, %s: %v", way, name, err)
			}
			for k, query := range server.Ran() {
				for kind, f := range faults {
					if word, _, _ := strings.Cut(
						query,
						" ",
					); strings.HasPrefix(kind, "hang") && (word == "COMMIT" || word == "ROLLBACK") &&
						(name == "commit" || name == "rollback") {
						continue // a driver.Tx has no context
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%d", way, name, kind, k), func(t *testing.T) {
						t.Parallel()
						server := &fake.Server{Affected: sc.affected}
						db := openFaulty(t, d, server)
						var p *slots.Placement
						if err := withConn(t, db, func(c *Conn) { p = c.Shared.placement }); err != nil {
							t.Fatal(err)
						}
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						server.Arm(func(step int, _ string) *fake.Misfortune {
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
						for limit := time.Now().Add(time.Minute); p.Held() > 0; time.Sleep(time.Millisecond) {
							if time.Now().After(limit) {
								t.Fatalf("%d rows have slots that no session can give back", p.Held())
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
	p := slots.NewPlacement()
	row := func(table string, i int) slots.SlotRow {
		return slots.SlotRow{Row: slots.RowKey{Table: table, Values: fmt.Sprint(i)}}
	}
	for i := range 100 {
		p.Learn(row("posts", i))
		p.Learn(row("users", i))
	}
	known := func(table string) (n int) {
		for i := range 100 {
			if p.Knows(row(table, i)) {
				n++
			}
		}
		return n
	}
	for i := range 50 {
		p.NoteMissing(row("posts", i))
		p.NoteFound("posts")
	}
	if n := known("posts"); n != 50 {
		t.Errorf("%d of 50 are known, after each of the others has gone by itself", n)
	}
	for i := range slots.ManyMissed {
		p.NoteMissing(row("posts", 50+i))
	}
	if n, others := known("posts"), known("users"); n != 0 || others != 100 {
		t.Errorf("%d are known after %d have gone together, and %d of another table", n, slots.ManyMissed, others)
	}
}

package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

const stockRows = 12

// ofMany makes a table of rows that many callers count at the same time.
func ofMany(t *testing.T, dialect, slots string) *twin.Pair {
	t.Helper()
	params := ""
	if dialect == "sqlite" {
		params = "_txlock=immediate"
	}
	var rows string
	for id := range stockRows {
		rows += fmt.Sprintf(", (%d, 0, 0)", id+1)
	}
	p := twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, small SMALLINT NOT NULL)",
			"INSERT INTO stock VALUES" + rows[1:],
		},
		Config: "version: 1\nauto_migrate: true\ntables: {stock: {counters: {n: {}, small: {}}" + slots + "}}\n",
		Params: params,
	})
	p.Wrapped.SetMaxOpenConns(clients)
	p.Wrapped.SetMaxIdleConns(clients)
	return p
}

func forMany(t *testing.T, f func(t *testing.T, dialect string, p *twin.Pair)) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		for name, slots := range map[string]string{"none": ", slots: 0", "slots": ", slots: 8, placement: adaptive"} {
			t.Run(dialect+"/"+name, func(t *testing.T) { f(t, dialect, ofMany(t, dialect, slots)) })
		}
	}
}

func ofEngine(dialect, mysql, postgres string) string {
	if dialect == "postgres" {
		return postgres
	}
	return mysql
}

// Increments of many rows that share statements are each counted once, rows that come and
// go among them, beside transactions that take rows in any order: none of them is chosen
// as deadlock victim that would not be with the plain driver.
func TestGroupedManyRows(t *testing.T) {
	forMany(t, func(t *testing.T, dialect string, p *twin.Pair) {
		count := ofEngine(dialect, "UPDATE stock SET n = n + ? WHERE id = ?", "UPDATE stock SET n = n + $1 WHERE id = $2")
		var counted [stockRows + 2]atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var beside sync.WaitGroup
		beside.Go(func() { // one at a time, and so never a deadlock by itself
			for i := 0; ctx.Err() == nil; i++ {
				a, b := int64(1+i%stockRows), int64(1+(i*7+3)%stockRows)
				if err := inTwoRows(p, count, a, b); err != nil {
					t.Errorf("a transaction of rows %d and %d: %v", a, b, err)
					return
				}
				counted[a].Add(1)
				counted[b].Add(1)
			}
		})
		beside.Go(func() { // the last row comes and goes
			for ctx.Err() == nil {
				for _, q := range []string{"INSERT INTO stock VALUES (13, 0, 0)", "DELETE FROM stock WHERE id = 13"} {
					if _, err := p.Under.Exec(q); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		crowd(t, 150, func(ctx context.Context, caller, i int) error {
			id, n := int64(1+rand.IntN(stockRows+1)), int64(1+i%3)
			if caller%2 == 0 {
				id = 1 + id%3
			}
			res, err := p.Wrapped.ExecContext(ctx, count, n, id)
			if err != nil {
				return err
			}
			affected, err := res.RowsAffected()
			if affected != 1 && id <= stockRows || affected > 1 {
				return fmt.Errorf("%d rows affected of row %d", affected, id)
			}
			counted[id].Add(n * affected)
			return err
		})
		stop()
		beside.Wait()
		for id := 1; id <= stockRows; id++ {
			if got, want := value(t, p.Wrapped, fmt.Sprintf("SELECT n FROM stock WHERE id = %d", id)), fmt.Sprint(counted[id].Load()); got != want {
				t.Errorf("row %d: total %s, want %s", id, got, want)
			}
		}
	})
}

// inTwoRows counts two rows in a transaction of a plain client.
func inTwoRows(p *twin.Pair, count string, a, b int64) error {
	tx, err := p.Under.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed
	for _, id := range []int64{a, b} {
		if _, err := tx.Exec(count, 1, id); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// A row that is full refuses its own members, and no others.
func TestGroupedManyRowsRange(t *testing.T) {
	forMany(t, func(t *testing.T, dialect string, p *twin.Pair) {
		if dialect == "sqlite" {
			return // its integers are not narrow
		}
		if _, err := p.Under.Exec("UPDATE stock SET small = 32700 WHERE id = 2"); err != nil {
			t.Fatal(err)
		}
		var full, others atomic.Int64
		count := ofEngine(dialect, "UPDATE stock SET small = small + 1 WHERE id = ?", "UPDATE stock SET small = small + 1 WHERE id = $1")
		crowd(t, 60, func(ctx context.Context, caller, i int) error {
			id := 1 + (caller+i)%6
			_, err := p.Wrapped.ExecContext(ctx, count, id)
			switch {
			case err == nil && id == 2:
				full.Add(1)
			case err == nil:
				others.Add(1)
			case id != 2:
				return err
			}
			return nil
		})
		if got, want := value(t, p.Under, "SELECT small FROM stock WHERE id = 2"), "32767"; got != want || full.Load() != 67 {
			t.Errorf("%s in the row that is full, and %d were counted", got, full.Load())
		}
		if got, want := value(t, p.Wrapped, "SELECT SUM(small) FROM stock WHERE id <> 2"), fmt.Sprint(others.Load()); got != want || others.Load() != clients*50 {
			t.Errorf("%s in others, %s were counted", got, want)
		}
	})
}

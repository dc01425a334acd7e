package tickets

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
)

// Several processes draw, in transactions and outside, some of which roll back, beside a plain
// client: no number is given twice, and the base row is at or above them all.
func TestUnique(t *testing.T) {
	for _, block := range []string{"1", "2", "1000"} {
		t.Run("block "+block, func(t *testing.T) {
			each(t, func(t *testing.T, dialect string) {
				before := fromBlocks()
				o := open(t, dialect, "BIGINT NOT NULL", block, 3)
				each := 60
				if dialect == "sqlite" {
					each = 25
				}
				var wg sync.WaitGroup
				for process, db := range o.processes {
					for client := range 6 {
						wg.Go(func() {
							for i := range each {
								if err := o.work(db, client+i); err != nil {
									t.Errorf("process %d: %v", process, err)
									return
								}
							}
						})
					}
				}
				wg.Go(func() {
					for range each {
						from := time.Now()
						n, err := o.draw(t.Context(), o.p.Under, 1)
						if err != nil {
							t.Error(err)
							return
						}
						o.note("plain", from, n)
						time.Sleep(time.Millisecond)
					}
				})
				wg.Wait()
				o.check()
				base := o.base()
				for _, d := range o.drawn {
					if d.n > base || d.n < 1 {
						t.Errorf("%s: %d was given, and the base row has %d", d.how, d.n, base)
					}
				}
				if block == "1000" && fromBlocks() == before {
					t.Error("no number came from a block")
				}
			})
		})
	}
}

// fromBlocks is how many numbers of this process came from blocks.
func fromBlocks() (n uint64) {
	for _, s := range slotsql.Stats() {
		n += s.Tickets
	}
	return n
}

// work draws a number, in one of several ways.
func (o *office) work(db *sql.DB, how int) error {
	ctx, from := o.t.Context(), time.Now()
	draw, name := o.draw, "update"
	if how%5 == 4 {
		draw, name = o.upsert, "upsert"
	}
	if how%3 == 0 {
		n, err := draw(ctx, db, 1)
		if err == nil {
			o.note(name, from, n)
		}
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if how%7 == 0 { // the row is the transaction's own before it draws, and after
		if _, err := tx.ExecContext(ctx, "UPDATE queues SET name = 'b' WHERE id = 1"); err != nil {
			return err
		}
	}
	type number struct {
		from time.Time
		n    int64
	}
	var numbers []number
	for range 1 + how%2 {
		from = time.Now()
		n, err := draw(ctx, tx, 1)
		if err != nil {
			return err
		}
		numbers = append(numbers, number{from, n})
		if _, err := tx.ExecContext(ctx, o.sql("INSERT INTO orders VALUES (1, ?)"), n); err != nil {
			return err
		}
	}
	if how%4 == 1 { // what it has drawn from the base row is given again, as plain
		return tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, x := range numbers {
		o.note(name+" in a transaction", x.from, x.n)
	}
	return nil
}

// A counter that is set lower, and a row that is deleted and inserted again, while blocks are
// out: after that no number is given that the base row has not passed again.
func TestSetLower(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for name, reset := range map[string][]string{
			"set":                   {"UPDATE queues SET next = 5 WHERE id = 1"},
			"less":                  {"UPDATE queues SET next = next - 40 WHERE id = 1"},
			"drained, beside slots": {"UPDATE queues SET next = 5, views = 0 WHERE id = 1"},
			"deleted, beside slots": {"DELETE FROM queues WHERE id = 1", "INSERT INTO queues (id, next) VALUES (1, 5)"},
			"replace":               {"DELETE FROM queues WHERE id = 1", "INSERT INTO queues (id, next) VALUES (1, 5)"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				block := "50"
				if strings.Contains(name, "beside") {
					block += " beside slots"
				}
				o := open(t, dialect, "BIGINT NOT NULL", block, 3)
				if name == "less" { // LAST_INSERT_ID takes no number below zero, however slowly they are drawn
					o.exec(o.processes[0], "UPDATE queues SET next = 1000 WHERE id = 1")
				}
				var stop atomic.Bool
				var wg sync.WaitGroup
				for _, db := range o.processes {
					for client := range 3 {
						wg.Go(func() {
							for i := client; !stop.Load(); i++ {
								err := o.below(db, i%2 == 0)
								if err != nil && !errors.Is(err, sql.ErrNoRows) {
									t.Error(err)
									return
								}
							}
						})
					}
				}
				if strings.Contains(name, "beside") {
					wg.Go(func() {
						for i := 0; !stop.Load(); i++ {
							o.exec(o.processes[i%3], "UPDATE queues SET views = views + 1 WHERE id = 1")
							time.Sleep(5 * time.Millisecond)
						}
					})
				}
				for i := range 4 {
					time.Sleep(150 * time.Millisecond)
					from := time.Now()
					o.reset(i, reset)
					o.mu.Lock()
					o.resets = append(o.resets, span{from, time.Now()})
					o.mu.Unlock()
				}
				for limit := time.Now().Add(2 * time.Minute); ; {
					time.Sleep(100 * time.Millisecond)
					if o.has(20) {
						break
					}
					if time.Now().After(limit) || t.Failed() {
						t.Error("hardly any number was given")
						break
					}
				}
				stop.Store(true)
				wg.Wait()
				o.check()
			})
		}
	})
}

// reset sets the counter lower in another process than those that have blocks.
func (o *office) reset(i int, statements []string) {
	o.t.Helper()
	db := o.processes[i%len(o.processes)]
	if i%2 == 0 && len(statements) == 1 {
		o.exec(db, statements[0])
		return
	}
	tx, err := db.BeginTx(o.t.Context(), nil)
	if err != nil {
		o.t.Fatal(err)
	}
	defer tx.Rollback()
	for _, s := range statements {
		o.exec(tx, s)
	}
	if err := tx.Commit(); err != nil {
		o.t.Fatal(err)
	}
}

// below draws, and looks whether the base row is at or above the number, unless the counter
// was set meanwhile.
func (o *office) below(db *sql.DB, inTx bool) error {
	ctx, from := o.t.Context(), time.Now()
	var n int64
	var err error
	if inTx {
		tx, terr := db.BeginTx(ctx, nil)
		if terr != nil {
			return terr
		}
		if n, err = o.draw(ctx, tx, 1); err != nil {
			_ = tx.Rollback()
			return err
		}
		err = tx.Commit()
	} else {
		n, err = o.draw(ctx, db, 1)
	}
	if err != nil {
		return err
	}
	o.note("draw", from, n)
	var base int64
	if err := o.p.Under.QueryRowContext(ctx, "SELECT next FROM queues WHERE id = 1").Scan(&base); err != nil {
		return err
	}
	if n <= base {
		return nil
	}
	looked := time.Now()
	time.Sleep(700 * time.Millisecond) // until a reset that was under way has been noted
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.resets {
		if !r.to.Before(from) && !r.from.After(looked) {
			return nil
		}
	}
	return fmt.Errorf("%d was given, and the base row has %d", n, base)
}

package galera

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A transaction that the node rolls back while a statement is being prepared is
// gone without a word from the node. A drain must not go on without it.
func TestLostAtPreparation(t *testing.T) {
	d := newDatabase(t, true)
	ways["a connector per node"](t, d, "")
	ctx := t.Context()
	told := 0
	for range 150 {
		tx, err := d.dbs[0].BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.ExecContext(ctx, "UPDATE pages SET views = 5 WHERE id = ?", 1)
		done := make(chan error, 1)
		go func() {
			time.Sleep(rand.N(4 * time.Millisecond))
			_, err := d.dbs[1].ExecContext(ctx, "UPDATE pages SET title = CONCAT('t', ?) WHERE id = 1", rand.Int64())
			done <- err
		}()
		for i := 0; err == nil && i < 30; i++ {
			var views, open int
			if err = tx.QueryRowContext(ctx, "SELECT views FROM pages WHERE id = ? FOR UPDATE", 2).Scan(&views); err != nil {
				break
			}
			if err = tx.QueryRowContext(ctx, "SELECT @@in_transaction").Scan(&open); err == nil && open == 0 {
				t.Fatal("a drain goes on without its transaction")
			}
		}
		if err != nil {
			told++
		}
		_ = tx.Rollback()
		var f failures
		if err := <-done; err != nil {
			f.add(err)
		}
		if err != nil {
			f.add(err)
		}
		if f.other != nil {
			t.Fatal(f.other)
		}
	}
	if told == 0 {
		t.Error("no transaction has been rolled back")
	}
}

package bounded

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// store is a table of a stock of which transactions take portions.
func store(t testing.TB, dialect, placement string, units int) *twin.Pair {
	t.Helper()
	return storeWith(t, dialect, placement, units, "")
}

// impatient is a store whose sessions wait for a lock for a second.
func impatient(t testing.TB, dialect string) *twin.Pair {
	t.Helper()
	params := map[string]string{"mysql": "innodb_lock_wait_timeout=1", "postgres": "lock_timeout=1s"}
	return storeWith(t, dialect, "connection", 1000, params[dialect])
}

func storeWith(t testing.TB, dialect, placement string, units int, params string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect, Params: params,
		Schema: []string{
			"CREATE TABLE items (id INT PRIMARY KEY, stock BIGINT NOT NULL)",
			fmt.Sprintf("INSERT INTO items VALUES (1, %d), (2, 5)", units),
			"CREATE TABLE orders (id INT NOT NULL, client INT NOT NULL)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: " + placement + "}\n" +
			"tables: {items: {counters: {stock: {min: 0}}}}\n",
	})
}

func number(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// take begins a transaction that takes units of the first item, and has it affect one row.
func take(t *testing.T, db *sql.DB, units int) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if n := affected(t, tx, fmt.Sprintf("UPDATE items SET stock = stock - %d WHERE id = 1 AND stock >= %d", units, units)); n != 1 {
		t.Fatalf("%d rows affected", n)
	}
	return tx
}

// On a busy machine a portion, or the base value beside it, may take longer than a statement
// waits for it, which then takes from the base row as if there were no portions. What
// follows tries until that has not happened.

// withPortion takes units until a slot holds a portion, and returns how many.
func withPortion(t *testing.T, p *twin.Pair) (taken int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err := take(t, p.Wrapped, 1).Commit(); err != nil {
			t.Fatal(err)
		}
		taken++
		if number(t, p.Under, slotStock) > 0 {
			return taken
		}
		if time.Now().After(deadline) {
			t.Fatal("no portion was moved")
		}
	}
}

// sideBySide returns transactions that have each taken units, of a store that is impatient.
func sideBySide(t *testing.T, db *sql.DB, n, units int) []*sql.Tx {
	t.Helper()
	return sideBySideWith(t, db, n, fmt.Sprintf("UPDATE items SET stock = stock - %d WHERE id = 1 AND stock >= %d", units, units))
}

// sideBySideWith is sideBySide for a statement.
func sideBySideWith(t *testing.T, db *sql.DB, n int, q string) []*sql.Tx {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var open []*sql.Tx
		var err error
		for len(open) < n && err == nil {
			var tx *sql.Tx
			if tx, err = db.BeginTx(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			open = append(open, tx)
			_, err = tx.ExecContext(t.Context(), q)
		}
		if err == nil {
			return open
		}
		for _, tx := range open {
			_ = tx.Rollback()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d transactions never took side by side: %v", n, err)
		}
	}
}

func affected(t *testing.T, tx *sql.Tx, query string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := tx.ExecContext(ctx, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	baseStock = "SELECT stock FROM items WHERE id = 1"
	slotStock = "SELECT COALESCE(SUM(stock), 0) FROM items_slots WHERE id = 1"
)

// Transactions that take from a stock do not wait for one another.
func TestPortionsDoNotWait(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := impatient(t, dialect)
		open := sideBySide(t, p.Wrapped, 3, 2) // each would wait for the one before
		if base := number(t, p.Under, baseStock); base == 1000 {
			t.Error("no portion has left the base row")
		}
		if n := number(t, p.Wrapped, baseStock); n != 1000 {
			t.Errorf("%d are left before a commit", n)
		}
		for i, tx := range open {
			end := tx.Commit
			if i == 1 {
				end = tx.Rollback
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
		}
		if n := number(t, p.Wrapped, baseStock); n != 996 {
			t.Errorf("%d are left", n)
		}
		if base, inSlots := number(t, p.Under, baseStock), number(t, p.Under, slotStock); base+inSlots != 996 {
			t.Errorf("%d in the base row and %d in slots", base, inSlots)
		}
	})
}

// A base row that another session has locked does not delay a statement that takes from a slot.
func TestPortionsPassALockedRow(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := impatient(t, dialect)
		taken := withPortion(t, p)
		holder, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = holder.Rollback() }()
		affected(t, holder, "UPDATE items SET stock = stock + 1 WHERE id = 1")
		for range 3 {
			if err := sideBySide(t, p.Wrapped, 1, 1)[0].Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if err := holder.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := number(t, p.Wrapped, baseStock); n != 998-taken {
			t.Errorf("%d are left of %d", n, 998-taken)
		}
	})
}

// What slots hold is found by each statement that needs all of it: one that wants more than the
// base row has, one that sets the total, and one of another process.
func TestPortionsAreFolded(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := store(t, dialect, "connection", 1000)
		if err := take(t, p.Wrapped, 1).Commit(); err != nil {
			t.Fatal(err)
		}
		tx := take(t, p.Wrapped, 999) // all that is left
		if n := affected(t, tx, "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0"); n != 0 {
			t.Errorf("%d rows affected when none is left", n)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if n := number(t, p.Wrapped, baseStock); n != 999 {
			t.Errorf("%d are left after a rollback", n)
		}
		if err := take(t, p.Wrapped, 1).Commit(); err != nil {
			t.Fatal(err)
		}
		mustExec(t, p.Wrapped, t.Context(), "UPDATE items SET stock = 50 WHERE id = 1")
		if n := number(t, p.Wrapped, baseStock); n != 50 {
			t.Errorf("%d after it was set to 50", n)
		}
		tx = take(t, p.Wrapped, 50)
		if n := affected(t, tx, "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock - 1 >= 0"); n != 0 {
			t.Errorf("%d rows affected when none is left", n)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		mustExec(t, p.Wrapped, t.Context(), "UPDATE items SET stock = stock + 400 WHERE id = 1")
		if err := take(t, p.Wrapped, 400).Commit(); err != nil {
			t.Fatal(err)
		}
		if n := number(t, p.Wrapped, baseStock); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// A base value below its bound, as a statement without a guard leaves it, takes from what
// slots hold: no guard is satisfied by a slot alone.
func TestPortionsBesideANegativeBase(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := store(t, dialect, "connection", 1000)
		withPortion(t, p)
		base, inSlots := number(t, p.Under, baseStock), number(t, p.Under, slotStock)
		mustExec(t, p.Under, t.Context(), fmt.Sprintf("UPDATE items SET stock = stock - %d WHERE id = 1", base+inSlots-1)) // one is left
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if n := affected(t, tx, "UPDATE items SET stock = stock - 2 WHERE id = 1 AND stock >= 2"); n != 0 {
			t.Errorf("%d rows affected: 2 taken of 1", n)
		}
		if n := affected(t, tx, "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock >= 1"); n != 1 {
			t.Errorf("%d rows affected: the last one was refused", n)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := number(t, p.Wrapped, baseStock); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// A savepoint gives back what was taken after it, and the transaction reads what it has left.
func TestPortionsAndSavepoints(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := store(t, dialect, "connection", 1000)
		tx := take(t, p.Wrapped, 1)
		affected(t, tx, "SAVEPOINT one")
		if n := affected(t, tx, "UPDATE items SET stock = stock - 3 WHERE id = 1 AND stock > 3"); n != 1 {
			t.Errorf("%d rows affected", n)
		}
		affected(t, tx, "ROLLBACK TO SAVEPOINT one")
		var left int
		if err := tx.QueryRow(baseStock).Scan(&left); err != nil || left != 999 {
			t.Errorf("%d are left, %v", left, err)
		}
		if n := affected(t, tx, "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0"); n != 1 {
			t.Errorf("%d rows affected", n)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := number(t, p.Wrapped, baseStock); n != 998 {
			t.Errorf("%d are left", n)
		}
	})
}

// 64 clients race for the last 1,000 units beside one that restocks and takes back, roll-ups,
// drains and sets to the same total, and none is oversold or refused while there is some.
func TestPortionsRace(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, placement := range []string{"adaptive", "connection"} {
			t.Run(placement, func(t *testing.T) {
				const units = 1000
				p := store(t, dialect, placement, units)
				connector, stop, beside := twin.Connector(t, p), make(chan struct{}), sync.WaitGroup{}
				for _, f := range []func() error{
					func() error { return restock(t.Context(), p.Wrapped) },
					func() error {
						_, err := p.Wrapped.ExecContext(t.Context(), "UPDATE items SET stock = stock * 1 WHERE id = 1")
						return err
					},
					func() error {
						_, err := slotsql.RollUp(t.Context(), connector, slotsql.RollUpOptions{Idle: 1})
						return err
					},
				} {
					beside.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							if err := f(); err != nil && !conflict(err) {
								t.Error(err)
								return
							}
						}
					})
				}
				sold := race(t, p, "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0", 64)
				close(stop)
				beside.Wait()
				sold += race(t, p, "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0", 4)
				orders, left := number(t, p.Wrapped, "SELECT COUNT(*) FROM orders"), number(t, p.Wrapped, baseStock)
				if sold != units || orders != units || left != 0 {
					t.Errorf("%d sold and %d orders of %d units, %d are left", sold, orders, units, left)
				}
			})
		}
	})
}

// restock gives a unit and takes it back: what was given may be sold meanwhile, and then
// nothing is taken.
func restock(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, q := range []string{"UPDATE items SET stock = stock + 1 WHERE id = 1", "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0"} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}

package bounded

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// A transaction that waits for its slot row while another one raises it and lowers the base
// value does not judge the new slot by the old base value.
func TestPortionsOfOneMoment(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := store(t, dialect, "connection", 1000)
		withPortion(t, p)
		other, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Rollback() }()
		affected(t, other, "UPDATE items_slots SET stock = stock + 5 WHERE id = 1")
		rows := number(t, p.Under, "SELECT COUNT(*) FROM items_slots WHERE id = 1")
		left := number(t, p.Under, baseStock) + number(t, p.Under, slotStock) + 5*rows
		affected(t, other, fmt.Sprintf("UPDATE items SET stock = stock - %d WHERE id = 1", left-4)) // 4 are left
		done, n := make(chan error, 1), int64(-1)
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		go func() {
			res, err := tx.Exec("UPDATE items SET stock = stock - 10 WHERE id = 1 AND stock >= 10")
			if err == nil {
				n, err = res.RowsAffected()
			}
			done <- err
		}()
		p.UntilBlocked(t, done)
		if err := other.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil || n != 0 {
			t.Errorf("%d rows affected: 10 taken of 4; %v", n, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if n := number(t, p.Wrapped, baseStock); n != 4 {
			t.Errorf("%d are left", n)
		}
	})
}

// A transaction at a higher level takes from the base row, or fails with a conflict: a portion
// that the one before no longer waited for may be moved meanwhile.
func TestPortionsAndLevels(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := store(t, dialect, "connection", 1000)
		for i, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			n, err := takeAt(t, p.Wrapped, level)
			for tries := 0; err != nil && conflict(err) && tries < 100; tries++ {
				n, err = takeAt(t, p.Wrapped, level)
			}
			if n != 1 || err != nil {
				t.Errorf("%s: %d rows affected, %v", level, n, err)
			}
			if n := number(t, p.Wrapped, baseStock); n != 999-i {
				t.Errorf("%s: %d are left", level, n)
			}
		}
	})
}

// takeAt takes one unit in a transaction.
func takeAt(t *testing.T, db *sql.DB, level sql.IsolationLevel) (n int64, err error) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	res, err := tx.ExecContext(t.Context(), "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0")
	if err != nil {
		return 0, err
	}
	if n, err = res.RowsAffected(); err != nil {
		return 0, err
	}
	return n, tx.Commit()
}

// A transaction that has locked the base row itself takes from that, and does not wait for
// a portion that no session can move.
func TestPortionsAfterALock(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := store(t, dialect, "connection", 1000)
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		var n int
		if err := tx.QueryRow("SELECT stock FROM items WHERE id = 1 FOR UPDATE").Scan(&n); err != nil || n != 1000 {
			t.Fatalf("%d, %v", n, err)
		}
		if n := affected(t, tx, "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock >= 1"); n != 1 {
			t.Errorf("%d rows affected", n)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if base := number(t, p.Under, baseStock); base != 999 {
			t.Errorf("%d in the base row", base)
		}
	})
}

// A statement that has waited for a slot which then held too little may have locked it all the
// same, and takes from the base row, which no move of a portion to that slot holds meanwhile.
func TestPortionMissed(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		params := map[string]string{"postgres": "deadlock_timeout=100ms"} // before the move gives up by itself
		p := storeWith(t, dialect, "connection", 1000, params[dialect])
		left := 1000 - withPortion(t, p) - 1
		other, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Rollback() }()
		affected(t, other, "UPDATE items SET stock = stock + "+fmt.Sprint(number(t, p.Under, slotStock))+" WHERE id = 1")
		affected(t, other, "UPDATE items_slots SET stock = 0 WHERE id = 1")
		done := make(chan error, 1)
		go func() {
			n, err := takeAt(t, p.Wrapped, sql.LevelDefault)
			if err == nil && n != 1 {
				err = fmt.Errorf("%d rows affected", n)
			}
			done <- err
		}()
		p.UntilBlocked(t, done)
		if err := other.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := number(t, p.Wrapped, baseStock); n != left {
			t.Errorf("%d are left, want %d", n, left)
		}
		if dialect != "postgres" {
			return // MySQL and MariaDB do not count deadlocks by database
		}
		// The sessions note them when they end.
		p.Under.SetMaxIdleConns(1)
		if err := p.Wrapped.Close(); err != nil {
			t.Fatal(err)
		}
		for number(t, p.Under, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if n := number(t, p.Under, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n > 0 {
			t.Errorf("%d deadlocks", n)
		}
	})
}

package bounded

import (
	"database/sql"
	"fmt"
	"slices"
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

// PostgreSQL: a transaction that is held to its snapshot takes no portion, however it has come to its
// level. On the base row it would wait for a statement without a guard, and fail when that is
// committed; the portion and the base row are as of a moment before.
func TestNoPortionsAtASnapshot(t *testing.T) {
	const byText = "ISOLATION LEVEL REPEATABLE READ"
	for _, c := range []struct {
		name, params string
		options      *sql.TxOptions
		begin        []string // before the statement, if there are options after BeginTx
	}{
		{name: "default", params: "default_transaction_isolation=repeatable%20read"},
		{name: "default by text", params: "default_transaction_isolation=repeatable%20read", begin: []string{"BEGIN"}},
		{name: "options", options: &sql.TxOptions{Isolation: sql.LevelRepeatableRead}},
		{name: "text", begin: []string{"BEGIN " + byText}},
		{name: "text after text", begin: []string{"BEGIN", "SET TRANSACTION " + byText}},
		{name: "text after options", options: &sql.TxOptions{Isolation: sql.LevelReadCommitted}, begin: []string{"SET TRANSACTION " + byText}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := storeWith(t, "postgres", "connection", 1000, c.params)
			conn, err := p.Wrapped.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for range 10 {
				end := func() error { return nil }
				statements := append(slices.Clone(c.begin), "UPDATE items SET stock = stock - 1 WHERE id = 1 AND stock > 0")
				if c.options != nil || c.begin == nil {
					tx, err := conn.BeginTx(t.Context(), c.options)
					if err != nil {
						t.Fatal(err)
					}
					end = tx.Commit
				} else {
					statements = append(statements, "COMMIT")
				}
				for _, q := range statements {
					if _, err := conn.ExecContext(t.Context(), q); err != nil {
						t.Fatalf("%s: %v", q, err)
					}
				}
				if err := end(); err != nil {
					t.Fatal(err)
				}
				if n := number(t, p.Under, slotStock); n != 0 {
					t.Fatalf("%d are in slots", n)
				}
			}
			if n := number(t, p.Under, baseStock); n != 990 {
				t.Errorf("%d are left", n)
			}
		})
	}
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
